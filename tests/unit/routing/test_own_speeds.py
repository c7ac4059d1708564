"""Own speeds: imported from a table, switched to at once, carried over, refused by line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import mapyard
from mapyard.builder.speeds import carry_over, import_speeds, list_speeds, remove_speeds
from mapyard.cli import build_app
from mapyard.dataset.own_speeds import find_own_speeds
from mapyard.errors import MapyardError
from mapyard.routing import (
    compute_matrix,
    find_isochrones,
    find_nearest,
    find_routes,
    open_routing,
)
from mapyard.routing.contraction import speeds as speeds_module
from mapyard.routing.contraction.profiles import MODE_COSTS
from mapyard.routing.contraction.speeds import (
    SpeedRows,
    WrongSpeeds,
    describe_edges,
    find_way_ids,
    read_speeds,
    rename_edges,
    spread_speeds,
    write_speeds,
)
from mapyard.routing.contraction.tiles import EdgeIds, read_graph
from mapyard.routing.contraction.turns import find_turns
from mapyard.routing.costing import CostingOptions
from mapyard.routing.engine import NoRoad, NoRoute, OwnSpeedsOn
from mapyard.routing.stops import Stop

CASINO, STADIUM, PALACE = (7.4281, 43.7392), (7.4155, 43.7276), (7.4200, 43.7314)
PAIR = np.array([CASINO, STADIUM])


@pytest.fixture
def data(graph: Path, tmp_path: Path) -> Path:
    """A data folder of its own."""
    source = graph.parent.resolve()
    target = tmp_path / "data"
    shutil.copytree(source, target / "datasets" / source.name)
    (target / "current").symlink_to(Path("datasets") / source.name)
    return target


@pytest.fixture(scope="module")
def roads(graph):
    found = read_graph(graph / "tiles.tar")
    return found, find_way_ids(found, graph / "tiles.tar")


def write(tmp_path, *rows, header="way_id,direction,speed_kmh,mode"):
    file = tmp_path / "own.csv"
    file.write_text("\n".join([header, *rows]) + "\n")
    return file


def write_all(tmp_path, roads, mode, kmh):
    """Write a row for each way of a mode."""
    road_graph, way_ids = roads
    ways = np.unique(way_ids[MODE_COSTS[mode].find_usable(road_graph)]).tolist()
    return write(tmp_path, *(f"{way},,{kmh},{mode}" for way in ways))


def open_with_speeds(data):
    dataset = (data / "current").resolve()
    return open_routing(dataset / "routing", find_own_speeds(data, dataset.name))


def pick_pairs(roads, mode, count):
    road_graph, _ = roads
    edges = np.flatnonzero(MODE_COSTS[mode].find_usable(road_graph))
    rng = np.random.default_rng(3)
    nodes = road_graph.start[rng.choice(edges, 2 * count)]
    return np.column_stack([road_graph.lon, road_graph.lat])[nodes].reshape(-1, 2, 2)


def test_all_roads_at_one_speed_are_the_engine_at_a_fixed_speed(data, tmp_path, roads, plain):
    import_speeds(data, write_all(tmp_path, roads, "auto", 36))
    engine = open_with_speeds(data)
    fixed = CostingOptions(fixed_speed_kmh=36)
    same = compared = 0
    for pair in pick_pairs(roads, "auto", 60):
        try:
            theirs = find_routes(plain, pair, "auto", options=fixed)[0]
        except MapyardError:
            continue
        mine = find_routes(engine, pair, "auto")[0]
        compared += 1
        same += (
            abs(mine.duration_s - theirs.duration_s) <= 1
            and abs(mine.distance_m - theirs.distance_m) <= 5
        )
    assert compared > 50
    assert same >= 0.95 * compared  # others are as cheap, as at usual speeds


def test_a_walk_at_a_meter_a_second_takes_its_length(data, tmp_path, roads):
    import_speeds(data, write_all(tmp_path, roads, "foot", 3.6))
    engine = open_with_speeds(data)
    route = find_routes(engine, PAIR, "foot")[0]
    waits_s = route.duration_s - route.distance_m
    assert -1 <= waits_s <= 200  # for crossing roads
    (cell,) = compute_matrix(engine, PAIR[:1], PAIR[1:], "foot").durations_s[0]
    assert cell == pytest.approx(route.duration_s, abs=1)
    steps = find_routes(engine, PAIR, "foot", with_steps=True)[0].legs[0].steps
    assert sum(step.duration_s for step in steps) == pytest.approx(route.duration_s, abs=1)


def test_areas_shrink(data, tmp_path, roads, engine):
    import_speeds(data, write_all(tmp_path, roads, "foot", 1.8))
    usual, slow = (
        find_isochrones(one, *CASINO, [600.0], "foot")[0].area_m2
        for one in (engine, open_with_speeds(data))
    )
    assert slow < 0.5 * usual


def test_a_road_is_closed_in_one_direction(data, tmp_path, roads, engine):
    road_graph, way_ids = roads
    before = find_routes(engine, PAIR, "auto")[0]
    long = [e for e in before.ways[0].edges.tolist()[1:-1] if road_graph.edges.length_m[e] > 50]
    edge = long[len(long) // 2]
    is_forward = bool(road_graph.edges.forward[edge])
    names = {True: "forward", False: "backward"}
    import_speeds(data, write(tmp_path, f"{way_ids[edge]},{names[is_forward]},0,"))
    after = find_routes(open_with_speeds(data), PAIR, "auto")[0]
    taken = after.ways[0].edges
    closed = (way_ids == way_ids[edge]) & ((road_graph.edges.forward == 1) == is_forward)
    assert not closed[taken].any()
    assert after.duration_s > before.duration_s
    back = road_graph.edges.forward[(way_ids == way_ids[edge]) & ~closed]
    if MODE_COSTS["auto"].find_usable(road_graph)[(way_ids == way_ids[edge]) & ~closed].any():
        assert len(back)
        import_speeds(data, write(tmp_path, f"{way_ids[edge]},{names[not is_forward]},0,"))
        assert find_routes(open_with_speeds(data), PAIR, "auto")[0].duration_s == before.duration_s


def leads_on(road_graph, closed, first, last):
    """Tell whether turns lead from an edge to another, by looking at all of them."""
    costs = MODE_COSTS["auto"]
    usable = costs.find_usable(road_graph)
    usable[closed] = False
    turns = find_turns(road_graph, usable, costs.access, restricted=True)
    following = {}
    for before, after in zip(turns.origin.tolist(), turns.destination.tolist(), strict=True):
        following.setdefault(before, []).append(after)
    seen, todo = {first}, [first]
    while todo:
        for edge in following.get(todo.pop(), ()):
            if edge not in seen:
                seen.add(edge)
                todo.append(edge)
    return last in seen


def test_an_edge_is_closed_by_its_id(data, tmp_path, roads, engine):
    road_graph, _ = roads
    before = find_routes(engine, PAIR, "auto")[0]
    facts = engine.tables.find("auto").facts
    edges = before.ways[0].edges.tolist()
    outcomes = set()
    for place in (3, len(edges) // 2):  # on the only street out of the square; in the midst of town
        row = f"{facts.read(edges[place]).edge_id},0"
        import_speeds(data, write(tmp_path, row, header="edge_id,speed_kmh"))
        is_detour = leads_on(road_graph, edges[place], edges[0], edges[-1])
        outcomes.add(is_detour)
        after = find_routes(open_with_speeds(data), PAIR, "auto")[0]
        taken = after.ways[0].edges.tolist()
        assert edges[place] not in taken
        if is_detour:
            assert after.duration_s > before.duration_s
        else:  # it begins on a road from which ways lead on
            assert leads_on(road_graph, edges[place], taken[0], edges[-1])
    assert outcomes == {True, False}


def test_positions_go_to_roads_that_are_open(data, tmp_path, roads, engine):
    _, way_ids = roads
    before = find_nearest(engine, *PALACE, "auto")[0]
    import_speeds(data, write(tmp_path, f"{before.way_id},,0,"))
    own = open_with_speeds(data)
    after = find_nearest(own, *PALACE, "auto")[0]
    assert after.way_id != before.way_id
    assert after.distance_m >= before.distance_m
    route = find_routes(own, np.array([PALACE, STADIUM]), "auto")[0]
    assert before.way_id not in way_ids[route.ways[0].edges]
    assert find_nearest(own, *PALACE, "foot")[0] == find_nearest(engine, *PALACE, "foot")[0]


def test_speeds_of_another_version_are_not_used(data, tmp_path, roads, engine, caplog):
    import_speeds(data, write_all(tmp_path, roads, "auto", 5))
    folder = find_own_speeds(data, (data / "current").resolve().name)
    meta = json.loads((folder / "speeds.json").read_text())
    (folder / "speeds.json").write_text(json.dumps(meta | {"format": 0}))
    usual = find_routes(engine, PAIR, "auto")[0]
    assert find_routes(open_with_speeds(data), PAIR, "auto")[0].duration_s == usual.duration_s
    assert "Import them again" in caplog.text
    result = CliRunner().invoke(build_app(["speeds"]), ["speeds", "status", "--data", str(data)])
    assert result.exit_code == 1
    assert "import them again" in " ".join(result.output.split())


@pytest.mark.parametrize("name", ["speeds.json", "auto"])
def test_a_damaged_set_leaves_routes_at_the_speeds_of_the_map(
    data, tmp_path, roads, engine, caplog, name
):
    import_speeds(data, write_all(tmp_path, roads, "auto", 5))
    folder = find_own_speeds(data, (data / "current").resolve().name)
    (folder / name).rename(tmp_path / "gone")
    usual = find_routes(engine, PAIR, "auto")[0]
    assert find_routes(open_with_speeds(data), PAIR, "auto")[0].duration_s == usual.duration_s
    assert "own speeds are not used" in caplog.text
    assert remove_speeds(data)


def test_where_all_is_closed_there_is_no_way(data, tmp_path, roads):
    with pytest.raises(MapyardError, match="all roads of mode auto would be closed"):
        import_speeds(data, write_all(tmp_path, roads, "auto", 0))
    assert find_own_speeds(data, (data / "current").resolve().name) is None
    file = write_all(tmp_path, roads, "auto", 0)
    # All but one road: some other that is not near by.
    header, *rows = file.read_text().splitlines()
    import_speeds(data, write(tmp_path, *rows[1:], header=header))
    with pytest.raises((NoRoad, NoRoute)):
        find_routes(open_with_speeds(data), PAIR, "auto")


@pytest.mark.parametrize(
    "options",
    [
        {"alternatives": 1}, {"exclude": ["ferry"]}, {"options": CostingOptions(shortest=True)},
        {"stops": [Stop(side="same"), Stop()]}, {"avoid_points": np.array([PALACE])},
    ],
)  # fmt: skip
def test_what_only_the_engine_answers_is_refused(data, tmp_path, roads, options):
    import_speeds(data, write_all(tmp_path, roads, "auto", 20))
    engine = open_with_speeds(data)
    with pytest.raises(OwnSpeedsOn, match="own speeds are on for mode auto"):
        find_routes(engine, PAIR, "auto", **options)
    assert find_routes(engine, PAIR, "foot", alternatives=1)  # no own speeds there
    assert find_routes(engine, PAIR, "truck")


def test_an_open_map_notices(data, tmp_path, roads):
    with mapyard.open(data) as opened:

        def measure_s():
            return opened.route(CASINO, STADIUM, mode="auto").duration_s

        usual = measure_s()
        import_speeds(data, write_all(tmp_path, roads, "auto", 5))
        assert measure_s() > 2 * usual
        assert remove_speeds(data)
        assert measure_s() == usual
    assert not remove_speeds(data)


def test_an_update_carries_rows_of_ways_over(data, tmp_path, roads, caplog):
    road_graph, way_ids = roads
    way = int(way_ids[np.flatnonzero(MODE_COSTS["auto"].find_usable(road_graph))[0]])
    import_speeds(
        data, write(tmp_path, f"{way},,7", "99999999999,,7", header="way_id,edge_id,speed_kmh"),
        skip_unknown=True,
    )  # fmt: skip
    first = (data / "current").resolve()
    second = first.with_name("2099-01-01T000000Z-abcdef")
    shutil.copytree(first, second)
    carry_over(data, first.name, second)
    found = list_speeds(data)
    assert found[second.name][1] == found[first.name][1]
    assert found[second.name][0] != found[first.name][0]
    # A dataset without these roads has none, which the log tells.
    shutil.rmtree(second / "routing")
    (data / "speeds" / second.name).unlink()
    carry_over(data, first.name, second)
    assert find_own_speeds(data, second.name) is None
    assert "own speeds are off" in caplog.text


def measure_s(data, mode):
    return find_routes(open_with_speeds(data), PAIR, mode)[0].duration_s


def find_set(data):
    return find_own_speeds(data, (data / "current").resolve().name)


def test_other_modes_keep_their_speeds(data, tmp_path, roads, engine):
    import_speeds(data, write_all(tmp_path, roads, "auto", 5))
    first, slow_s = find_set(data), measure_s(data, "auto")
    done = import_speeds(data, write_all(tmp_path, roads, "foot", 2))
    assert list(done.modes) == ["foot"]
    folder = find_set(data) / "foot"
    assert done.size_bytes == sum(path.stat().st_size for path in folder.iterdir())
    second, walk_s = find_set(data), measure_s(data, "foot")
    assert next(iter(list_speeds(data).values()))[1].keys() == {"auto", "foot"}
    assert measure_s(data, "auto") == slow_s
    arrays = "strict-up.npy"
    assert (first / "auto" / arrays).samefile(second / "auto" / arrays)  # not prepared again
    import_speeds(data, write_all(tmp_path, roads, "auto", 50))
    assert measure_s(data, "auto") < slow_s
    assert measure_s(data, "foot") == walk_s
    assert not remove_speeds(data, ["bicycle"])
    assert remove_speeds(data, ["auto"])
    assert measure_s(data, "auto") == find_routes(engine, PAIR, "auto")[0].duration_s
    assert measure_s(data, "foot") == walk_s
    assert remove_speeds(data, ["foot"])
    assert find_set(data) is None


def test_speeds_of_another_version_are_prepared_again_beside_new_ones(data, tmp_path, roads):
    rows = [*write_all(tmp_path, roads, "auto", 5).read_text().splitlines()[1:], "77777777,,5,auto"]
    import_speeds(data, write(tmp_path, *rows), skip_unknown=True)
    slow_s = measure_s(data, "auto")
    meta = json.loads((find_set(data) / "speeds.json").read_text())
    (find_set(data) / "speeds.json").write_text(json.dumps(meta | {"format": 0}))
    done = import_speeds(data, write_all(tmp_path, roads, "foot", 2))
    assert done.modes.keys() == {"auto", "foot"}
    assert measure_s(data, "auto") == slow_s


def close_an_edge(data, tmp_path, roads, engine):
    """Import a row of an edge and one of a way; return the edge's id."""
    before = find_routes(engine, PAIR, "auto")[0]
    edge = before.ways[0].edges.tolist()[len(before.ways[0].edges) // 2]
    ids = roads[0].edge_ids
    edge_id = ids.make_id(*ids.locate(edge))
    walked = roads[1][MODE_COSTS["foot"].find_usable(roads[0])]
    rows = [f",{edge_id},0,auto", f"{walked[0]},,3,foot"]
    import_speeds(data, write(tmp_path, *rows, header="way_id,edge_id,speed_kmh,mode"))
    return edge_id


def test_an_update_that_keeps_the_roads_keeps_all_rows(data, tmp_path, roads, engine):
    close_an_edge(data, tmp_path, roads, engine)
    first = (data / "current").resolve()
    second = first.with_name("2099-01-01T000000Z-abcdef")
    shutil.copytree(first, second)
    carry_over(data, first.name, second)
    found = list_speeds(data)
    assert found[second.name][1] == found[first.name][1]
    old, new = (found[one.name][0] / "auto" / "strict-up.npy" for one in (first, second))
    assert old.samefile(new)
    assert (found[second.name][0] / "speeds.csv").read_text().count(",auto") == 1


def test_an_update_finds_edges_again_by_their_way_and_their_ends(
    data, tmp_path, roads, engine, caplog
):
    edge_id = close_an_edge(data, tmp_path, roads, engine)
    detour_s = measure_s(data, "auto")
    first = (data / "current").resolve()
    second = first.with_name("2099-01-01T000000Z-abcdef")
    shutil.copytree(first, second)
    with (second / "routing" / "tiles.tar").open("ab") as file:
        file.write(bytes(10_240))  # other tiles, if with the same roads
    carry_over(data, first.name, second)
    folder, modes = list_speeds(data)[second.name]
    assert modes["auto"].closed == 1
    assert f",{edge_id},,0,auto" in (folder / "speeds.csv").read_text()
    mine = open_routing(second / "routing", find_own_speeds(data, second.name))
    assert find_routes(mine, PAIR, "auto")[0].duration_s == detour_s


def test_edges_get_the_ids_of_another_graph():
    """The second graph has the edges in another order, and one of them ends elsewhere."""

    def make(order, moved=0.0):
        lon = np.array([7.0, 7.1, 7.2, 7.3 + moved])
        ends = [(0, 1), (1, 2), (2, 3), (1, 0), (1, 2)]
        start, end = np.array([ends[k] for k in order]).T
        graph = SimpleNamespace(
            lon=lon,
            lat=np.zeros(4),
            start=start,
            end=end,
            edge_ids=EdgeIds(np.array([2]), np.array([0])),
            edges=SimpleNamespace(
                forward=np.array([1, 1, 1, 0, 1])[order],
                length_m=np.array([10, 20, 30, 10, 20])[order],
                shortcut=np.array([0, 0, 0, 0, 1])[order],
            ),
        )
        return graph, np.array([5, 5, 6, 5, 5])[order]

    old, old_ways = make([0, 1, 2, 3, 4])
    new, new_ways = make([4, 3, 2, 1, 0], moved=0.01)
    ids = [2 | k << 25 for k in (0, 1, 2, 3)] + [2 | 99 << 25, 77]
    count = len(ids)
    rows = SpeedRows(
        np.arange(count),
        np.array(ids),
        np.array([True] * 5 + [False]),
        np.zeros(count, np.int8),
        np.zeros(count, np.int8),
        np.full(count, 9.0),
    )
    keys = describe_edges(old, old_ways, old.edge_ids.find(rows.road[rows.is_edge]))
    assert keys[4] is None
    found = rename_edges(rows, keys, new, new_ways)
    # The third ends elsewhere, the fifth never was; the way stays as it is.
    assert found.road.tolist() == [2 | 4 << 25, 2 | 3 << 25, 2 | 1 << 25, 77]
    assert found.line.tolist() == [0, 1, 3, 5]


def test_rows_are_written_as_they_are_read(tmp_path):
    file = write(
        tmp_path, "5,,forward,30.5,auto,x", "5,,backward,0,auto,", ",70000000000,,12,foot,",
        "8,,both,250,bicycle,", header="way_id,edge_id,direction,speed_kmh,mode,note",
    )  # fmt: skip
    rows = read_speeds(file)
    write_speeds(tmp_path / "again.csv", rows)
    again = read_speeds(tmp_path / "again.csv")
    for name in ("road", "is_edge", "direction", "mode", "kmh"):
        assert getattr(rows, name).tolist() == getattr(again, name).tolist()


def test_edges_are_read_in_blocks(graph, roads, monkeypatch):
    road_graph, way_ids = roads
    usable = MODE_COSTS["auto"].find_usable(road_graph)
    ways = np.unique(way_ids[usable])[::3]
    count = len(ways)
    kinds = np.zeros(count, np.int8)
    rows = SpeedRows(
        np.arange(count), ways, kinds == 1, kinds, kinds, np.linspace(1, 200, count)
    )  # fmt: skip
    monkeypatch.setattr(speeds_module, "_EDGES_AT_ONCE", 901)
    assert (find_way_ids(road_graph, graph / "tiles.tar") == way_ids).all()
    kmh = spread_speeds(road_graph, way_ids, usable, rows, "x").kmh
    expected = {int(way): speed for way, speed in zip(ways, rows.kmh, strict=True)}
    for edge in np.flatnonzero(usable).tolist():
        assert kmh[edge] == pytest.approx(expected.get(int(way_ids[edge]), np.nan), nan_ok=True)
    assert np.isnan(kmh[~usable]).all()


WRONG = [
    ("x1,,30,", "line 2: way_id 'x1' is not an id"),
    (",,30,", "line 2: needs a way_id"),
    ("5,up,30,", "line 2: direction 'up' is not forward, backward or both"),
    ("5,,fast,", "line 2: speed_kmh 'fast' is neither 0 (closed) nor from 1 to 250"),
    ("5,,nan,", "line 2: speed_kmh 'nan'"),
    ("5,,-3,", "line 2: speed_kmh '-3'"),
    ("5,,30,truck", "line 2: mode 'truck' has no own speeds"),
    ("999999999999,,30,", "--skip-unknown"),
]


@pytest.mark.parametrize(("row", "said"), WRONG)
def test_wrong_rows_are_told_by_line_and_change_nothing(data, tmp_path, roads, row, said):
    import_speeds(data, write_all(tmp_path, roads, "foot", 3))
    before = find_own_speeds(data, (data / "current").resolve().name)
    with pytest.raises(WrongSpeeds) as caught:
        import_speeds(data, write(tmp_path, row))
    assert said in caught.value.message
    assert find_own_speeds(data, (data / "current").resolve().name) == before
    assert list((data / "speeds" / "sets").iterdir()) == [before]


def test_rows_that_disagree_are_told(data, tmp_path, roads):
    road_graph, way_ids = roads
    way = way_ids[np.flatnonzero(MODE_COSTS["auto"].find_usable(road_graph))[0]]
    with pytest.raises(WrongSpeeds) as caught:
        import_speeds(data, write(tmp_path, f"{way},,30,", f"{way},both,40,"))
    assert f"line 3: way {way} at 40 km/h, but line 2 says 30" in caught.value.message


def test_the_command(data, tmp_path, roads):
    file = write_all(tmp_path, roads, "foot", 4)
    app, run = build_app(["speeds"]), CliRunner()
    for words, said in (
        (["status"], "own speeds are off"),
        (["list"], "No own speeds"),
        (["import", str(file)], "foot: "),
        (["status"], "own speeds are on"),
        (["list"], "foot"),
        (["remove", "--mode", "auto"], "off already for auto"),
        (["remove"], "own speeds are off"),
        (["remove"], "off already"),
    ):
        result = run.invoke(app, ["speeds", *words, "--data", str(data)])
        assert result.exit_code == 0, result.output
        assert said in result.output
