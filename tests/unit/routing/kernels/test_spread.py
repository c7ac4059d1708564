"""What is reached within a bound, against plain searches; rings around cells, against shapely."""

import heapq

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mapyard.errors import TooLarge
from mapyard.routing.contraction.grid import Grid, fill_grid
from mapyard.routing.contraction.hierarchy import Starts
from mapyard.routing.contraction.spread import Spreading, sort_turns
from routing_graphs import UNIT_DEG, build_roads

FAR = 10**9


@st.composite
def graphs(draw):
    """Vertices that stand for edges with a length, turns with cost and time between them."""
    count = draw(st.integers(1, 30))
    vertex = st.integers(0, count - 1)
    turn = st.tuples(vertex, vertex, st.integers(0, 10**6), st.integers(0, 99))
    turns = draw(st.lists(turn, max_size=90, unique_by=lambda one: (one[0], one[1])))
    lengths = draw(st.lists(st.integers(1, 50), min_size=count, max_size=count))
    return count, turns, lengths


def build(count, turns, lengths):
    columns = np.array(turns, np.int64).reshape(-1, 4).T
    tail, head, cost, time = (np.ascontiguousarray(one, np.int32) for one in columns)
    edge = np.arange(count, dtype=np.int32)
    arrays = sort_turns(count, tail, head, cost, time)
    return Spreading(arrays, edge, np.array(lengths, np.int32))


def start(places):
    columns = np.array(places, np.int32).reshape(-1, 4).T
    first = np.array([0, len(places)])
    return Starts(first, *(np.ascontiguousarray(one) for one in columns))


def search(count, turns, lengths, places, backward, most_ms, most_cm):
    """The same without bounds, but for what is searched on from."""
    out = [[] for _ in range(count)]
    for tail, head, cost, time in turns:
        one, other = (head, tail) if backward else (tail, head)
        out[one].append((other, cost, time, lengths[tail]))
    queue = [(cost, time, length, vertex) for vertex, cost, time, length in places]
    heapq.heapify(queue)
    found, labels = {}, {}
    while queue:
        cost, time, length, vertex = heapq.heappop(queue)
        if vertex in labels:  # of two ways of the same cost either may be taken
            assume(labels[vertex] == (cost, time, length) or labels[vertex][0] < cost)
            continue
        labels[vertex] = (cost, time, length)
        is_over = time > most_ms or length > most_cm
        if backward or not is_over:
            found[vertex] = (time, length)
        if not is_over:
            for other, more, time_more, length_more in out[vertex]:
                heapq.heappush(queue, (cost + more, time + time_more, length + length_more, other))
    return found


@given(
    graphs(), st.booleans(), st.integers(0, 300), st.integers(0, 200), st.data(),
)  # fmt: skip
def test_what_is_reached_is_that_of_a_plain_search(graph, backward, most_ms, most_cm, data):
    count, turns, lengths = graph
    place = st.tuples(
        st.integers(0, count - 1), st.integers(-(2**27), 2**20), st.integers(-20, 50),
        st.integers(-20, 50),
    )  # fmt: skip
    places = data.draw(st.lists(place, max_size=4, unique_by=lambda one: one[1]))
    reached = build(*graph).find_reached(
        start(places), backward=backward, most_ms=most_ms, most_cm=most_cm
    )
    mine = {
        vertex: (time, length)
        for vertex, time, length in zip(
            *(one.tolist() for one in (reached.vertex, reached.time_ms, reached.length_cm)),
            strict=True,
        )
    }
    expected = search(count, turns, lengths, places, backward, most_ms, most_cm)
    assert mine == expected


def test_a_line_of_edges_is_cut_at_the_bound():
    turns = [(vertex, vertex + 1, 10, 10) for vertex in range(2_000)]
    spreading = build(2_001, turns, [7] * 2_001)
    reached = spreading.find_reached(
        start([(0, -5, -5, -3)]), backward=False, most_ms=1_000, most_cm=FAR
    )
    assert sorted(reached.vertex.tolist()) == list(range(101))
    assert dict(zip(reached.vertex.tolist(), reached.time_ms.tolist(), strict=True))[100] == 995
    assert reached.is_cut
    back = spreading.find_reached(start([(2_000, 4, 4, 3)]), backward=True, most_ms=FAR, most_cm=70)
    # The last one is over the bound at its begin, and may be within at its end.
    assert sorted(back.vertex.tolist()) == list(range(1_990, 2_001))
    everything = spreading.find_reached(
        start([(0, 0, 0, 0)]), backward=False, most_ms=FAR, most_cm=FAR
    )
    assert len(everything.vertex) == 2_001
    assert not everything.is_cut
    assert everything.length_cm.max() == 14_000
    with pytest.raises(ValueError, match="does not have"):
        spreading.find_reached(start([(2_001, 0, 0, 0)]), backward=False, most_ms=1, most_cm=1)


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_rings_part_the_middles_of_cells(columns, rows, data):
    value = st.one_of(st.just(np.inf), st.floats(0, 100, width=32))
    inner = data.draw(st.lists(value, min_size=columns * rows, max_size=columns * rows))
    values = np.full((rows + 2, columns + 2), np.inf, np.float32)
    values[1:-1, 1:-1] = np.reshape(inner, (rows, columns))
    limit = data.draw(st.floats(0.5, 99.5))
    points, first = Grid(9.5, 47.1, 0.001, values, (0.0, 0.0)).trace(limit, 10.0)
    rings = [ring for ring in np.split(points, first[1:]) if len(ring)]
    shape = shapely.Polygon()
    for ring in rings:
        assert len(ring) >= 4
        one = shapely.Polygon(ring)
        assert shapely.is_valid(one)
        shape = shapely.symmetric_difference(shape, one)
    # What is under the limit lies to the left: rings around holes turn the other way.
    signed = [_measure_signed(ring) for ring in rings]
    assert sum(signed) == pytest.approx(shape.area, rel=1e-6, abs=1e-15)
    for row, column in np.ndindex(values.shape):
        middle = 9.5 + 0.001 * (column + 0.5), 47.1 + 0.001 * (row + 0.5)
        expected = values[row, column] - limit < 0
        if abs(values[row, column] - limit) > 1e-3:
            assert shapely.contains_xy(shape, *middle) == expected


def _measure_signed(ring):
    area = shapely.Polygon(ring).area
    return area if shapely.LinearRing(ring).is_ccw else -area


def test_more_rings_than_there_is_room_for():
    values = np.full((202, 202), np.inf, np.float32)
    values[1:-1:2, 1:-1:2] = 0.0
    points, first = Grid(0.0, 0.0, 0.001, values, (0.0, 0.0)).trace(50.0, 10.0)
    assert len(first) == 100 * 100
    assert len(points) == 4 * len(first)


place = st.tuples(st.integers(9_500_000, 9_506_000), st.integers(47_100_000, 47_104_000))


@settings(deadline=None)
@given(
    st.lists(st.lists(place, min_size=2, max_size=4, unique=True), min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(0, 300), st.floats(0, 300)), min_size=12, max_size=12),
)  # fmt: skip
def test_cells_have_the_least_value_of_the_roads_in_them(tmp_path_factory, lines, ends):
    roads = build_roads(tmp_path_factory.mktemp("roads"), lines, np.ones(len(lines), int))
    codes = roads.find_codes(np.arange(0, 2 * len(lines), 2))
    begin, end = (np.array(column[: len(lines)], float) for column in zip(*ends, strict=True))
    grid = fill_grid(roads, codes, begin, end, (9.503, 47.102), 0.001, (0.0, 0.0))
    rows, columns = grid.values.shape
    assert np.isinf(grid.values[[0, -1]]).all()
    assert np.isinf(grid.values[:, [0, -1]]).all()
    for row, column in np.ndindex(rows, columns):
        west, south = grid.west + 0.001 * column, grid.south + 0.001 * row
        cell = shapely.box(west, south, west + 0.001, south + 0.001)
        near = shapely.buffer(cell, 6e-5)  # short roads are taken for their box
        least = np.inf
        for line, low, high in zip(lines, begin, end, strict=False):
            shape = shapely.LineString(np.array(line) * UNIT_DEG)
            if not shapely.intersects(shape, near):
                continue
            least = min(least, low, high)
            # One of the road's points within the cell has at least so much, but for a step.
            inside = shapely.intersection(shape, shapely.buffer(cell, -1e-6))
            if inside.length > 1e-5:
                assert grid.values[row, column] <= max(low, high) + 1e-3
        if not shapely.contains_xy(near, 9.503, 47.102):
            assert grid.values[row, column] >= least - 1e-3


def test_what_lies_before_the_begin_is_left_out(tmp_path):
    """A search from the middle of a road has values below nothing on its first half."""
    line = [(9_500_000, 47_100_000), (9_510_000, 47_100_000)]
    roads = build_roads(tmp_path, [line], [1])
    center = (9.505, 47.1)
    for codes, begin, end in (([0], -50.0, 50.0), ([1], -50.0, 50.0), ([0], 50.0, -50.0)):
        grid = fill_grid(
            roads,
            np.array(codes, np.int32),
            np.array([begin]),
            np.array([end]),
            center,
            0.001,
            (0.0, 0.0),
        )
        values = grid.values[np.isfinite(grid.values).any(axis=1)][0]
        known = np.flatnonzero(np.isfinite(values))
        lon = grid.west + 0.001 * (known + 0.5)
        eastward = (codes == [0]) == (end > begin)
        assert len(known) == 6
        assert (lon >= 9.5045).all() if eastward else (lon <= 9.5055).all()
        # From there on it rises by 10 a cell; a cell has its least, in steps of half a one.
        along = np.sort(values[known])
        assert along[0] == 0
        assert along[1:] == pytest.approx([5, 15, 25, 35, 45], abs=5.1)


def test_roads_lead_on_to_the_middles_of_cells_and_to_those_beside(tmp_path):
    """Along the middles of cells values are the road's; what it takes to get away is added."""
    line = [(9_500_000, 47_100_000), (9_510_000, 47_100_000)]
    roads = build_roads(tmp_path, [line], [1])
    one = np.zeros(1)
    grids = [
        fill_grid(
            roads, np.zeros(1, np.int32), one, one + 100, (9.5, 47.1), 0.001, (10.0, 14.0),
            beside=beside, sure=sure,
        )
        for beside in (0, 1, 2)
        for sure in (0.0, 1e6)
    ]  # fmt: skip
    for grid, beside in zip(grids, (0, 0, 1, 1, 2, 2), strict=True):
        rows, columns = (np.flatnonzero(np.isfinite(grid.values).any(axis=axis)) for axis in (1, 0))
        road = rows[len(rows) // 2]
        assert len(rows) == 1 + 2 * beside
        assert len(columns) == 11 + 2 * beside
        known = grid.values[road, columns][beside : beside + 11]
        # Between two middles a step may be passed; one that comes up to them is as far.
        assert known == pytest.approx(10.0 * np.arange(11), abs=2.6)
        for step in range(1, beside + 1):
            for row in (road - step, road + step):
                inner = grid.values[row, columns][beside : beside + 11]
                # Aslant is never nearer here: it rises as fast along the road.
                assert (inner <= known + 14.0 * step + 1e-3).all()
                assert (inner >= known[0] + 14.0 * step - 1e-3).all()


def test_too_large_an_area_is_refused(tmp_path):
    roads = build_roads(tmp_path, [[(0, 0), (90_000_000, 80_000_000)]], [1])
    nothing = np.zeros(1)
    with pytest.raises(TooLarge, match="less time"):
        fill_grid(roads, np.zeros(1, np.int32), nothing, nothing, (0.0, 0.0), 0.001, (0.0, 0.0))
