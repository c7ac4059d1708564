"""The page that `mapyard --help` prints: all commands, and how to begin.

Written with Rich alone: Typer's help loads a Markdown parser and a highlighter, 0.3 s of CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from mapyard.cli.commands import Command

BEGIN: Final = (
    ("mapyard demo", "a map of Monaco in your browser"),
    ("mapyard build liechtenstein.osm.pbf", "a dataset out of an extract"),
    ("mapyard serve", "the API, its docs and the map page"),
    ('mapyard geocode "Städtle 1, Vaduz"', "a question, without a server"),
)


def print_overview(commands: Mapping[str, Command]) -> None:
    """Print the commands by panel, with a few to begin with."""
    console = Console()
    width = max(map(len, commands)) + 1
    console.print("\n [bold]Usage:[/] mapyard [bold cyan]COMMAND[/] \\[OPTIONS]")
    console.print("\n A complete map API from one OpenStreetMap extract.\n")
    console.print(_panel("Begin", BEGIN, max(len(line) for line, _ in BEGIN) + 2))
    by_panel: dict[str, list[tuple[str, str]]] = {}
    for name, command in commands.items():
        by_panel.setdefault(command.panel, []).append((name, command.summary))
    for panel, rows in by_panel.items():
        console.print(_panel(panel, rows, width))
    options = (
        ("-h, --help", "Show this page, or that of a command."),
        ("--json", "Of nearly every command: print JSON, for programs."),
        ("-V, --version", "Show the version."),
        ("--install-completion", "Let your shell complete commands and options."),
    )
    console.print(_panel("Options", options, 23))


def _panel(
    title: str, rows: list[tuple[str, str]] | tuple[tuple[str, str], ...], width: int
) -> Panel:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(style="bold cyan", width=width, no_wrap=True)
    table.add_column()
    for row in rows:
        table.add_row(*row)
    return Panel(table, title=title, title_align="left", border_style="dim", box=box.ROUNDED)
