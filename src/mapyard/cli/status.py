"""`mapyard status`: how new the data is and what the last updates did."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from mapyard.addresses import split_login
from mapyard.cli.answers import AsJson, report
from mapyard.dataset.catalog import Catalog
from mapyard.osm.waiting import BASE_NAME
from mapyard.settings import get_settings
from mapyard.updates.history import read_runs

_COLORS = {"updated": "green", "current": "green", "failed": "red", "unreachable": "yellow"}


def command(
    data: Annotated[
        Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the served dataset, the age of its data and the last updates."""
    folder = data or get_settings().data
    catalog = Catalog(folder)
    manifest = catalog.manifest("current")
    source = split_login(manifest.replication.url)[0]
    runs = read_runs(folder)
    files = manifest.parts["source"].files if "source" in manifest.parts else {}
    waits = BASE_NAME in files
    lag_s = _find_age_s(manifest.osm_timestamp) if manifest.osm_timestamp else None
    console = Console()
    if as_json:
        status = {
            "dataset": manifest.id,
            "osm_timestamp": manifest.osm_timestamp,
            "lag_seconds": None if lag_s is None else round(lag_s),
            "parts": {name: manifest.find_data_time(name) for name in manifest.parts},
            "changes_wait": waits,
            "replication": msgspec.structs.replace(manifest.replication, url=source),
            "runs": runs[-10:],
        }
        report(True, status)
        return
    console.print(f"Dataset   [bold]{manifest.id}[/bold]", highlight=False)
    console.print(f"Data of   {_tell_time(manifest.osm_timestamp)}", highlight=False)
    for name in manifest.parts:
        timestamp = manifest.find_data_time(name)
        if timestamp != manifest.osm_timestamp:
            console.print(f"  {name:<8}{_tell_time(timestamp)}", highlight=False)
    replication = manifest.replication
    console.print(
        f"Source    {source or 'none'}"
        + (f", sequence {replication.sequence}" if replication.sequence is not None else ""),
        highlight=False,
    )
    if waits:
        console.print("  changes wait beside the extract until something needs the whole of it")
    if not runs:
        console.print("No update has run yet.")
        return
    table = Table("Started", "Outcome", "Sequence", "Changed", "Deleted", "Time", "", box=None)
    for index in (3, 4, 5):
        table.columns[index].justify = "right"
    for run in runs[-10:]:
        color = _COLORS.get(run.outcome, "white")
        steps = "" if run.to_sequence is None else f"{run.from_sequence} → {run.to_sequence}"
        table.add_row(
            run.started,
            f"[{color}]{run.outcome}[/{color}]",
            steps,
            f"{run.changed:,}",
            f"{run.deleted:,}",
            f"{run.seconds:,.1f} s",
            run.message,
        )
    console.print(table)


def _find_age_s(timestamp: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds()


def _tell_time(timestamp: str) -> str:
    return f"{timestamp}, {_format_age(_find_age_s(timestamp))} old" if timestamp else "unknown"


def _format_age(seconds: float) -> str:
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    if seconds < 172_800:
        return f"{seconds / 3600:.0f} hours"
    return f"{seconds / 86_400:.0f} days"
