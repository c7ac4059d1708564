"""Boxes, distances and polygons where they are hard: at the antimeridian, with broken data."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from mapyard.deadline import Cancelled, Deadline, no_deadline
from mapyard.errors import Timeout, TooLarge, Unsupported
from mapyard.osm.source import prepare_source
from mapyard.overpass.engine import run_text
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.space import around
from mapyard.overpass.space.sphere import (
    distance_m,
    point_segment_m,
    segment_segment_m,
    unit_vectors,
)
from mapyard.overpass.write.ordering import order_rows
from mapyard.overpass.write.osmjson import write_document
from mapyard.store.reader import Store, open_store
from mapyard.store.writer import write_store
from osm_files import square, write_osm

Open = Callable[..., Store]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def build(*args: object, **kwargs: object) -> Store:
        source = tmp_path / "source.osm.pbf"
        prepare_source([write_osm(tmp_path / "map.osm", *args, **kwargs)], source)
        write_store(tmp_path / "elements", source)
        return open_store(tmp_path / "elements")

    return build


def find(store: Store, query: str) -> list[str]:
    result = run_text(store, query)
    return [
        store.name_of(row)
        for _, found in result.outs
        for row in [*found.rows.tolist(), *found.areas.tolist()]
    ]


# ---- the antimeridian


@pytest.fixture
def fiji(opened: Open) -> Store:
    nodes = {
        1: (179.9, 52.0, {"place": "islet"}), 2: (-179.9, 52.0, {"place": "islet"}),
        3: (0.0, 52.0, {"place": "town"}), 4: (179.99999, 52.1), 5: (-179.99999, 52.1),
    }  # fmt: skip
    ways = {10: ([1, 2], {"route": "ferry"}), 11: ([3, 1], {"highway": "track"})}
    relations = {20: ([("way", 10, ""), ("node", 5, "stop")], {"type": "route"})}
    return opened(nodes, ways, relations)


def test_a_box_over_the_antimeridian(fiji: Store) -> None:
    assert find(fiji, "nwr(50,175,55,-175);out;") == [
        "node/1", "node/2", "node/4", "node/5", "way/10", "way/11", "relation/20",
    ]  # fmt: skip


def test_a_line_over_the_antimeridian_is_not_all_over_the_world(fiji: Store) -> None:
    assert find(fiji, "way(50,-10,55,10);out;") == ["way/11"]
    assert find(fiji, 'way(poly:"50 -10 50 10 55 10 55 -10");out;') == ["way/11"]
    assert find(fiji, "way(around:1000,52,-20);out;") == []


def test_a_polygon_over_the_antimeridian(fiji: Store) -> None:
    poly = 'nw(poly:"51 179.5 51 -179.5 53 -179.5 53 179.5");out;'
    assert find(fiji, poly) == ["node/1", "node/2", "node/4", "node/5", "way/10", "way/11"]


def test_around_reaches_over_the_antimeridian(fiji: Store) -> None:
    assert find(fiji, "node(around:20000,52,179.9);out;") == [
        "node/1",
        "node/2",
        "node/4",
        "node/5",
    ]
    assert find(fiji, "node(4);node(around:5);out;") == ["node/4", "node/5"]


# ---- distances


def test_distances_between_arcs() -> None:
    a0, a1 = unit_vectors([0.0], [0.0]), unit_vectors([1.0], [0.0])
    for point, expected in (((0.5, 0.1), 0.1), ((-0.2, 0.0), 0.2), ((1.0, -0.3), 0.3)):
        at = unit_vectors([point[0]], [point[1]])
        meters = point_segment_m(at, a0, a1)[0]
        assert meters == pytest.approx(expected * 1e7 / 90, rel=1e-6)
    b0, b1 = unit_vectors([0.5], [-1.0]), unit_vectors([0.5], [1.0])
    assert segment_segment_m(a0, a1, b0, b1)[0] == 0
    c0, c1 = unit_vectors([0.5], [0.2]), unit_vectors([0.5], [1.0])
    assert segment_segment_m(a0, a1, c0, c1)[0] == pytest.approx(0.2 * 1e7 / 90, rel=1e-6)
    assert distance_m(0, 0, 0, 90) == pytest.approx(1e7)


@pytest.mark.parametrize("lon", [9.5, 179.995])
@pytest.mark.parametrize("radius_m", [0.5, 40.0, 700.0])
def test_the_tree_finds_what_comparing_each_with_each_finds(lon: float, radius_m: float) -> None:
    rng = np.random.default_rng(7)

    def pieces(count: int) -> Any:
        start = rng.normal((lon, 47.1), 0.01, (count, 2))
        end = start + rng.normal(0, 0.0005, (count, 2))
        end[::3] = start[::3]
        both = np.concatenate([start, end], axis=1)
        both[:, ::2] = (both[:, ::2] + 180) % 360 - 180
        both = np.rint(both * 1e7).astype(np.int32)
        return both[np.abs(both[:, 0].astype(np.int64) - both[:, 2]) < 1_800_000_000]

    near, targets = pieces(400), pieces(300)
    expected = around._direct(near, targets, radius_m, Budget(no_deadline()))
    found = around._by_tree(near, targets, radius_m, Budget(no_deadline()))
    assert (found == expected).all()
    assert 0 < expected.sum() < len(near) or radius_m != 40.0


# ---- broken and unusual data


def test_members_that_are_no_geometry_still_have_a_place(opened: Open) -> None:
    nodes = {**square(1, 0, 0, 1), 9: (5.0, 5.0, {"place": "label"})}
    relations = {
        20: ([("way", 10, "outer"), ("node", 9, "label")], {"type": "multipolygon", "a": "b"}),
        21: ([("relation", 20, ""), ("relation", 21, "")], {"type": "collection"}),
    }
    store = opened(nodes, {10: ([1, 2, 3, 4, 1], {})}, relations)
    assert find(store, "rel(4,4,6,6);out;") == ["relation/20"]
    assert find(store, "rel(around:10,5,5);out;") == ["relation/20"]
    assert find(store, "rel(0.4,0.4,0.6,0.6);out;") == []
    assert find(store, "rel(21);>>;out;") == [
        "node/1", "node/2", "node/3", "node/4", "node/9", "way/10", "relation/20", "relation/21",
    ]  # fmt: skip


def test_missing_nodes_are_kept_in_lists_and_null_in_geometry(opened: Open) -> None:
    store = opened({1: (1.0, 1.0), 2: (2.0, 1.0)}, {10: ([1, 99, 2], {"highway": "track"})})
    result = run_text(store, "way(10);out geom;")
    body = write_document(store, result.outs, "", Budget(no_deadline()))
    (way,) = orjson.loads(body)["elements"]
    assert way["nodes"] == [1, 99, 2]
    assert way["geometry"] == [{"lat": 1.0, "lon": 1.0}, None, {"lat": 1.0, "lon": 2.0}]
    assert find(store, "way(10);node(w);out;") == ["node/1", "node/2"]
    assert find(store, "way(10);node(w:2);out;") == []


def test_nodes_without_a_position_are_listed_without_one(opened: Open) -> None:
    store = opened({1: (1.0, 1.0, {"a": "b"}), 2: (100.0, 95.0, {"a": "c"})})
    result = run_text(store, "node[a];out;")
    body = write_document(store, result.outs, "", Budget(no_deadline()))
    first, second = orjson.loads(body)["elements"]
    assert list(first) == ["type", "id", "lat", "lon", "tags"]
    assert list(second) == ["type", "id", "tags"]
    assert find(store, "node(-90,-180,90,180);out;") == ["node/1"]


def test_ways_that_touch_or_follow_the_border_are_outside(opened: Open) -> None:
    nodes = {**square(1, 0, 0, 1), 5: (2.0, 0.0), 6: (0.5, 0.5), 7: (1.0, 0.5), 8: (2.0, 0.5)}
    ways = {
        10: ([1, 2, 3, 4, 1], {"building": "yes"}), 11: ([1, 2], {"highway": "along"}),
        12: ([2, 5], {"highway": "touching"}), 13: ([6, 8], {"highway": "crossing"}),
        14: ([1, 3], {"highway": "diagonal"}), 15: ([7, 8], {"highway": "from the border"}),
    }  # fmt: skip
    store = opened(nodes, ways)
    assert find(store, "way(10);way(area)[highway];out;") == ["way/13", "way/14"]
    assert find(store, "way(10);node(area);out;") == [f"node/{i}" for i in (1, 2, 3, 4, 6, 7)]


def test_no_metadata_is_said(opened: Open) -> None:
    store = opened({1: (1.0, 1.0, {"a": "b"})}, attributes="")
    for query in ('node(newer:"2020-01-01");out;', "node[a](if:version()>1);out;"):
        with pytest.raises(Unsupported, match="metadata"):
            find(store, query)


def test_no_users_is_said(monaco_store: Store) -> None:
    for query in ('node(user:"x");out;', "node(uid:1);out;", "node[shop](if:uid()>1);out;"):
        with pytest.raises(Unsupported, match="user names"):
            find(monaco_store, query)


def test_an_area_that_holds_nothing_is_told(monaco_store: Store) -> None:
    result = run_text(monaco_store, 'area["name"="Atlantis"];node(area);out;')
    assert result.outs[0][1].size == 0
    assert "holds no area" in result.warnings[0]


def test_place_order_keeps_neighbors_together(monaco_store: Store) -> None:
    rows = monaco_store.rows_with_key("shop")
    ordered = order_rows(monaco_store, rows, "qt")
    assert sorted(ordered.tolist()) == rows.tolist()
    assert (np.diff(monaco_store.types(ordered)) >= 0).all()

    def total_m(nodes: Any) -> float:
        lon, lat = monaco_store.lon[nodes] / 1e7, monaco_store.lat[nodes] / 1e7
        return float(distance_m(lon[1:], lat[1:], lon[:-1], lat[:-1]).sum())

    nodes = ordered[ordered < monaco_store.way_start]
    assert total_m(nodes) < total_m(np.sort(nodes)) / 2


# ---- limits


def test_time_is_up_between_steps(monaco_store: Store) -> None:
    with pytest.raises(Timeout):
        run_text(monaco_store, "nwr[name];out;", deadline=Deadline(0.0))
    with pytest.raises(Timeout):
        run_text(monaco_store, "[timeout:0.000001];nwr[name];out;")


def test_a_client_that_leaves_stops_the_query(monaco_store: Store) -> None:
    deadline = no_deadline()
    threading.Timer(0.2, deadline.cancel).start()
    endless = "complete(1048576){" + "nwr(if:length()>=0);" * 50 + "make x a=1;};out;"
    with pytest.raises(Cancelled):
        run_text(monaco_store, endless * 20, deadline=deadline)


@pytest.mark.parametrize(
    "query",
    ["nwr(if:1);out;", "[bbox:43,7,44,8];way;>;out;", "nwr[name];convert x ::=::;out;",
     "node(around:5000,43.7,7.4);<<;>>;out;"],
)  # fmt: skip
def test_memory_is_bounded(monaco_store: Store, query: str) -> None:
    with pytest.raises(TooLarge) as caught:
        run_text(monaco_store, query, max_bytes=50_000)
    assert caught.value.details is not None
    assert caught.value.details["limit"] == 50_000


def test_the_query_lowers_limits_but_never_raises_them(monaco_store: Store) -> None:
    with pytest.raises(TooLarge):
        run_text(monaco_store, "[maxsize:10Gi];nwr(if:1);out;", max_bytes=50_000)
    deadline = Deadline(5.0)
    run_text(monaco_store, "[timeout:900];node(1);out;", deadline=deadline)
    assert deadline.limit_s == 5.0


def test_long_texts_are_refused(monaco_store: Store) -> None:
    with pytest.raises(TooLarge):
        run_text(monaco_store, "node(1);" * 200_000)


def test_complete_runs_once_more_than_it_says(opened: Open) -> None:
    nodes = {n: (n / 100, 0.0) for n in range(1, 7)}
    ways = {10 + n: ([n, n + 1], {"highway": "path"}) for n in range(1, 6)}
    store = opened(nodes, ways, {})
    query = "way(11);complete(1){node(w);way(bn);};out;"
    assert find(store, query) == ["way/11", "way/12", "way/13"]


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        ("node(10,10,11,11);out;", "outside of the data"),
        ("node(0.005,0.0,0.006,0.2);out;", ""),
        ("node(50,0.1,51,0.2);out;", "outside of the data"),
        ("[bbox:5,5,6,6];node;out;", "outside of the data"),
        ("node(around:10,7,7);out;", "outside of the data"),
        ("node.never;out;", ".never is never written"),
    ],
)
def test_what_is_hardly_meant_is_a_warning(opened: Open, query: str, warning: str) -> None:
    store = opened(square(1, 0, 0, 1), {10: ([1, 2, 3, 4, 1], {})}, {})
    warnings = " ".join(run_text(store, query).warnings)
    assert (warning in warnings) if warning else not warnings


def test_swapped_latitude_and_longitude_are_named(opened: Open) -> None:
    store = opened({1: (9.5, 47.1, {"a": "b"}), 2: (9.6, 47.2, {"a": "b"})}, {}, {})
    warnings = run_text(store, "node(9.4,47.0,9.7,47.3);out;").warnings
    assert "swapped" in warnings[0]
