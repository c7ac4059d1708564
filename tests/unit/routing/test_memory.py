"""Memory of a process that answers many requests of all kinds."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mapyard.errors import MapyardError
from mapyard.routing import compute_matrix, find_isochrones, find_nearest, find_routes, match_trace

STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="needs Linux's /proc")


def read_anon_mb() -> float:
    """Return the resident memory that no file backs."""
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon:")]
    return int(line.split()[1]) / 1000


def test_memory_does_not_grow_with_the_number_of_requests(engine):
    rng = np.random.default_rng(5)
    places = np.column_stack([rng.uniform(7.412, 7.432, 40), rng.uniform(43.729, 43.743, 40)])
    answered = 0

    def ask(number: int) -> int:
        pair = places[[number % 40, (number + 7) % 40]]
        calls = (
            lambda: find_routes(engine, pair, "foot"),
            lambda: find_routes(engine, pair, "auto"),
            lambda: find_nearest(engine, *pair[0]),
            lambda: find_isochrones(engine, *pair[0], [300.0], "foot"),
            lambda: compute_matrix(engine, pair, pair, "bicycle"),
            lambda: match_trace(engine, pair, "foot"),
        )
        try:
            return int(calls[number % len(calls)]() is not None)
        except MapyardError:
            return 0

    for number in range(120):
        answered += ask(number)
    before_mb = read_anon_mb()
    for number in range(360):
        answered += ask(number)
    assert answered > 300
    assert read_anon_mb() - before_mb < 8.0


def test_a_million_cells_take_bounded_memory(engine):
    rng = np.random.default_rng(6)
    places = np.column_stack([rng.uniform(7.414, 7.431, 1_000), rng.uniform(43.729, 43.743, 1_000)])
    compute_matrix(engine, places[:10], places[:10])
    tracemalloc.start()
    try:
        matrix = compute_matrix(engine, places, places, max_pairs=1_000_000)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert matrix.durations_s.shape == (1_000, 1_000)
    assert np.isfinite(matrix.durations_s).mean() > 0.9
    assert peak_bytes < 120e6  # 120 bytes a cell
