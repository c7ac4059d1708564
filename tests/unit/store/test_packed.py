"""Shapes and texts that are stored packed, and nodes that are found by their ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest
import shapely

from mapyard.geo.bbox import Bbox
from mapyard.osm.elements import NODE, RELATION
from mapyard.osm.source import prepare_source
from mapyard.store.packed_heap import unpack
from mapyard.store.packed_shapes import pack_shape, read_shapes
from mapyard.store.reader import Store, open_store
from mapyard.store.writer import write_store
from osm_files import write_osm

SHAPES = [
    "POINT (9.1234567 47.7654321)",
    "MULTIPOINT (9 47, -180 90, 180 -90)",
    "LINESTRING (9 47, 9.0000001 47.0000001, -9 -47)",
    "MULTILINESTRING ((0 0, 1 1), (2 2, 3 3, 4 4))",
    "POLYGON ((0 0, 1 0, 1 1, 0 0))",
    "POLYGON ((0 0, 9 0, 9 9, 0 0), (1 0.5, 2 0.5, 2 1, 1 0.5), (3 1, 4 1, 4 2, 3 1))",
    "MULTIPOLYGON (((0 0, 9 0, 9 9, 0 0), (1 0.5, 2 0.5, 2 1, 1 0.5)), ((-5 5, -6 6, -5 6, -5 5)))",
    "MULTIPOLYGON (((10 10, 11 10, 11 11, 10 10)))",
    "LINESTRING (0.12345678 0, 1 1)",  # between two stored coordinates
    "LINESTRING (-180 -90, 180 90, -180 90)",  # further than a step may go
    "GEOMETRYCOLLECTION (POINT (0.5 0.25), LINESTRING (0 0.125, 1 1))",
]


def test_shapes_read_back_exactly_alone_and_together() -> None:
    shapes = [shapely.from_wkt(text) for text in SHAPES]
    packed = [unpack(pack_shape(shape)) for shape in shapes]
    assert shapely.equals_exact(read_shapes(packed), shapes, 0).all()
    for text, shape in zip(packed, shapes, strict=True):
        assert shapely.equals_exact(read_shapes([text])[0], shape, 0)
    assert len(read_shapes([])) == 0


def build(tmp_path: Path, *args: object) -> Store:
    source = write_osm(tmp_path / "in.osm", *args)
    prepare_source([source], tmp_path / "in.osm.pbf")
    write_store(tmp_path / "elements", tmp_path / "in.osm.pbf")
    return open_store(tmp_path / "elements")


@pytest.mark.parametrize("seed", range(5))
def test_nodes_in_boxes_are_all_those_that_a_scan_finds(tmp_path: Path, seed: int) -> None:
    # Tagged nodes, nodes of ways, nodes of relations only, and nodes of nothing.
    rng = np.random.default_rng(seed)
    nodes = {
        i: (*(rng.integers(-1_000, 1_000, 2) / 1e4).tolist(), {"a": "b"} if i % 7 == 0 else {})
        for i in range(1, 400)
    }
    ways = {
        i: (rng.integers(1, 430, int(rng.integers(1, 9))).tolist(), {"highway": "path"})
        for i in range(1, 30)
    }
    relations = {1: ([("n", 3, ""), ("n", 9_999, "")], {"type": "site"})}
    store = build(tmp_path, nodes, ways, relations)
    for x, y, size in rng.uniform(-0.1, 0.1, (40, 3)).tolist():
        box = Bbox(x, y, x + abs(size), y + abs(size))
        expected = [
            store.find_row(NODE, i)
            for i, (lon, lat, _) in nodes.items()
            if box.west <= lon <= box.east and box.south <= lat <= box.north
        ]
        assert store.search_nodes(box).tolist() == expected


def test_relations_that_share_ways_have_all_their_lines(tmp_path: Path) -> None:
    # Ways 1 to 6 of two nodes each; node 99 is missing, so way 6 is a single node.
    nodes = {i: (i / 10, 1.0) for i in range(1, 14)}
    ways = {i: ([2 * i, 2 * i + 1], {}) for i in range(1, 6)} | {6: ([12, 99], {})}
    routes = {1: [5, 1], 2: [1, 2, 3, 4, 5, 6], 3: [6], 4: [3, 3], 5: [2, 4]}
    store = build(
        tmp_path,
        nodes,
        ways,
        {
            number: ([("w", way, "") for way in members], {"type": "route"})
            for number, members in routes.items()
        },
    )
    for number, members in routes.items():
        row = store.find_row(RELATION, number)
        shape = store.geometries(np.array([row]))[0]
        written = orjson.loads(store.relation_geometry_json(row))
        lines = {(way, 2 * way / 10) for way in members if way != 6}
        if number == 3:
            continue
        assert {round(part.coords[0][0], 7) for part in shape.geoms} == {x for _, x in lines}
        assert sorted(line[0][0] for line in written["coordinates"]) == sorted(x for _, x in lines)
        assert [line[0][0] for line in written["coordinates"]] == [
            part.coords[0][0] for part in shape.geoms
        ]
        first, last = min(lines)[1], max(lines)[1] + 0.1
        assert store.boxes(np.array([row]))[0, [0, 2]].tolist() == [
            round(first * 1e7),
            round(last * 1e7),
        ]
    # A relation of one node of one way is no line.
    row = store.find_row(RELATION, 3)
    assert store.relation_geometry_json(row) == b"null"
    assert store.geometries(np.array([row]))[0] is None


def test_a_store_of_an_earlier_form_says_what_to_do(tmp_path: Path) -> None:
    store = build(tmp_path, {1: (1.0, 1.0)})
    (tmp_path / "elements" / "ids.npy").write_bytes(b"")
    with pytest.raises(Exception, match="build or import it again"):
        open_store(tmp_path / "elements")
    assert store.row_count == 1
