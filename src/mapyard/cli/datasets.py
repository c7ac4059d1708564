"""`mapyard datasets`: the maps of a data folder, and the datasets of people's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from mapyard.builder.steps import PART_NAMES
from mapyard.cli.answers import AsJson, report
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import read_manifest, verify_files
from mapyard.errors import MapyardError
from mapyard.settings import get_settings

app = typer.Typer(
    help="List, show, verify, use, upgrade and prune the maps of a data folder; "
    "import files of your own.",
    no_args_is_help=True,
)
Data = Annotated[Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")]
DatasetId = Annotated[str, typer.Argument(help="Dataset id, or: current.")]


def _catalog(data: Path | None) -> Catalog:
    return Catalog(data or get_settings().data)


@app.command("list")
def list_datasets(data: Data = None, as_json: AsJson = False) -> None:
    """List the datasets, oldest data first; the served one is marked."""
    catalog = _catalog(data)
    current = catalog.find_current()
    table = Table(
        "", "Dataset", "Data of (UTC)", "Elements", "Size", "Without", box=None, pad_edge=False
    )
    for column in table.columns[:5]:
        column.no_wrap = True
    table.columns[3].justify = table.columns[4].justify = "right"
    listed: list[dict[str, Any]] = []
    others: list[str] = []
    for dataset_id in catalog.ids():
        mark = "[green]●[/green]" if dataset_id == current else ""
        known = {"id": dataset_id, "served": dataset_id == current}
        try:
            manifest = catalog.manifest(dataset_id)
        except MapyardError as error:
            listed.append({**known, "error": error.message})
            table.add_row(mark, dataset_id, "[yellow]other format[/yellow]")
            others.append(dataset_id)
            continue
        listed.append({
            **known, "osm_timestamp": manifest.osm_timestamp, "counts": manifest.counts,
            "size_bytes": manifest.size_bytes, "parts": list(manifest.parts),
        })  # fmt: skip
        table.add_row(
            mark,
            dataset_id,
            manifest.osm_timestamp[:16].replace("T", " ") or "unknown",
            f"{sum(manifest.counts[name] for name in ('nodes', 'ways', 'relations')):,}",
            f"{manifest.size_bytes / 1e6:,.1f} MB",
            ", ".join(name for name in PART_NAMES if name not in manifest.parts),
        )
    none = f"No datasets in {catalog.data}; make one with: mapyard build SOURCE"
    advice = [f"{name} is of another format: mapyard datasets upgrade {name}" for name in others]
    report(as_json, listed, table if listed else none, *advice)


@app.command()
def show(dataset_id: DatasetId = "current", data: Data = None, as_json: AsJson = False) -> None:
    """Print a dataset's manifest, which is JSON with and without --json."""
    path = _catalog(data).path(dataset_id)
    report(True, msgspec.Raw((path / "manifest.json").read_bytes()))


@app.command()
def verify(dataset_id: DatasetId = "current", data: Data = None, as_json: AsJson = False) -> None:
    """Check every file of a dataset against its checksum; a damaged one is not served again."""
    path = _catalog(data).path(dataset_id)
    manifest = read_manifest(path)
    faults = verify_files(path, manifest)
    _catalog(data).note_damage(path.name, faults[0] if faults else "")
    count = sum(len(part.files) for part in manifest.parts.values())
    if not as_json:
        for fault in faults:
            typer.secho(fault, fg="red", err=True)
    if as_json or not faults:
        said = f"✓ {path.name}: {count} files are as they were built"
        report(as_json, {"id": path.name, "files": count, "faults": faults}, said)
    if faults:
        raise typer.Exit(1)


@app.command()
def use(dataset_id: DatasetId, data: Data = None, as_json: AsJson = False) -> None:
    """Switch the served dataset; running servers notice at once."""
    catalog = _catalog(data)
    catalog.use(dataset_id)
    current = catalog.find_current()
    report(as_json, {"id": current}, f"✓ {current} is now served")


@app.command()
def upgrade(
    dataset_id: DatasetId = "current",
    data: Data = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build a dataset of an older Mapyard again, out of its own source, and switch to it.

    This is also for datasets whose roads were prepared by another version: they still answer, but
    slowly.

    The new dataset has the same parts and the same data, updates included. The old one stays until
    it is pruned. A running server switches if it can read the new format, else at its next start.

    Exit codes: 0 upgraded or of this version already, 1 failed, 3 too little disk or memory, 4 the
    data folder is in use by another build.
    """
    from mapyard.builder.progress import Reporter
    from mapyard.builder.upgrade import upgrade_dataset
    from mapyard.cli.build import describe_report, exit_code, print_report

    settings = get_settings()
    console = Console(stderr=True)
    try:
        with Reporter(console, quiet) as progress:
            built = upgrade_dataset(data or settings.data, dataset_id, progress, settings)
    except MapyardError as error:
        console.print(
            f"[red]mapyard datasets upgrade:[/red] {error.message}", highlight=False, soft_wrap=True
        )
        raise typer.Exit(exit_code(error)) from None
    if as_json:
        report(True, {"upgraded": built is not None, **(describe_report(built) if built else {})})
    elif quiet:
        return
    elif built is None:
        console.print("[green]✓[/green] it is of this version already")
    else:
        print_report(built, console)


@app.command()
def prune(
    keep: Annotated[
        int | None, typer.Option(min=1, help="How many to keep; default from settings.")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Remove all but the newest datasets and the served one."""
    catalog = _catalog(data)
    with catalog.lock():
        removed = catalog.prune(keep or get_settings().keep_datasets)
    said = [f"removed {dataset_id}" for dataset_id in removed] or ["nothing to remove"]
    report(as_json, {"removed": removed}, *said)


@app.command()
def problems(dataset_id: DatasetId = "current", data: Data = None, as_json: AsJson = False) -> None:
    """Print what a build could not assemble: kind, element, reason."""
    path = _catalog(data).path(dataset_id)
    try:
        found = json.loads((path / "report.json").read_text())["problems"]
    except FileNotFoundError:
        raise MapyardError(f"{path.name} has no report.json") from None
    table = Table("Kind", "Element", "Reason", box=None, header_style="bold")
    rows = [(kind, name, reason) for kind, items in found.items() for name, reason in items]
    for row in rows:
        table.add_row(*row)
    names = ("kind", "element", "reason")
    report(as_json, [dict(zip(names, row, strict=True)) for row in rows], table)


Account = Annotated[
    str, typer.Option(help="Mail address of the account; default: the operator's.", metavar="EMAIL")
]


@app.command("import")
def import_source(
    file: Annotated[Path, typer.Argument(help="CSV, GeoJSON, NDJSON, GeoParquet, GPKG or .zip.")],
    slug: Annotated[str, typer.Option(help="Its name in queries; default: the file's name.")] = "",
    name: Annotated[str, typer.Option(help="What people call it; default: the slug.")] = "",
    account: Account = "",
    encoding: Annotated[str, typer.Option(help="Such as windows-1252.")] = "",
    layer: Annotated[str, typer.Option(help="Of a GeoPackage, or Shapefile in a .zip.")] = "",
    lat: Annotated[str, typer.Option(help="Column of the latitude.")] = "",
    lon: Annotated[str, typer.Option(help="Column of the longitude.")] = "",
    geometry: Annotated[str, typer.Option(help="Column of WKT, GeoJSON or WKB.")] = "",
    address: Annotated[str, typer.Option(help="Column of addresses, to be geocoded.")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Fail at the first wrong row.")] = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Import a file of your own as a dataset, or replace what a dataset holds.

    Examples:

      mapyard datasets import shops.csv

      mapyard datasets import trees.geojson --slug trees --name "City trees"

      mapyard datasets import customers.csv --address where --encoding windows-1252
    """
    from mapyard.cli.own_datasets import import_own
    from mapyard.userdata.rows import Options

    options = Options(
        name=file.name, encoding=encoding, layer=layer, lat=lat, lon=lon, geometry=geometry,
        address=address, strict=strict,
    )  # fmt: skip
    import_own(file, slug, name, account, options, data, as_json=as_json)


@app.command("imported")
def list_imported(account: Account = "", data: Data = None, as_json: AsJson = False) -> None:
    """List the datasets of an account's own: slug, state, rows, size."""
    from mapyard.cli.own_datasets import print_own

    print_own(account, data, as_json=as_json)


@app.command("delete")
def delete_imported(
    slug: Annotated[str, typer.Argument(help="Slug or id of the dataset.")],
    account: Account = "",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Delete a dataset of an account's own, with all its rows."""
    from mapyard.cli.own_datasets import delete_own

    delete_own(slug, account, data, as_json=as_json)
