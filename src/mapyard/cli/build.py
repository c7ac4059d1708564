"""`mapyard build`: make a dataset out of extracts and switch to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mapyard.builder.download import download, is_url
from mapyard.builder.pipeline import BuildReport, build_dataset
from mapyard.builder.preflight import NoRoom
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import PART_NAMES, select_steps
from mapyard.dataset.catalog import Busy
from mapyard.errors import MapyardError
from mapyard.settings import get_settings

FAILED, NO_ROOM, BUSY = 1, 3, 4


def command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Extracts: .osm.pbf, .osm, .osm.gz or .osm.bz2 files, or URLs. "
            "Several are merged; of an element in more than one the newest version wins.",
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help=f"Build only these parts, by comma: {', '.join(PART_NAMES)}. "
            "Endpoints of the others answer 501."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Build a dataset out of OpenStreetMap extracts and switch to it.

    The served dataset stays until the new one is whole; killing the build at any moment harms
    nothing, and the next run cleans up.

    Exit codes: 0 built, 1 failed, 2 wrong usage, 3 too little disk or memory, 4 the data folder is
    in use by another build.

    Examples:

      mapyard build monaco.osm.pbf

      mapyard build https://download.geofabrik.de/europe/monaco-latest.osm.pbf --data /srv/maps

      mapyard build north.osm.pbf south.osm.pbf --only store,routing
    """
    settings = get_settings()
    folder = data or settings.data
    console = Console(stderr=True)
    try:
        steps = select_steps(only.split(",") if only else None)
        with Reporter(console, quiet) as progress:
            files = [
                download(source, folder / "downloads", progress) if is_url(source) else Path(source)
                for source in sources
            ]
            report = build_dataset(files, folder, steps, progress, names=sources, settings=settings)
    except MapyardError as error:
        console.print(f"[red]mapyard build:[/red] {error.message}", highlight=False)
        raise typer.Exit(exit_code(error)) from None
    if not quiet:
        print_report(report, console)


def exit_code(error: MapyardError) -> int:
    """Return the exit code of a build that failed."""
    return {NoRoom: NO_ROOM, Busy: BUSY}.get(type(error), FAILED)


def print_report(report: BuildReport, console: Console) -> None:
    """Print what was built, as a table, and what could not be assembled."""
    manifest = report.manifest
    table = Table("Part", "Size", "Time", box=None, header_style="bold", pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, part in manifest.parts.items():
        table.add_row(name, f"{part.size_bytes / 1e6:,.1f} MB", f"{part.seconds:,.1f} s")
    table.add_row(
        "[bold]all[/bold]", f"{manifest.size_bytes / 1e6:,.1f} MB", f"{report.seconds:,.1f} s"
    )
    console.print(table)
    counts = manifest.counts
    console.print(
        f"[green]✓[/green] [bold]{report.dataset_id}[/bold] is now served: "
        f"{counts['nodes']:,} nodes, {counts['ways']:,} ways, {counts['relations']:,} relations, "
        f"data of {manifest.osm_timestamp or 'unknown time'}; "
        f"peak memory {report.peak_memory_bytes / 1e6:,.0f} MB, CPU {report.cpu_seconds:,.1f} s",
        highlight=False,
    )
    for name in report.cleaned:
        console.print(f"  removed what an interrupted build had left ({name})", highlight=False)
    for kind, items in report.problems.items():
        shown = ", ".join(item[0] for item in items[:3])
        console.print(
            f"  [yellow]{len(items):,} × {kind}[/yellow], such as {shown}", highlight=False
        )
    if report.problems:
        console.print("  [dim]all of them with reasons: report.json in the dataset[/dim]")
