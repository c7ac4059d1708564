"""How new the data is and what updates did, as Prometheus metrics read from the data folder."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from mapyard.dataset.catalog import Catalog
from mapyard.errors import MapyardError
from mapyard.updates.history import read_runs


def render_freshness(data: Path) -> bytes:
    """Return the metrics of the served dataset and of the last update runs."""
    registry = CollectorRegistry()

    def gauge(name: str, text: str, value: float) -> None:
        Gauge(name, text, registry=registry).set(value)

    try:
        manifest = Catalog(data).manifest("current")
    except MapyardError:
        manifest = None
    if manifest is not None and manifest.osm_timestamp:
        stamp = _unix_s(manifest.osm_timestamp)
        gauge("mapyard_dataset_timestamp_seconds", "Time of the data served.", stamp)
        gauge("mapyard_dataset_lag_seconds", "Age of the data served.", time.time() - stamp)
    by_part = Gauge(
        "mapyard_part_timestamp_seconds", "Time of the data of a part.", ("part",),
        registry=registry,
    )  # fmt: skip
    times = {name: manifest.find_data_time(name) for name in manifest.parts} if manifest else {}
    for name, timestamp in times.items():
        if timestamp:
            by_part.labels(name).set(_unix_s(timestamp))
    if manifest is not None and manifest.replication.sequence is not None:
        sequence = manifest.replication.sequence
        gauge("mapyard_dataset_sequence", "Replication sequence served.", sequence)
    runs = read_runs(data)
    outcomes = Counter(run.outcome for run in runs)
    by_outcome = Gauge(
        "mapyard_update_runs", "Kept update runs by outcome.", ("outcome",), registry=registry
    )
    for outcome in ("updated", "current", "failed", "unreachable"):
        by_outcome.labels(outcome).set(outcomes[outcome])
    if runs:
        last = runs[-1]
        gauge("mapyard_update_last_start_seconds", "Last update run.", _unix_s(last.started))
        gauge("mapyard_update_last_duration_seconds", "Time that it took.", last.seconds)
        is_well = last.outcome in ("updated", "current")
        gauge("mapyard_update_last_ok", "1 when the last update run was well.", is_well)
    return generate_latest(registry)


def _unix_s(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).astimezone(UTC).timestamp()
