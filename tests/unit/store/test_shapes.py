"""Geometry of elements from small hand-made files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from mapyard.geo.bbox import Bbox
from mapyard.osm.source import prepare_source
from mapyard.store.reader import Store, open_store
from mapyard.store.writer import write_store
from osm_files import EXAMPLES, square, write_osm

Open = Callable[..., tuple[Store, dict[str, Any]]]
NODE, WAY, RELATION = 0, 1, 2


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def build(*args: object, **kwargs: object) -> tuple[Store, dict[str, Any]]:
        source = tmp_path / "source.osm.pbf"
        prepare_source([write_osm(tmp_path / "map.osm", *args, **kwargs)], source)
        info = write_store(tmp_path / "elements", source)
        return open_store(tmp_path / "elements"), info

    return build


def shape(store: Store, kind: int, osm_id: int) -> Any:
    return store.geometries(np.array([store.find_row(kind, osm_id)]))[0]


def is_tainted(store: Store, kind: int, osm_id: int) -> bool:
    return bool(store.is_tainted(np.array([store.find_row(kind, osm_id)]))[0])


def test_lines_polygons_and_points(opened: Open) -> None:
    ring = [1, 2, 3, 4, 1]
    store, _ = opened(
        {**square(1, 0, 0, 1), 9: (0.5, 0.5, {"amenity": "bench"})},
        {
            1: (ring, {"building": "yes"}),
            2: (ring, {"highway": "residential"}),
            3: (ring, {"building": "yes", "area": "no"}),
            4: (ring, {"highway": "pedestrian", "area": "yes"}),
            5: ([1, 2, 3], {"building": "yes"}),
        },
    )
    assert shape(store, NODE, 9).equals(shapely.Point(0.5, 0.5))
    assert shape(store, WAY, 1).equals(shapely.box(0, 0, 1, 1))
    assert shape(store, WAY, 2).geom_type == "LineString"
    assert shape(store, WAY, 3).geom_type == "LineString"
    assert shape(store, WAY, 4).geom_type == "Polygon"
    assert shape(store, WAY, 5).geom_type == "LineString"
    assert not is_tainted(store, WAY, 1)


def test_clipped_ways_keep_what_is_there_and_are_tainted(opened: Open) -> None:
    store, info = opened(
        square(1, 0, 0, 1),
        {
            1: ([1, 2, 99], {"highway": "path"}),
            2: ([1, 2, 99, 4, 1], {"building": "yes"}),
            3: ([1, 99], {"highway": "path"}),
            4: ([98, 99], {"highway": "path"}),
        },
    )
    assert shape(store, WAY, 1).equals(shapely.LineString([(0, 0), (1, 0)]))
    assert shape(store, WAY, 2).geom_type == "LineString"
    assert shape(store, WAY, 3).equals(shapely.Point(0, 0))
    assert shape(store, WAY, 4) is None
    assert all(is_tainted(store, WAY, i) for i in (1, 2, 3, 4))
    assert ("way/2", "") in info["problem_ids"]["area way with missing nodes"]
    way = store.find_row(WAY, 2)
    assert store.node_ids(store.way_nodes(np.array([way])).values).tolist() == [1, 2, 99, 4, 1]
    assert store.find_row(WAY, 4) not in store.search_box(Bbox(-180, -90, 180, 90))


def test_a_self_crossing_building_is_repaired_and_reported(opened: Open) -> None:
    store, info = opened(
        {1: (0, 0), 2: (2, 2), 3: (2, 0), 4: (0, 2)}, {1: ([1, 2, 3, 4, 1], {"building": "yes"})}
    )
    result = shape(store, WAY, 1)
    assert shapely.is_valid(result)
    assert result.area == pytest.approx(2)
    assert info["problem_ids"]["area way repaired"][0][0] == "way/1"


def test_an_area_way_that_encloses_nothing_is_a_tainted_line(opened: Open) -> None:
    store, _ = opened({1: (0, 0), 2: (1, 0), 3: (2, 0)}, {1: ([1, 2, 3, 1], {"building": "yes"})})
    assert shape(store, WAY, 1).geom_type == "LineString"
    assert is_tainted(store, WAY, 1)


def test_old_style_tags_stay_on_the_way_and_the_relation_has_the_polygon(opened: Open) -> None:
    store, _ = opened(
        {**square(1, 0, 0, 4), **square(11, 1, 1, 1)},
        {1: ([1, 2, 3, 4, 1], {"natural": "water"}), 2: ([11, 12, 13, 14, 11], {})},
        {1: ([("way", 1, "outer"), ("way", 2, "inner")], {"type": "multipolygon"})},
    )
    assert shape(store, RELATION, 1).area == pytest.approx(15)
    assert store.tags(store.find_row(WAY, 1)) == {"natural": "water"}
    assert store.tags(store.find_row(RELATION, 1)) == {"type": "multipolygon"}


def test_wrong_and_missing_roles_do_not_matter(opened: Open) -> None:
    store, _ = opened(
        {**square(1, 0, 0, 4), **square(11, 1, 1, 1)},
        {1: ([1, 2, 3, 4, 1], {}), 2: ([11, 12, 13, 14, 11], {})},
        {
            1: ([("way", 1, ""), ("way", 2, "outer")], {"type": "multipolygon"}),
            2: ([("way", 1, "inner"), ("way", 2, "nonsense")], {"type": "boundary"}),
        },
    )
    for osm_id in (1, 2):
        assert shape(store, RELATION, osm_id).area == pytest.approx(15)


def test_a_boundary_that_is_cut_off_falls_back_to_lines(opened: Open) -> None:
    store, info = opened(
        square(1, 0, 0, 4),
        {1: ([1, 2, 3], {})},
        {1: ([("way", 1, "outer"), ("way", 77, "outer")], {"type": "boundary"})},
    )
    assert shape(store, RELATION, 1).geom_type == "MultiLineString"
    assert is_tainted(store, RELATION, 1)
    assert info["problem_ids"]["area relation not assembled"] == [
        ("relation/1", "member ways or nodes lie outside the extract")
    ]


def test_a_missing_hole_leaves_a_tainted_polygon(opened: Open) -> None:
    store, _ = opened(
        square(1, 0, 0, 4),
        {1: ([1, 2, 3, 4, 1], {})},
        {1: ([("way", 1, "outer"), ("way", 77, "inner")], {"type": "multipolygon"})},
    )
    assert shape(store, RELATION, 1).equals(shapely.box(0, 0, 4, 4))
    assert is_tainted(store, RELATION, 1)


def test_routes_superroutes_and_sets_of_points(opened: Open) -> None:
    store, _ = opened(
        square(1, 0, 0, 4),
        {1: ([1, 2], {"highway": "path"}), 2: ([3, 4], {"highway": "path"})},
        {
            1: ([("way", 1, ""), ("way", 2, ""), ("node", 1, "stop")], {"type": "route"}),
            2: ([("relation", 1, "")], {"type": "superroute"}),
            3: ([("relation", 3, ""), ("relation", 2, "")], {"type": "superroute"}),
            4: ([("node", 1, ""), ("node", 3, "")], {"type": "site"}),
            5: ([("node", 99, "")], {"type": "site"}),
            6: ([], {"type": "site"}),
        },
    )
    lines = shapely.MultiLineString([[(0, 0), (4, 0)], [(4, 4), (0, 4)]])
    for osm_id in (1, 2, 3):
        assert shape(store, RELATION, osm_id).equals(lines)
    assert shape(store, RELATION, 4).equals(shapely.MultiPoint([(0, 0), (4, 4)]))
    assert shape(store, RELATION, 5) is None
    assert shape(store, RELATION, 6) is None
    found = store.search_box(Bbox(3.9, 3.9, 4.1, 4.1))
    assert {store.name_of(row) for row in found.tolist()} == {
        "way/2", "relation/1", "relation/2", "relation/3", "relation/4",
    }  # fmt: skip


def test_across_the_antimeridian(opened: Open) -> None:
    nodes = {1: (179, 0), 2: (-179, 0), 3: (-179, 1), 4: (179, 1)}
    store, _ = opened(
        nodes,
        {
            1: ([1, 2], {"route": "ferry"}),
            2: ([1, 2, 3, 4, 1], {"natural": "water"}),
        },
        {
            1: ([("way", 1, "")], {"type": "route"}),
            2: ([("way", 2, "outer")], {"type": "multipolygon"}),
        },
    )
    line = shapely.MultiLineString([[(179, 0), (180, 0)], [(-180, 0), (-179, 0)]])
    area = shapely.MultiPolygon([shapely.box(179, 0, 180, 1), shapely.box(-180, 0, -179, 1)])
    assert shape(store, WAY, 1).equals(line)
    assert shape(store, WAY, 2).equals(area)
    assert shape(store, RELATION, 1).equals(line)
    assert shape(store, RELATION, 2).equals(area)
    for box in (Bbox(179.5, -1, -179.5, 2), Bbox(179.2, -1, 179.8, 2)):
        assert len(store.search_box(box)) == 4


def test_tags_of_all_kinds_of_text(opened: Open) -> None:
    tags = {"name": 'Café "Zum Ä" \\ \t', "name:ar": "مقهى", "@id": "x", "a,b{}": "}{", "empty": ""}
    store, _ = opened({1: (0, 0, tags), 2: (1, 1)})
    assert store.tags(store.find_row(NODE, 1)) == tags
    assert store.tags(store.find_row(NODE, 2)) == {}
    assert store.find_kv("name:ar", "مقهى") >= 0
    assert store.rows_with_key("@id").tolist() == [store.find_row(NODE, 1)]


def test_users_and_metadata(opened: Open) -> None:
    attributes = ' version="3" timestamp="2024-01-02T03:04:05Z" changeset="7" uid="42" user="Zoë"'
    store, _ = opened({1: (0, 0)}, attributes=attributes)
    meta = store.meta(np.array([0]))
    assert meta is not None
    assert (meta.version[0], meta.timestamp[0], meta.changeset[0]) == (3, 1704164645, 7)
    ids, names = store.users
    assert (ids[meta.user[0]], names[meta.user[0]]) == (42, "Zoë")
    assert store.has_users


def test_without_metadata(opened: Open) -> None:
    store, _ = opened({1: (0, 0)}, attributes="")
    assert not store.has_metadata
    assert store.meta(np.array([0])) is None


def test_every_area_of_monaco_is_valid_and_equals_osmium(monaco_store: Store) -> None:
    import osmium

    store = monaco_store
    rows = np.arange(store.row_count)
    assert shapely.is_valid(store.geometries(rows[store.is_area(rows)])).all()
    factory = osmium.geom.WKBFactory()
    compared = 0
    path = str(EXAMPLES / "monaco.osm.pbf")
    for item in osmium.FileProcessor(path).with_areas():
        if not item.is_area():
            continue
        kind = WAY if item.from_way() else RELATION
        row = store.find_row(kind, item.orig_id())
        if store.is_area(np.array([row]))[0]:
            expected = shapely.from_wkb(bytes.fromhex(factory.create_multipolygon(item)))
            assert store.geometries(np.array([row]))[0].equals(expected), store.name_of(row)
            compared += 1
        else:
            assert kind == WAY, f"osmium assembles {store.name_of(row)}"
    assert compared > 2_000
