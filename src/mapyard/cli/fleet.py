"""`mapyard fleet`: a map on many machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

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
    scratch: Annotated[str, typer.Option(help="Folder on the nodes for the work.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Build the datasets of all regions, and publish them as one generation.

    Regions are built as tasks of Ray, each where its memory is free. A run that was stopped goes on
    with those that are not there.

    Examples:

      mapyard fleet build split --to /srv/maps

      mapyard fleet build split --to s3://bucket/maps --ray auto --scratch /nvme
    """
    from mapyard.fleet.build import build_generation

    console = Console(stderr=True, quiet=quiet)
    names = [part.strip() for part in only.split(",") if part.strip()]
    made = build_generation(
        split, to, only=names or None, ray_address=ray, scratch=scratch,
        say=lambda text: console.print(f"  {text}", highlight=False),
    )  # fmt: skip
    size = sum(region.bytes for region in made.regions) / 1e9
    console.print(
        f"generation {made.id}: {len(made.regions)} regions, {size:,.1f} GB, in {to}",
        highlight=False,
    )
