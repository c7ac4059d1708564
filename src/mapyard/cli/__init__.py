"""The command line. Each command is one module, imported only when it is asked for."""

from __future__ import annotations

import importlib
import sys

import typer

from mapyard.errors import MapyardError

#: Commands that are made from a question of the library of the same name.
_ASK = "mapyard.cli.ask.command"

#: Command name → module. A module has `command` (a function) or `app` (a Typer group).
COMMANDS: dict[str, str] = {
    "build": "mapyard.cli.build",
    "datasets": "mapyard.cli.datasets",
    "serve": "mapyard.cli.serve",
    "demo": "mapyard.cli.demo",
    "open": "mapyard.cli.open",
    "accounts": "mapyard.cli.accounts",
    "keys": "mapyard.cli.keys",
    "geocode": "mapyard.cli.geocode",
    "autocomplete": _ASK,
    "reverse": _ASK,
    "search": _ASK,
    "features": _ASK,
    "feature": _ASK,
    "lookup": _ASK,
    "nearby": _ASK,
    "tags": _ASK,
    "route": _ASK,
    "isochrone": _ASK,
    "matrix": _ASK,
    "nearest": _ASK,
    "match": _ASK,
    "optimize": _ASK,
    "elevation": _ASK,
    "elevation-profile": _ASK,
    "query": "mapyard.cli.query",
    "sparql": "mapyard.cli.sparql",
    "tile": _ASK,
    "export": "mapyard.cli.export",
    "tiles": "mapyard.cli.tiles",
    "update": "mapyard.cli.update",
    "status": "mapyard.cli.status",
    "settings": "mapyard.cli.settings",
    "docs": "mapyard.cli.docs",
}


def build_app(names: list[str]) -> typer.Typer:
    """Return the Typer application with the named commands only."""
    app = typer.Typer(
        name="mapyard",
        help="The whole map API out of one OpenStreetMap extract.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in names:
        module = importlib.import_module(COMMANDS[name])
        if COMMANDS[name] == _ASK:
            app.command(name)(module.make_command(name.replace("-", "_")))
        elif hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(module.command)
    return app


def _root() -> None:
    """The whole map API out of one OpenStreetMap extract."""


def main() -> None:
    """Run the command that the arguments name; errors are one line and exit code 1."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted in ("--version", "-V"):
        from mapyard.version import __version__

        typer.echo(f"mapyard {__version__}")
        return
    names = [wanted] if wanted in COMMANDS else list(COMMANDS)
    try:
        build_app(names)()
    except MapyardError as error:
        typer.secho(f"mapyard: {error.message}", fg="red", err=True)
        raise SystemExit(1) from None
