"""`mapyard fleet`: a map on many machines."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from rich.console import Console

if TYPE_CHECKING:
    from mapyard.fleet.cluster import TableState

app = typer.Typer(
    help="Build and serve a map on many machines, over Ray: pip install 'mapyard[fleet]'.",
    no_args_is_help=True,
)

Ray = Annotated[
    str,
    typer.Option("--ray", help="Address of Ray: HOST:PORT, or auto for this node's."),
]


@app.callback()
def _group() -> None:
    """Build and serve a map on many machines, over Ray."""


@app.command()
def build(
    split: Annotated[Path, typer.Argument(metavar="SPLIT", help="What regions split wrote.")],
    to: Annotated[str, typer.Option(help="Where datasets go: s3://, gs://, az://, or a folder.")],
    ray: Annotated[
        str, typer.Option("--ray", help="Address of Ray; without, this machine alone builds.")
    ] = "",
    only: Annotated[str, typer.Option(help="Build only these parts, by comma.")] = "",
    elevation: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            help="Elevation rasters, for grades of roads and for all nodes; default: those of the "
            "generation before. none: no more.",
        ),
    ] = "",
    scratch: Annotated[str, typer.Option(help="Folder on the nodes for the work.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Build the datasets of all regions, and publish them as one generation.

    Regions are built as tasks of Ray, each where its memory is free. A stopped run
    continues with the regions that are missing.

    Examples:

      mapyard fleet build split --to /srv/maps

      mapyard fleet build split --to s3://bucket/maps --ray auto --scratch /nvme

      mapyard fleet build split --to /srv/maps --elevation srtm
    """
    from mapyard.fleet.build import build_generation

    console = Console(stderr=True, quiet=quiet)
    names = [part.strip() for part in only.split(",") if part.strip()]
    made = build_generation(
        split, to, only=names or None, ray_address=ray, scratch=scratch, elevation=elevation,
        say=lambda text: console.print(f"  {text}", highlight=False),
    )  # fmt: skip
    size = sum(region.bytes for region in made.regions) / 1e9
    console.print(
        f"generation {made.id}: {len(made.regions)} regions, {size:,.1f} GB, in {to}",
        highlight=False,
    )


@app.command("open")
def open_generation(
    url: Annotated[str, typer.Argument(help="Where `fleet build` put the datasets.")],
    generation: Annotated[str, typer.Option(help="Which one; default the newest.")] = "",
    copies: Annotated[int, typer.Option(min=1, max=16, help="Copies of each region.")] = 2,
    ray: Ray = "auto",
) -> None:
    """Serve a generation on all nodes, or switch to a newer one.

    All copies fetch and open it first. Then one entry in Ray's store switches the whole fleet, and
    the old copies end.

    Example:

      mapyard fleet open s3://bucket/maps --copies 2
    """
    from mapyard.fleet.cluster import open_fleet

    opened = open_fleet(ray, url if "://" in url else str(Path(url).resolve()), generation, copies)
    typer.echo(f"generation {opened} is served", err=True)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=256, help="Processes.")] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder of this node.")] = None,
    ray: Ray = "auto",
    public: Annotated[
        bool,
        typer.Option("--public", help="Start even though others can reach Ray's ports, which "
                     "run any code that is sent to them."),
    ] = False,
) -> None:  # fmt: skip
    """Answer requests on this node: from its own regions, else from nodes that have them.

    Ray must run here (ray start). Any number of nodes may serve, behind any load balancer.

    Example:

      mapyard fleet serve --port 4000 --workers 8
    """
    from mapyard.cli.serve import command
    from mapyard.fleet.ray import check_private, find_address
    from mapyard.settings import get_settings

    address = find_address(ray)
    check_private(address, is_told=public)
    os.environ["MAPYARD_FLEET"] = address
    get_settings.cache_clear()
    command(host=host, port=port, workers=workers, data=data)


@app.command()
def status(
    ray: Ray = "auto", json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Show regions, their copies, nodes, ages and load.

    Exit code 1 where a region has no copy that answers.
    """
    import msgspec

    from mapyard.fleet.cluster import read_table

    # Ray prints what it thinks of nodes that went, also when this process ends.
    with take_output() as output:
        state = read_table(ray)
        if json:
            output.write(msgspec.json.format(msgspec.json.encode(state), indent=1).decode() + "\n")
        elif state.generation is None:
            output.write("no generation is open\n")
        else:
            _print_status(state, output)
    regions = state.generation.regions if state.generation is not None else []
    ready = {copy.region for copy in state.copies if copy.ready}
    if not regions or any(region.name not in ready for region in regions):
        raise typer.Exit(1)


def take_output() -> TextIO:
    """Return standard output for us alone: what libraries print there goes to standard error."""
    sys.stdout.flush()
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return output


def _print_status(state: TableState, output: TextIO) -> None:
    from rich.table import Table

    assert state.generation is not None
    console = Console(file=output)
    console.print(
        f"generation {state.generation.id}, data of "
        f"{state.generation.osm_timestamp or 'unknown time'}",
        highlight=False,
    )
    table = Table("Region", "Size", "Node", "State", "Asked", box=None, pad_edge=False)
    for region in state.generation.regions:
        copies = [copy for copy in state.copies if copy.region == region.name]
        for copy in sorted(copies, key=lambda copy: copy.node):
            word = "[green]ready[/green]" if copy.ready else "[red]not ready[/red]"
            node = f"{copy.address} {copy.node[:8]}" if copy.node else "-"
            size = f"{region.bytes / 1e6:,.0f} MB"
            table.add_row(region.name, size, node, word, f"{copy.asked:,}")
        if not copies:
            table.add_row(region.name, "", "-", "[red]no copy[/red]", "")
    console.print(table)


@app.command()
def prune(
    url: Annotated[str, typer.Argument(help="Where `fleet build` put the datasets.")],
    keep: Annotated[int, typer.Option(min=2, help="How many of the newest generations stay.")] = 2,
    days: Annotated[
        float, typer.Option(min=0, help="How old what belongs to no generation must be, days.")
    ] = 7.0,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove them; else only say what goes.")
    ] = False,
) -> None:
    """Remove old generations from object storage, and what no generation refers to.

    The current one always stays, and the one before it. With a generation go the datasets and
    rasters that only it has. What belongs to none (extracts that were built, remains of builds
    that failed) goes when it is older than --days: longer than a build takes. Nodes remove what
    they have fetched by themselves.

    Examples:

      mapyard fleet prune s3://bucket/maps

      mapyard fleet prune s3://bucket/maps --keep 4 --yes
    """
    from mapyard.fleet.objects import Objects
    from mapyard.fleet.prune import plan_pruning
    from mapyard.fleet.prune import prune as remove

    objects = Objects(url)
    pruned = plan_pruning(objects, keep, days)
    if yes:
        remove(objects, pruned)
    word = "removed" if yes else "would be removed"
    for name in pruned.gone:
        typer.echo(f"{name} {word}")
    typer.echo(
        f"{len(pruned.gone)} generations, {len(pruned.files):,} files {word}; "
        f"{len(pruned.kept)} generations stay{'' if yes else ' (--yes removes)'}",
        err=True,
    )


@app.command()
def close(ray: Ray = "auto") -> None:
    """End all copies of all regions; the datasets stay where they are."""
    from mapyard.fleet.cluster import close_fleet

    close_fleet(ray)
