"""Contour lines: heights along them, tiles that meet, ranks, voids, feet."""

from __future__ import annotations

from typing import Any

import mapbox_vector_tile
import numpy as np
import pytest
from numpy.typing import NDArray

from mapyard.elevation.contours import Contour, find_step, trace_contours
from mapyard.tiles.contours import encode_contours

Z, X, Y = 12, 2132, 1493


class Cone:
    """Heights that fall by 1,000 m from the middle of a tile to the middle of its sides."""

    def __init__(self, hole: float = 0.0) -> None:
        self.hole = hole

    def sample(self, lon: Any, lat: Any, *, fills_voids: bool) -> tuple[Any, Any, Any]:
        x = (np.asarray(lon) + 180) / 360 * (1 << Z) - X
        y = (1 - np.arcsinh(np.tan(np.radians(lat))) / np.pi) / 2 * (1 << Z) - Y
        away = np.hypot(x - 0.5, y - 0.5)
        heights_m = 1_505 - 2_000 * away
        heights_m[away < self.hole] = np.nan
        return heights_m, None, None


def trace(cone: Cone, x: int = X, y: int = Y, **options: Any) -> list[Contour]:
    return trace_contours(cone, Z, x, y, **options)  # type: ignore[arg-type]


def radii(line: Contour) -> NDArray[np.float64]:
    return np.hypot(line.xy[:, 0] - 0.5, line.xy[:, 1] - 0.5)


def test_lines_lie_where_the_height_is() -> None:
    lines = trace(Cone())
    assert {line.height % find_step(Z, "m") for line in lines} == {0}
    rings = [line for line in lines if 550 <= line.height <= 1_400]
    assert sorted(line.height for line in rings) == list(range(550, 1_401, 50))
    for line in rings:
        wanted = (1_505 - line.height) / 2_000
        assert np.abs(radii(line) - wanted).max() < 0.5 / 128
        assert np.array_equal(line.xy[0], line.xy[-1])  # whole circles


def test_every_fifth_line_is_a_main_one() -> None:
    ranks = {line.height: line.rank for line in trace(Cone())}
    assert (ranks[1_000], ranks[750], ranks[700], ranks[650]) == (10, 5, 2, 1)


def test_lines_go_on_in_the_next_tile() -> None:
    here, east = trace(Cone()), trace(Cone(), x=X + 1)

    def at_edge(lines: list[Contour], edge: float) -> dict[int, list[float]]:
        crossings: dict[int, list[float]] = {}
        for line in lines:
            x, y = line.xy[:, 0] - edge, line.xy[:, 1]
            cut = np.flatnonzero(x[:-1] * x[1:] <= 0)
            where = y[cut] + (y[cut + 1] - y[cut]) * x[cut] / (x[cut] - x[cut + 1] + 1e-300)
            crossings.setdefault(line.height, []).extend(
                np.round(where[(where > 0) & (where < 1)], 6).tolist()
            )
        return {height: sorted(set(places)) for height, places in crossings.items() if places}

    left, right = at_edge(here, 1.0), at_edge(east, 0.0)
    assert left == right
    assert len(left) > 3


def test_there_are_no_lines_where_heights_are_unknown() -> None:
    lines = trace(Cone(hole=0.2))
    assert min(radii(line).min() for line in lines) >= 0.2
    assert trace(Cone(hole=9.0)) == []


def test_the_coast_is_no_contour() -> None:
    assert 0 not in {line.height for line in trace(Cone(), x=X + 1)}
    assert min(line.height for line in trace(Cone(), x=X + 1)) < 0


def test_feet_are_round_in_feet() -> None:
    lines = trace(Cone(), unit="ft")
    line = next(line for line in lines if line.height == 3_000)
    assert np.abs(radii(line) - (1_505 - 3_000 * 0.3048) / 2_000).max() < 0.5 / 128


def test_lines_as_a_vector_tile() -> None:
    lines = trace(Cone())
    layer = mapbox_vector_tile.decode(encode_contours(lines, "contour"))["contour"]
    found = {f["properties"]["height"]: f for f in layer["features"]}
    ring = np.array(found[1_000]["geometry"]["coordinates"])
    assert found[1_000]["geometry"]["type"] == "LineString"
    assert found[1_000]["properties"]["nth_line"] == 10
    assert np.abs(np.hypot(*(ring - 2_048).T) - 505 / 2_000 * 4_096).max() < 20
    assert len(ring) < 200  # simplified
    assert max(abs(np.array(f["geometry"]["coordinates"])).max() for f in found.values()
               if f["geometry"]["type"] == "LineString") <= 4_096 + 64  # fmt: skip


@pytest.mark.parametrize("size", [0.0, 0.001])
def test_what_is_too_small_is_left_out(size: float) -> None:
    ring = np.array([[0.5, 0.5], [0.5 + size, 0.5], [0.5, 0.5 + size], [0.5, 0.5]])
    assert encode_contours([Contour(ring, 100, 1)], "contour") == b""
    assert encode_contours([], "contour") == b""
