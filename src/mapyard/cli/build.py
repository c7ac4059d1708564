"""`mapyard build`: make a dataset out of extracts and switch to it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mapyard.addresses import show_address
from mapyard.builder.download import download, is_url
from mapyard.builder.estimate import MOST_BYTES, calibrate, estimate_parts, find_size
from mapyard.builder.pipeline import BuildReport, Step, build_dataset
from mapyard.builder.preflight import NoRoom, available_memory_bytes
from mapyard.builder.progress import Reporter, format_time
from mapyard.builder.steps import PART_NAMES, select_steps
from mapyard.cli.answers import AsJson, report
from mapyard.dataset.catalog import Busy
from mapyard.errors import MapyardError
from mapyard.osm.source import list_extracts
from mapyard.settings import get_settings

FAILED, NO_ROOM, BUSY = 1, 3, 4


def command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Extracts: .osm.pbf, .osm, .osm.gz or .osm.bz2 files, folders of them, or URLs. "
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
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="Build nothing, but say what disk, memory and time it would take. "
            "SOURCE may be a size, such as 4.5GB.",
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many parts are built at a time; by default one per core, as far as memory "
            "suffices. What is built is the same.",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: AsJson = False,
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

      mapyard build --estimate 4.5GB
    """
    settings = get_settings()
    folder = data or settings.data
    console = Console(stderr=True)
    try:
        steps = select_steps(only.split(",") if only else None)
        if estimate:
            print_estimate(sum(map(find_size, sources)), steps, folder, as_json=as_json)
            return
        with Reporter(console, quiet) as progress:
            files: list[Path] = []
            names: list[str] = []
            for source in sources:
                if is_url(source):
                    found = [download(source, folder / "downloads", progress)]
                else:
                    found = list_extracts(Path(source))
                files += found
                shown = show_address(source) if is_url(source) else source
                names += [shown] if len(found) == 1 else map(str, found)
            built = build_dataset(
                files, folder, steps, progress, names=names, settings=settings, jobs=jobs
            )
    except MapyardError as error:
        console.print(f"[red]mapyard build:[/red] {error.message}", highlight=False, soft_wrap=True)
        raise typer.Exit(exit_code(error)) from None
    if as_json:
        report(True, describe_report(built))
    elif not quiet:
        print_report(built, console)


def print_estimate(size: int, steps: list[Step], data: Path, *, as_json: bool = False) -> None:
    """Print what a build of so many bytes of .osm.pbf takes here, and what there is."""
    parts = estimate_parts(size, steps)
    slower = calibrate()
    table = Table("Part", "Disk", "Memory", "Time", box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, needs in parts:
        table.add_row(
            name,
            format_bytes(needs.disk_bytes),
            format_bytes(needs.memory_bytes),
            format_time(needs.cpu_s * slower),
        )
    disk = sum(needs.disk_bytes for _, needs in parts)
    memory = max(needs.memory_bytes for _, needs in parts)
    seconds = sum(needs.cpu_s for _, needs in parts) * slower
    table.add_row(
        "[bold]all[/bold]", format_bytes(disk), format_bytes(memory), format_time(seconds)
    )
    free = shutil.disk_usage(data if data.is_dir() else Path.cwd()).free
    available = available_memory_bytes()
    value = {
        "source_bytes": size,
        "parts": {
            name: {
                "disk_bytes": needs.disk_bytes, "memory_bytes": needs.memory_bytes,
                "seconds": round(needs.cpu_s * slower, 1),
            }
            for name, needs in parts
        },
        "disk_bytes": disk, "memory_bytes": memory, "seconds": round(seconds, 1),
        "free_disk_bytes": free, "available_memory_bytes": available,
        "fits_one_dataset": size <= MOST_BYTES,
    }  # fmt: skip
    said = [
        f"for {format_bytes(size)} of .osm.pbf on one core of this machine; "
        f"{format_bytes(free)} of disk are free, {format_bytes(available)} of "
        "memory are available. How it was measured: docs/sizing.md"
    ]
    if size > MOST_BYTES:
        said.append(
            f"one dataset holds at most {format_bytes(MOST_BYTES)} of .osm.pbf: build regions"
        )
    report(as_json, value, table, *said)


def format_bytes(size: int) -> str:
    """Return a size as people write it."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def exit_code(error: MapyardError) -> int:
    """Return the exit code of a build that failed."""
    return {NoRoom: NO_ROOM, Busy: BUSY}.get(type(error), FAILED)


def describe_report(built: BuildReport) -> dict[str, Any]:
    """Return what was built, for programs."""
    manifest = built.manifest
    return {
        "dataset": built.dataset_id, "osm_timestamp": manifest.osm_timestamp,
        "counts": manifest.counts, "size_bytes": manifest.size_bytes,
        "parts": {
            name: {"size_bytes": part.size_bytes, "seconds": part.seconds}
            for name, part in manifest.parts.items()
        },
        "seconds": built.seconds, "cpu_seconds": built.cpu_seconds,
        "peak_memory_bytes": built.peak_memory_bytes,
        "problems": {kind: len(items) for kind, items in built.problems.items()},
    }  # fmt: skip


def print_report(built: BuildReport, console: Console) -> None:
    """Print what was built, as a table, and what could not be assembled."""
    manifest = built.manifest
    table = Table("Part", "Size", "Time", box=None, header_style="bold", pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, part in manifest.parts.items():
        table.add_row(name, f"{part.size_bytes / 1e6:,.1f} MB", f"{part.seconds:,.1f} s")
    table.add_row(
        "[bold]all[/bold]", f"{manifest.size_bytes / 1e6:,.1f} MB", f"{built.seconds:,.1f} s"
    )
    console.print(table)
    counts = manifest.counts
    console.print(
        f"[green]✓[/green] [bold]{built.dataset_id}[/bold] is now served: "
        f"{counts['nodes']:,} nodes, {counts['ways']:,} ways, {counts['relations']:,} relations, "
        f"data of {manifest.osm_timestamp or 'unknown time'}; "
        f"peak memory {built.peak_memory_bytes / 1e6:,.0f} MB, CPU {built.cpu_seconds:,.1f} s",
        highlight=False,
    )
    for name in built.cleaned:
        console.print(f"  removed what an interrupted build had left ({name})", highlight=False)
    for kind, items in built.problems.items():
        shown = ", ".join(item[0] for item in items[:3])
        console.print(
            f"  [yellow]{len(items):,} × {kind}[/yellow], such as {shown}", highlight=False
        )
    if built.problems:
        console.print("  [dim]all of them with reasons: report.json in the dataset[/dim]")
