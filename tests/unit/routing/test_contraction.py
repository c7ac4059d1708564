"""Matrices out of the contraction of Monaco, and of graphs that fit on a line."""

import json
import logging
import shutil
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mapyard.deadline import no_deadline
from mapyard.routing import compute_matrix, find_routes, open_routing
from mapyard.routing.contraction import build, mapping, writing
from mapyard.routing.contraction.build import build_tables
from mapyard.routing.contraction.hierarchy import NO_WAY, Hierarchy, HierarchyArrays, contract
from mapyard.routing.contraction.levels import read_level
from mapyard.routing.contraction.mapping import MEMORY_BYTES, Scratch
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.profiles import MODE_COSTS
from mapyard.routing.contraction.tables import ModeCheck, Tables, read_checks
from mapyard.routing.contraction.tiles import UnknownTiles, read_graph
from mapyard.routing.contraction.turns import find_turns
from mapyard.routing.contraction.vertices import VertexGraph, _forbid_paths
from mapyard.routing.contraction.writing import write_mode
from mapyard.routing.engine import NoRoad, NoRoute
from mapyard.routing.kernels import load_kernels
from mapyard.routing.modes import ASSUMED_TIME, TABLE_MODES, make_costing
from mapyard.routing.profiles import PROFILES
from mapyard.routing.snapping import find_roads, make_locations
from mapyard.store import spill

CASINO = (7.4281, 43.7392)
SEA = (7.45, 43.70)


@pytest.fixture(scope="module")
def road_graph(graph):
    return read_graph(graph / "tiles.tar")


@pytest.fixture(scope="module")
def places(road_graph):
    """24 positions on roads, one of them twice."""
    rng = np.random.default_rng(6)
    edge = rng.choice(np.flatnonzero(road_graph.edges.access & 1), 23)
    nodes = np.column_stack([road_graph.lon, road_graph.lat])
    middle = (nodes[road_graph.start[edge]] + nodes[road_graph.end[edge]]) / 2
    return np.concatenate([middle, middle[:1]])


@pytest.fixture
def copy(graph, tmp_path):
    """The graph in a folder of its own."""
    return shutil.copytree(graph, tmp_path / "routing")


def find_cell(engine, pair, mode):
    try:
        route = find_routes(engine, pair, mode)[0]
    except NoRoute:
        return np.nan, np.nan
    return route.duration_s, route.distance_m


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_cells_are_routes(engine, plain, places, mode):
    assert engine.tables.find(mode) is not None
    matrix = compute_matrix(engine, places[:12], places[12:], mode)
    expected = np.array(
        [[find_cell(plain, np.array([a, b]), mode) for b in places[12:]] for a in places[:12]]
    )
    good = np.isclose(matrix.durations_s, expected[..., 0], rtol=0.01, atol=1, equal_nan=True)
    good &= np.isclose(matrix.distances_m, expected[..., 1], rtol=0.01, atol=5, equal_nan=True)
    assert good.mean() >= 0.99
    assert np.isfinite(matrix.durations_s).mean() > 0.5
    assert (matrix.durations_s[np.isfinite(matrix.durations_s)] % 1 == 0).all()


def test_the_way_to_oneself_is_nothing(engine, places):
    matrix = compute_matrix(engine, places, places)
    assert not matrix.durations_s.diagonal().any()
    assert matrix.durations_s[0, -1] == matrix.distances_m[0, -1] == 0.0


def test_backward_on_a_one_way_road_leads_around(engine, plain, road_graph):
    edges = road_graph.edges
    back = road_graph.opposing
    oneway = (edges.access & 1 > 0) & (edges.access[back] & 1 == 0) & (edges.length_m > 60)
    nodes = np.column_stack([road_graph.lon, road_graph.lat])
    found = 0
    for edge in np.flatnonzero(oneway)[::9]:
        ends = nodes[[road_graph.end[edge], road_graph.start[edge]]]
        pair = 0.7 * ends + 0.3 * ends[::-1]  # from near the end to near the begin
        matrix = compute_matrix(engine, pair[:1], pair[1:])
        time_s, length_m = find_cell(plain, pair, "auto")
        cell = matrix.durations_s[0, 0], matrix.distances_m[0, 0]
        assert cell == pytest.approx((time_s, length_m), rel=0.02, abs=5, nan_ok=True)
        found += length_m > edges.length_m[edge]
    assert found > 3


def test_threads_share_a_table(graph, places):
    engine = open_routing(graph)
    with ThreadPoolExecutor(4) as pool:
        matrices = list(pool.map(lambda _: compute_matrix(engine, places, places), range(8)))
    for matrix in matrices[1:]:
        assert np.array_equal(matrix.durations_s, matrices[0].durations_s, equal_nan=True)


def test_without_tables_the_engine_answers(copy, engine, places):
    (copy / "matrix.json").unlink()
    plain = open_routing(copy)
    assert plain.tables.find("foot") is None
    mine = compute_matrix(engine, places[:4], places[4:8], "foot")
    theirs = compute_matrix(plain, places[:4], places[4:8], "foot")
    assert np.allclose(mine.durations_s, theirs.durations_s, rtol=0.01, atol=2, equal_nan=True)
    for asked in (engine, plain):
        with pytest.raises(NoRoad) as caught:
            compute_matrix(asked, np.array([CASINO]), np.array([CASINO, SEA]), "foot")
        assert caught.value.details["index"] == 2


def find_limits(opened):
    search = opened._configs[True]["thor"]["bidirectional_astar"]
    return set(search["hierarchy_limits"]["max_up_transitions"].values())


def test_cars_look_at_all_roads_where_they_would_disagree(copy, engine, monkeypatch):
    assert find_limits(engine) == {100, 400}
    assert not engine.tables.all_roads
    agrees = build._agrees

    def disagree(engine, *arguments):
        return find_limits(engine) != {100, 400} and agrees(engine, *arguments)

    monkeypatch.setattr(build, "_SAMPLES", 60)
    monkeypatch.setattr(build, "_agrees", disagree)
    checks = build_tables(copy)
    assert checks["auto"].is_used
    assert checks["auto"].all_roads
    assert not checks["foot"].all_roads
    assert find_limits(open_routing(copy)) == {2**32 - 1}
    monkeypatch.setattr(build, "_agrees", lambda *arguments: False)
    assert not build_tables(copy)["auto"].all_roads


def test_tables_of_other_rules_or_without_the_library_are_not_used(copy, monkeypatch, caplog):
    assert Tables(copy).find("auto") is not None
    meta = json.loads((copy / "matrix.json").read_text())
    for other in ({"format": 0}, {"engine": "3.0.0"}):
        (copy / "matrix.json").write_text(json.dumps(meta | other))
        caplog.clear()
        assert Tables(copy).find("auto") is None
        assert "datasets upgrade" in caplog.text
        assert read_checks(copy) == {}
    (copy / "matrix.json").write_text(json.dumps(meta))
    load_kernels.cache_clear()
    monkeypatch.setenv("MAPYARD_KERNELS", str(copy / "missing.so"))
    caplog.clear()
    assert Tables(copy).find("auto") is None
    assert "make setup" in caplog.text
    assert build_tables(copy) == {}
    assert read_checks(copy) == {}
    load_kernels.cache_clear()


def test_tables_that_disagree_with_routes_are_not_used(copy, monkeypatch, caplog):
    monkeypatch.setattr(build, "_SAMPLES", 60)
    monkeypatch.setattr(build, "_agrees", lambda *arguments: False)
    with caplog.at_level(logging.WARNING):
        checks = build_tables(copy)
    assert not any(check.is_used for check in checks.values())
    assert "left to the engine" in caplog.text
    assert Tables(copy).find("auto") is None


def test_near_the_least_share_more_cells_are_compared(copy, monkeypatch):
    """3 of 200 wrong are too many, 3 of 1,000 are not."""
    asked = []

    def disagree_at_first(*arguments):
        asked.append(None)
        return len(asked) % 700 not in (5, 50, 150)

    monkeypatch.setattr(build, "_agrees", disagree_at_first)
    monkeypatch.setattr(build, "TABLE_MODES", ("foot",))
    (check,) = build_tables(copy).values()
    assert (check.compared, check.is_used, check.reach_m) == (1000, True, None)
    assert len(asked) == 1200


def test_ways_are_as_cheap_as_routes_by_the_price_of_the_engine(copy, road_graph, plain):
    table = Tables(copy).find("foot")
    pairs = build._pick_pairs(road_graph, table, 40)
    judged = []
    for pair in pairs:
        places = table.find_places(pair, 1000)
        ends = places.of(np.array([0])), places.of(np.array([1]))
        request = make_costing("foot") | ASSUMED_TIME | {"locations": make_locations(pair)}
        try:
            trip = plain.call("route", request)["trip"]
        except NoRoute:
            continue

        def judge(factor, seconds=0.0, trip=trip, ends=ends):
            cost_s = trip["summary"]["cost"] * factor + seconds
            dearer = trip | {"summary": trip["summary"] | {"cost": cost_s}}
            return build._is_as_cheap(plain, table, PROFILES["foot"], *ends, dearer)

        judged.append((judge(1), judge(1, -4), judge(1.05, 4)))
    assert len(judged) > 30
    same, cheaper_route, forbidden = np.array(judged).mean(axis=0)
    assert same > 0.9
    assert cheaper_route < 0.1  # a route that misses nothing is not beaten
    assert forbidden < 0.1


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_roads_are_connected_where_the_engine_counts_crossings(engine, road_graph, mode):
    """On all of 400 roads or nearly; at bollards, in one-way streets and dead ends too."""
    table = engine.tables.find(mode)
    rng = np.random.default_rng(3)
    nodes = np.column_stack([road_graph.lon, road_graph.lat])
    places = nodes[road_graph.start[rng.choice(table.usable, 300)]] + rng.normal(0, 1e-4, (300, 2))
    found = find_roads(engine, places, mode, 100.0, verbose=True)
    edges = [road.edge for row in found for road in row]
    rows = table.edge_ids.find(np.array([edge["edge_id"]["value"] for edge in edges]))
    counted = np.array(
        [(edge["outbound_reach"] >= 50) + 2 * (edge["inbound_reach"] >= 50) for edge in edges]
    )
    assert len(edges) > 400
    assert (counted < 3).sum() > (5 if mode != "foot" else -1)
    assert (table._costs.connected[rows] == counted).mean() > 0.998


def test_tables_are_used_up_to_where_they_agree():
    distances_m = np.arange(200) * 100.0
    right = np.ones(200, bool)
    judge = build._judge
    assert judge(distances_m, right) == ModeCheck(200, 200, True, None)
    single = right.copy()
    single[[50, 190]] = False
    assert judge(distances_m, single) == ModeCheck(200, 198, True, None)
    near_only = distances_m < 12_000
    assert judge(distances_m[::-1], near_only[::-1]) == ModeCheck(200, 120, True, 12_000.0)
    assert not judge(distances_m, distances_m > 2_000).is_used
    assert not judge(distances_m, ~right).is_used
    assert not judge(distances_m[:0], right[:0]).is_used
    assert judge(distances_m[:10], right[:10]).is_used


def test_cells_beyond_the_reach_are_left_to_the_engine(copy, engine, places, monkeypatch):
    meta = json.loads((copy / "matrix.json").read_text())
    meta["modes"]["foot"]["reach_m"] = 700.0
    (copy / "matrix.json").write_text(json.dumps(meta))
    limited = open_routing(copy)
    asked = []
    call = limited.call

    def listen(action, request, **options):
        asked.append(action)
        return call(action, request, **options)

    monkeypatch.setattr(limited, "call", listen)
    mine = compute_matrix(limited, places[:8], places[8:16], "foot")
    assert "matrix" in asked
    other = compute_matrix(engine, places[:8], places[8:16], "foot")
    assert np.allclose(mine.durations_s, other.durations_s, rtol=0.01, atol=2, equal_nan=True)
    asked.clear()
    compute_matrix(limited, places[:1], places[:1] + 1e-4, "foot")
    assert "matrix" not in asked


def test_edges_and_the_edges_back_agree(road_graph):
    inside = road_graph.end >= 0
    back = road_graph.opposing[inside]
    assert inside.mean() > 0.99
    assert (road_graph.start[back] == road_graph.end[inside]).all()
    assert road_graph.edges.length_m.max() < 5_000
    assert set(np.unique(road_graph.edges.not_thru)) == {0, 1}
    west, east = road_graph.lon.min(), road_graph.lon.max()
    assert 7.3 < west < east < 7.5
    assert road_graph.edge_ids.find(np.array([7 | 1 << 25])).tolist() == [-1]


def test_tiles_of_another_layout_are_refused(copy):
    tar = copy / "tiles.tar"
    content = bytearray(tar.read_bytes())
    # The header says that it has more nodes than there are.
    at = content.find(b".gph") // 512 * 512 + 512 + 40
    content[at] ^= 0x0F
    tar.write_bytes(content)
    with pytest.raises((UnknownTiles, ValueError)):
        read_graph(tar)


def make_line(tail, head, count):
    """A graph whose edges are its vertices."""
    return VertexGraph(
        edge=np.arange(count),
        is_end=np.ones(count, bool),
        begin=np.arange(count),
        tail=np.array(tail),
        head=np.array(head),
        turn=np.arange(len(tail)),
    )


def find_costs(vertices, edges, targets):
    """Costs over arcs of 1 each from some edges to others, over all vertices of each."""
    ones = np.ones(len(vertices.tail), np.int32)
    found = np.full((len(edges), len(targets)), np.inf)
    hierarchy = Hierarchy(
        contract(len(vertices.edge), vertices.tail, vertices.head, ones, ones, ones)
    )
    for row, column in np.ndindex(found.shape):
        for end in np.flatnonzero((vertices.edge == targets[column]) & vertices.is_end):
            begin = vertices.begin[edges[row]]
            pair = (np.array([vertex], np.int32) for vertex in (begin, end))
            cost = 0 if begin == end else hierarchy.find_ways(*pair, no_deadline()).cost_ms[0]
            if cost < NO_WAY:
                found[row, column] = min(found[row, column], cost)
    return found.tolist()


def test_a_forbidden_path_is_left_out_and_its_parts_are_not():
    # 0 and 1 lead to 2, on to 3 and then to 4 or 5; 0, 2, 3, 4 is forbidden.
    vertices = make_line([0, 1, 2, 3, 3], [2, 2, 3, 4, 5], 6)
    forbidden = _forbid_paths(vertices, [[0, 2, 3, 4]])
    assert find_costs(forbidden, [0, 1, 2], [4, 5, 2]) == [[np.inf, 3, 1], [3, 3, 1], [2, 2, 0]]


def test_two_forbidden_paths_may_begin_the_same_way():
    vertices = make_line([0, 1, 1, 1], [1, 2, 3, 4], 5)
    forbidden = _forbid_paths(vertices, [[0, 1, 2], [0, 1, 3]])
    assert find_costs(forbidden, [0, 1], [2, 3, 4]) == [[np.inf, np.inf, 2], [1, 1, 1]]


def test_a_mode_that_disagrees_leaves_no_arrays(copy, monkeypatch):
    monkeypatch.setattr(build, "_SAMPLES", 60)
    monkeypatch.setattr(build, "_agrees", lambda *arguments: False)
    build_tables(copy)
    assert [path.name for path in (copy / "hierarchy").iterdir() if path.is_dir()] == []


def test_modes_side_by_side_give_the_same_bytes(copy, monkeypatch):
    """Also where all large arrays lie in files, those of numpy in each thread, too."""
    monkeypatch.setattr(build, "_check", lambda *arguments: ModeCheck(1, 1, True, None))
    monkeypatch.setattr(build, "_SPILLED_EDGE_BYTES", 0.1)
    in_threads = build._map_in_threads
    used = []

    def map_in_threads(work, tasks, threads):
        used.append(threads)
        return in_threads(work, tasks, threads)

    monkeypatch.setattr(build, "_map_in_threads", map_in_threads)
    monkeypatch.setattr(mapping, "_LARGE_BYTES", 1 << 12)
    monkeypatch.setattr(spill, "LARGE_BYTES", 1 << 14)

    def read() -> dict[str, bytes]:
        files = [copy / "matrix.json", *(copy / "hierarchy").rglob("*.npy")]
        return {str(file.relative_to(copy)): file.read_bytes() for file in files}

    build_tables(copy, ["foot-shortest"])
    in_memory = read()
    assert len(in_memory) > 100
    in_files_bytes = {}
    for jobs in (1, 3):
        with spill.spill_arrays(copy, 1 << 16):
            build_tables(copy, ["foot-shortest"], 1 << 16, jobs)
            in_files_bytes[jobs] = spill.tell_spilled().spilled_bytes
        found = read()
        assert in_memory.keys() == found.keys()
        assert [name for name in found if in_memory[name] != found[name]] == [], jobs
    assert used == [1, 1, 3]
    # Of 630 MB; those that no other thread would put into files are 430.
    assert in_files_bytes[3] > 0.9 * in_files_bytes[1] > 50_000_000


def test_all_that_a_mode_needs_is_mapped(engine):
    table = engine.tables.find("foot")
    for graph in (table._strict, table._relaxed):
        arrays = [getattr(graph.vertices, name) for name in graph.vertices.__slots__]
        arrays += [getattr(graph.hierarchy._arrays, name) for name in HierarchyArrays.__slots__]
        assert all(isinstance(array.base, np.memmap) for array in arrays)


def test_places_are_taken_as_often_as_asked_for():
    places = Places(
        count=3,
        position=np.array([0, 0, 2]),
        edge=np.array([5, 6, 7]),
        share=np.array([0.1, 0.9, 0.5]),
        away_m=np.zeros(3),
        at=np.zeros((3, 2)),
    )
    taken = places.of(np.array([2, 0, 2]))
    assert taken.edge.tolist() == [7, 5, 6, 7]
    assert taken.position.tolist() == [0, 1, 1, 2]
    assert places.of(np.array([1])).edge.tolist() == []
    assert [one.edge.tolist() for one in places.split()] == [[5, 6], [], [7]]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [((0, 4), 2.0), ((0, 3), -2.0), ((2, 10), 0.5), ((0, 0, 2), np.nan), ((), np.nan)],
)
def test_floors_are_read_out_of_texts(levels, expected):
    """A record with one text, which holds the kind, the bytes that follow, places, numbers."""
    text = bytes([8, 2 * len(levels), *levels]) if levels else b"\1Main\0"
    record = bytes(8) + bytes([1, 0, 0, 0]) + (1 << 29).to_bytes(4, "little")
    raw = np.frombuffer(record + text, np.uint8)
    assert read_level(raw, 0, len(record)) == pytest.approx(expected, nan_ok=True)


def test_blocks_of_turns_are_priced_as_all_at_once(road_graph, tmp_path, monkeypatch):
    costs = MODE_COSTS["auto"]
    scratch = Scratch(tmp_path, MEMORY_BYTES)
    write_mode(road_graph, costs, tmp_path / "whole", scratch=scratch)
    monkeypatch.setattr(writing, "_TURNS_AT_ONCE", 777)
    write_mode(road_graph, costs, tmp_path / "blocks", scratch=scratch)
    files = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert len(files) > 30
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "blocks").iterdir()}


def test_a_block_is_priced_in_the_room_of_a_block(road_graph, tmp_path, monkeypatch):
    costs = MODE_COSTS["foot"]
    scratch = Scratch(tmp_path, MEMORY_BYTES)
    turns = find_turns(road_graph, costs.find_usable(road_graph), costs.access, restricted=False)
    edge_s = costs.cost_edges(road_graph)
    peaks = []
    for block in (len(turns), 500):
        monkeypatch.setattr(writing, "_TURNS_AT_ONCE", block)
        tracemalloc.start()
        try:
            writing._price_turns(road_graph, costs, turns, *edge_s, scratch)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    prices = 8 * len(turns)
    assert peaks[1] - prices < 0.3 * (peaks[0] - prices)
