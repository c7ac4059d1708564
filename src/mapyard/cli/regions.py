"""`mapyard regions`: a large extract cut into regions, each for a dataset of its own; updates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mapyard.cli.answers import AsJson, report

app = typer.Typer(help="Cut a large extract into regions.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Cut a large extract into regions."""


@app.command()
def split(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE...", help="Extracts; several are merged.")
    ],
    regions: Annotated[
        str,
        typer.Option(metavar="N|FILE", help="How many, or GeoJSON polygons with a name each."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write: an extract per region, split.json.")],
    margin: Annotated[
        float, typer.Option(min=0, max=100_000, help="What a region has of its neighbors, meters.")
    ] = 2_000.0,
    roads: Annotated[
        str,
        typer.Option(metavar="N|FILE", help="Regions of roads, larger ones, for routes."),
    ] = "",
    roads_margin: Annotated[
        float,
        typer.Option(min=0, max=1_000_000, help="What these have of their neighbors, meters."),
    ] = 20_000.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Cut an extract into regions of similar weight.

    Each region has whole ways and relations, and a margin of its neighbors around. Each element is
    owned by exactly one region; the others that have it know that it is a guest.

    With --roads, roads are in regions of their own, and the others have none.

    Examples:

      mapyard regions split europe.osm.pbf --regions 24 --out split

      mapyard regions split alps.osm.pbf --regions countries.geojson --out alps --margin 5000

      mapyard regions split europe.osm.pbf --regions 24 --roads 4 --out apart
    """
    from mapyard.fleet.split import split_regions

    console = Console(stderr=True, quiet=quiet)
    made = split_regions(
        sources, regions, out, margin_m=margin, roads=roads, roads_margin_m=roads_margin,
        say=lambda text: console.print(f"  {text}", highlight=False),
    )  # fmt: skip
    if as_json:
        report(True, made)
        return
    table = Table("Region", "Nodes", "Ways", "Relations", "Guests", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for region in made.extracts:
        whole = sum(region.counts.values())
        guests = sum(region.guests.values())
        counts = [f"{count:,}" for count in region.counts.values()]
        table.add_row(region.name, *counts, f"{guests / max(1, whole):.0%}")
    console.print(table)
    if any(made.left_out.values()):
        left = ", ".join(f"{count:,} {name}" for name, count in made.left_out.items())
        console.print(f"[yellow]in no region: {left}[/yellow]")


@app.command()
def update(
    folder: Annotated[Path, typer.Argument(metavar="SPLIT", help="What regions split wrote.")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE...]",
            help="Replication source (URL or folder), or diffs; default: setting, else the "
            "extract's own.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Apply diffs to a split: to the whole map, and by region to each of them.

    The regions are then what a new split of the changed map would give. `fleet build` updates their
    datasets. When this is interrupted, the split is as before.

    Examples:

      mapyard regions update split

      mapyard regions update split https://download.geofabrik.de/europe-updates

      mapyard regions update split 4613.osc.gz 4614.osc.gz
    """
    from mapyard.builder.progress import Reporter
    from mapyard.fleet.changes import update_regions
    from mapyard.settings import get_settings

    console = Console(stderr=True, quiet=quiet)
    with Reporter(console, quiet) as progress:
        done = update_regions(folder, sources or [], get_settings(), progress)
    if as_json:
        report(
            True,
            {"updated": done is not None, "run": done and done.run, "more": done and done.more},
        )
        return
    if done is None:
        console.print("[green]✓[/green] nothing new")
        return
    run = done.run
    console.print(
        f"[green]✓[/green] data of {done.split.osm_timestamp or 'unknown time'}: {run.changed:,} "
        f"changed and {run.deleted:,} deleted elements",
        highlight=False,
    )
    if done.more:
        console.print("[yellow]![/yellow] the source has more: build, then run this again")
    if run.message:
        console.print(f"[yellow]![/yellow] {run.message}", highlight=False)
