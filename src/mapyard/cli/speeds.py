"""`mapyard speeds`: speeds of one's own in place of the map's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mapyard.builder.speeds import (
    CSV_NAME,
    import_speeds,
    list_speeds,
    measure_set,
    remove_speeds,
)
from mapyard.cli.answers import AsJson, report
from mapyard.dataset.catalog import Catalog
from mapyard.routing.contraction.tables import is_own_outdated
from mapyard.routing.modes import TABLE_MODES
from mapyard.settings import get_settings

app = typer.Typer(
    help="Use speeds of your own, measured or planned, for routes, matrices, tours and areas.",
    no_args_is_help=True,
)
Data = Annotated[Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")]


def _data(data: Path | None) -> Path:
    return data or get_settings().data


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv")],
    skip_unknown: Annotated[
        bool,
        typer.Option(
            "--skip-unknown", help="Leave out rows of roads that the dataset or a mode has not."
        ),
    ] = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Import speeds from a CSV file and switch to them; running servers notice at once.

    Columns: way_id (OpenStreetMap's) or edge_id (of /nearest, for this dataset only), speed_kmh (0
    closes the road, else 1 to 250), and where wanted direction (forward or backward along the way;
    both by default) and mode (auto by default, foot, bicycle). Other columns are ignored.

    The file takes the place of the one before in its modes; other modes keep theirs. If a row is
    wrong, the error names its line and nothing changes. An update keeps the speeds on roads that
    are still there.

    While own speeds are on for a mode, requests that only the routing engine answers are refused in
    it: alternatives, options of costing, what to avoid, times.

    Examples:

      mapyard speeds import rush-hour.csv

      printf 'way_id,direction,speed_kmh\\n4097656,forward,12\\n' > slow.csv
      mapyard speeds import slow.csv
    """
    console = Console()
    with Console(stderr=True).status("speeds") as status:
        done = import_speeds(
            _data(data), file, skip_unknown=skip_unknown, on_progress=status.update
        )
    if as_json:
        report(True, done)
        return
    for mode, own in done.modes.items():
        console.print(
            f"[green]✓[/green] {mode}: {own.rows:,} rows, {own.edges:,} edges of {done.dataset_id} "
            f"have own speeds now, {own.closed:,} are closed",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
    if done.skipped:
        console.print(f"{done.skipped:,} rows were left out: no such road", highlight=False)
    if done.ignored:
        console.print(f"columns ignored: {', '.join(done.ignored)}", highlight=False)
    console.print(
        f"{done.size_bytes / 1e6:,.1f} MB on disk, {done.cpu_s:.1f} s of CPU", highlight=False
    )


@app.command("list")
def list_sets(data: Data = None, as_json: AsJson = False) -> None:
    """List the own speeds that are on, per dataset and mode; the served one is marked."""
    found = list_speeds(_data(data))
    none = "No own speeds; import some with: mapyard speeds import FILE.csv"
    current = Catalog(_data(data)).find_current()
    listed = []
    table = Table("", "Dataset", "Mode", "Rows", "Edges", "Closed", "Size", box=None)
    for dataset_id, (folder, modes) in found.items():
        mark = "[green]●[/green]" if dataset_id == current else ""
        for mode, own in modes.items():
            size = measure_set(folder / mode)
            listed.append({
                "dataset": dataset_id, "served": dataset_id == current, "mode": mode,
                "rows": own.rows, "edges": own.edges, "closed": own.closed, "size_bytes": size,
            })  # fmt: skip
            table.add_row(
                mark, dataset_id, mode, f"{own.rows:,}", f"{own.edges:,}", f"{own.closed:,}",
                f"{size / 1e6:,.1f} MB",
            )  # fmt: skip
    report(as_json, listed, table if listed else none)


@app.command()
def status(data: Data = None, as_json: AsJson = False) -> None:
    """Tell whether own speeds are on for the served dataset, and in which modes."""
    current = Catalog(_data(data)).get_current().name
    found = list_speeds(_data(data))
    folder, own = found.get(current, (None, {}))
    is_outdated = folder is not None and is_own_outdated(folder)
    if folder is not None and is_outdated:
        said = (
            f"own speeds of {current} are not used, as another version prepared them; import "
            "them again with: mapyard speeds import FILE.csv (their rows: "
            f"{folder / CSV_NAME})"
        )
    elif folder is not None:
        said = f"own speeds are on for {current}: {', '.join(own)}"
    elif found:
        other = next(reversed(found))
        said = (
            f"own speeds are off for {current}; they were on for {other}: import them anew with: "
            "mapyard speeds import FILE.csv"
        )
    else:
        said = "own speeds are off"
    value = {"dataset": current, "modes": [] if is_outdated else list(own), "outdated": is_outdated}
    report(as_json, value, said)
    if is_outdated:
        raise typer.Exit(1)


@app.command()
def remove(
    mode: Annotated[
        list[str] | None,
        typer.Option(help="Only in this mode (may come more than once); others keep theirs."),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Switch back to the speeds of the map; running servers notice at once."""
    modes = [one for one in TABLE_MODES if one in (mode or ())]
    unknown = set(mode or ()) - set(modes)
    if unknown:
        raise typer.BadParameter(
            f"{', '.join(sorted(unknown))}: modes with own speeds are {', '.join(TABLE_MODES)}",
            param_hint="--mode",
        )
    where = f" for {', '.join(modes)}" if modes else ""
    is_removed = remove_speeds(_data(data), modes)
    said = "✓ own speeds are off" if is_removed else "own speeds were off already"
    report(as_json, {"removed": is_removed}, said + where)
