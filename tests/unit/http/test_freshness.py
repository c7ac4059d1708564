from __future__ import annotations

from pathlib import Path

from mapyard.builder.pipeline import STORE_STEP, build_dataset
from mapyard.builder.progress import Reporter
from mapyard.http.freshness import render_freshness
from mapyard.updates.history import Run, add_run
from osm_files import EXAMPLES


def lines(data: Path) -> dict[str, float]:
    text = render_freshness(data).decode()
    pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def test_nothing_built_yet(tmp_path: Path) -> None:
    assert lines(tmp_path)['mapyard_update_runs{outcome="failed"}'] == 0


def test_the_age_of_data_and_the_last_run(tmp_path: Path) -> None:
    build_dataset([EXAMPLES / "monaco.osm.pbf"], tmp_path, [STORE_STEP], Reporter(quiet=True))
    add_run(tmp_path, Run("2026-04-07T00:00:00Z", 12.5, "failed", message="the disk is full"))
    found = lines(tmp_path)
    assert found["mapyard_dataset_timestamp_seconds"] == 1_775_506_875
    assert found["mapyard_dataset_lag_seconds"] > 0
    assert found["mapyard_dataset_sequence"] == 4747
    assert found['mapyard_update_runs{outcome="failed"}'] == 1
    assert found["mapyard_update_last_duration_seconds"] == 12.5
    assert found["mapyard_update_last_ok"] == 0
