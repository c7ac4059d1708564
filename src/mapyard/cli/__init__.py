"""The command line. Each command is one module, imported only when it is asked for."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterable
from typing import Annotated, Final

import typer

from mapyard.cli.commands import ASK, COMMANDS, Command
from mapyard.cli.help import prepare
from mapyard.errors import InvalidRequest, MapyardError

#: Set by a shell that completes a line.
COMPLETION: Final = "_MAPYARD_COMPLETE"

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
    return prepare(app)


def _complete() -> None:
    """Answer a shell that completes a line; only the command that stands there is imported."""
    words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
    if len(words) > 1 and words[1] in find_commands():
        build_app([words[1]])(prog_name="mapyard")
    app = _make_app()
    for name, where in find_commands().items():
        app.command(name, help=where.summary)(_nothing)
    app(prog_name="mapyard")


def _nothing() -> None:
    """Stand for a command that is only named."""


def _unknown(name: str) -> str:
    like = difflib.get_close_matches(name, find_commands(), n=1)
    guess = f"did you mean {like[0]}? " if like else ""
    return f"mapyard: there is no command {name!r}; {guess}`mapyard --help` lists all"


def _make_app() -> typer.Typer:
    app = typer.Typer(
        name="mapyard",
        help="A complete map API from one OpenStreetMap extract.",
        no_args_is_help=True,
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
    """A complete map API from one OpenStreetMap extract.

    `mapyard COMMAND --help` tells the options of a command and shows an example.
    """


def main() -> None:
    """Run the command that the arguments name.

    Errors are one line. The exit code is 2 for what was asked wrongly, 1 for what failed.
    """
    if sys.platform == "win32":
        raise SystemExit("mapyard: it does not run on Windows itself; use WSL (`wsl --install`)")
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        if COMPLETION in os.environ:
            _complete()
        if wanted in ("", "-h", "--help"):
            from mapyard.cli.overview import print_overview

            print_overview(find_commands())
            raise SystemExit(0 if wanted else 2)
        if wanted in COMMANDS or wanted in find_commands():
            build_app([wanted])(prog_name="mapyard")
        elif not wanted.startswith("-"):
            typer.secho(_unknown(wanted), fg="red", err=True)
            raise SystemExit(2)
        else:
            build_app([])(prog_name="mapyard")
    except MapyardError as error:
        typer.secho(f"mapyard: {error.message}", fg="red", err=True)
        raise SystemExit(2 if isinstance(error, InvalidRequest) else 1) from None
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        reason = (error.strerror or str(error)).lower()
        typer.secho(f"mapyard: {where}{reason}", fg="red", err=True)
        raise SystemExit(1) from None
