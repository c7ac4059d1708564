"""`mapyard update`: bring the served dataset up to its replication source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mapyard.builder.preflight import NoRoom
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import MODULES, select_steps
from mapyard.cli.answers import AsJson, report
from mapyard.dataset.catalog import Busy, Catalog
from mapyard.errors import MapyardError
from mapyard.settings import get_settings
from mapyard.updates.run import update_dataset
from mapyard.updates.source import SourceUnreachable

FAILED, NO_ROOM, BUSY, UNREACHABLE = 1, 3, 4, 5


def command(
    data: Annotated[
        Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            help="Replication source, URL or folder; default: setting, else the extract's."
        ),
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fetch what changed since the served dataset, apply it and switch.

    Nothing is lost when it is interrupted: the served dataset stays, and the next run continues.
    `mapyard serve` does this by itself (setting MAPYARD_UPDATES); this command is for timers.

    Exit codes: 0 updated or already current, 1 failed, 3 too little disk or memory, 4 another build
    or update is running, 5 the source cannot be reached.

    Examples:

      mapyard update

      mapyard update --source https://download.geofabrik.de/europe/monaco-updates
    """
    settings = get_settings()
    folder = data or settings.data
    console = Console(stderr=True)
    try:
        parts = Catalog(folder).manifest("current").parts
        steps = [s for s in select_steps([n for n in MODULES if n in parts]) if s.name != "store"]
        with Reporter(console, quiet) as progress:
            runs = update_dataset(folder, steps, progress, settings, source)
    except MapyardError as error:
        console.print(
            f"[red]mapyard update:[/red] {error.message}", highlight=False, soft_wrap=True
        )
        codes = {NoRoom: NO_ROOM, Busy: BUSY, SourceUnreachable: UNREACHABLE}
        raise typer.Exit(codes.get(type(error), FAILED)) from None
    if as_json:
        report(True, {"runs": runs})
        return
    if quiet:
        return
    for run in runs:
        if run.outcome == "current":
            console.print(
                f"[green]✓[/green] nothing new: sequence {run.newest_sequence}", highlight=False
            )
        else:
            console.print(
                f"[green]✓[/green] [bold]{run.dataset}[/bold] is now served: sequence "
                f"{run.from_sequence} to {run.to_sequence}, {run.changed:,} changed and "
                f"{run.deleted:,} deleted elements in {run.seconds:,.1f} s",
                highlight=False,
            )
        if run.message:
            console.print(f"[yellow]![/yellow] {run.message}", highlight=False)
