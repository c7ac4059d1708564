"""The command line. Each command is one module, imported only when it is asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from mapyard.cli.commands import ASK, COMMANDS, Command
from mapyard.errors import MapyardError

__all__ = ["COMMANDS", "build_app", "find_commands", "main"]


def find_commands() -> dict[str, Command]:
    """Return all commands, those of plugins included."""
    from mapyard.plugins import mapping_of

    return {**mapping_of("COMMANDS"), **COMMANDS}


def build_app(names: Iterable[str]) -> typer.Typer:
    """Return the Typer application with the named commands only."""
    app = _make_app()
    for name in names:
        where = COMMANDS.get(name) or find_commands()[name]
        module = importlib.import_module(where.module)
        if where.module == ASK:
            app.command(name)(module.make_command(name.replace("-", "_")))
        elif hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(module.command)
    return app


def _build_overview() -> typer.Typer:
    """Return the application with a line of help for each command, and no code behind."""
    app = _make_app()
    for name, where in find_commands().items():
        app.command(name, help=where.summary, rich_help_panel=where.panel)(_nothing)
    return app


def _nothing() -> None:
    """Stand for a command in the overview."""


def _make_app() -> typer.Typer:
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
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from mapyard.version import __version__

        typer.echo(f"mapyard {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Show the version.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """The whole map API out of one OpenStreetMap extract.

    `mapyard COMMAND --help` tells the options of a command and shows an example.
    """


def main() -> None:
    """Run the command that the arguments name; errors are one line and exit code 1."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        if wanted in COMMANDS or wanted in find_commands():
            build_app([wanted])()
        else:
            _build_overview()()
    except MapyardError as error:
        typer.secho(f"mapyard: {error.message}", fg="red", err=True)
        raise SystemExit(1) from None
