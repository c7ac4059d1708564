from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import osmium
import pytest
import shapely

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import Timeout
from mapyard.results.features import write_feature, write_features, write_tags
from mapyard.results.output import Output
from mapyard.store.reader import Store
from osm_files import EXAMPLES, square

MakeStore = Callable[..., Store]
NODE, WAY, RELATION = 0, 1, 2


def feature(store: Store, kind: int, osm_id: int, **output: Any) -> dict[str, Any]:
    rows = np.array([store.find_row(kind, osm_id)])
    read: dict[str, Any] = json.loads(write_features(store, rows, Output(**output))[0])
    return read


@pytest.fixture
def town(make_store: MakeStore) -> Store:
    return make_store(
        {
            **square(1, 7.0, 43.0, 0.01),
            9: (7.5, 43.5, {"amenity": "cafe", "name": 'Le "Café"\n', "@type": "x", "a": ',"@b'}),
            10: (7.6, 43.6),
        },
        {
            20: ([4, 3, 2, 1, 4], {"building": "yes"}),
            21: ([1, 2, 3], {"highway": "residential"}),
            22: ([1, 99], {"highway": "service"}),
        },
        {
            30: ([("way", 20, "outer")], {"type": "multipolygon", "landuse": "grass"}),
            31: ([("node", 777, "stop")], {"type": "route"}),
        },
        attributes=' version="3" timestamp="2024-02-03T04:05:06Z" changeset="77"'
        ' uid="5" user="Zoë"',
    )


def test_shape_of_a_feature(town: Store) -> None:
    read = feature(town, NODE, 9)
    assert list(read) == ["type", "id", "osm_id", "geometry", "properties"]
    assert (read["type"], read["id"], read["osm_id"]) == ("Feature", "node/9", 9)
    assert read["geometry"] == {"type": "Point", "coordinates": [7.5, 43.5]}
    assert read["properties"] == {
        "@type": "node", "@id": 9, "@@type": "x", "a": ',"@b', "amenity": "cafe",
        "name": 'Le "Café"\n',
    }  # fmt: skip


def test_untagged_node(town: Store) -> None:
    assert feature(town, NODE, 10)["properties"] == {"@type": "node", "@id": 10}


def test_areas_are_wound_counterclockwise(town: Store) -> None:
    for kind, osm_id in ((WAY, 20), (RELATION, 30)):
        geometry = feature(town, kind, osm_id)["geometry"]
        assert geometry["type"] == "Polygon"
        assert shapely.LinearRing(geometry["coordinates"][0]).is_ccw


def test_tainted_and_without_geometry(town: Store) -> None:
    assert feature(town, WAY, 22)["properties"]["@tainted"] is True
    nothing = feature(town, RELATION, 31)
    assert nothing["geometry"] is None
    assert nothing["properties"]["@tainted"] is True
    assert "@tainted" not in feature(town, WAY, 21)["properties"]


def test_meta(town: Store) -> None:
    properties = feature(town, WAY, 21, include=("meta",))["properties"]
    assert properties["@version"] == 3
    assert properties["@timestamp"] == "2024-02-03T04:05:06Z"
    assert properties["@changeset"] == 77
    assert properties["@user"] == "Zoë"
    assert properties["@uid"] == 5


def test_meta_of_a_dataset_without_metadata_is_left_out(make_store: MakeStore) -> None:
    store = make_store({1: (0, 0, {"a": "b"})}, attributes="")
    assert feature(store, NODE, 1, include=("meta",))["properties"] == {
        "@type": "node", "@id": 1, "a": "b",
    }  # fmt: skip


def test_fields_choose_tags(town: Store) -> None:
    properties = feature(town, NODE, 9, fields=["name", "shop", "@@type", "@id"])["properties"]
    assert properties == {"@type": "node", "@id": 9, "@@type": "x", "name": 'Le "Café"\n'}
    rows = np.array([town.find_row(NODE, 9)])
    assert json.loads(write_tags(town, rows, [])[0]) == {}


def test_box_and_center(town: Store) -> None:
    read = feature(town, WAY, 21, include=("bbox", "center"), geometry=False)
    assert read["geometry"] is None
    assert read["bbox"] == [7.0, 43.0, 7.01, 43.01]
    assert read["properties"]["@center"] == [7.005, 43.005]
    assert "bbox" not in feature(town, RELATION, 31, include=("bbox", "center"))


def test_box_across_the_antimeridian(make_store: MakeStore) -> None:
    store = make_store({1: (179.5, -10), 2: (-179, -11)}, {5: ([1, 2], {"route": "ferry"})})
    read = feature(store, WAY, 5, include=("bbox", "center"))
    assert read["geometry"]["type"] == "MultiLineString"
    assert read["bbox"] == [179.5, -11.0, -179.0, -10.0]
    assert read["properties"]["@center"] == [-179.75, -10.5]


def test_precision_applies_to_relations_too(town: Store) -> None:
    exact = feature(town, RELATION, 30)["geometry"]["coordinates"]
    rounded = feature(town, RELATION, 30, precision=1)["geometry"]["coordinates"]
    assert exact != rounded
    assert np.allclose(np.round(exact, 1), rounded)


def test_distances_and_extra_properties(town: Store) -> None:
    rows = np.array([town.find_row(NODE, 9), town.find_row(NODE, 10)])
    read = [
        json.loads(text)["properties"]
        for text in write_features(
            town, rows, distances_m=np.array([1.23456, 0.0]), extra=[b"", b'"score":2']
        )
    ]
    assert read[0]["distance_m"] == 1.23
    assert read[1] == {"@type": "node", "@id": 10, "distance_m": 0.0, "score": 2}


def test_every_node_and_way_of_monaco_is_written_as_pyosmium_reads_it(monaco_store: Store) -> None:
    store = monaco_store
    expected = {}
    processor = osmium.FileProcessor(str(EXAMPLES / "monaco.osm.pbf")).with_locations()
    for o in processor:
        if o.is_node() and len(o.tags):
            expected[f"node/{o.id}"] = (dict(o.tags), [(o.location.lon, o.location.lat)])
        elif o.is_way():
            line = [(n.location.lon, n.location.lat) for n in o.nodes if n.location.valid()]
            expected[f"way/{o.id}"] = (dict(o.tags), line)
    rows = store.listed[store.listed < store.relation_start]
    assert len(rows) == len(expected)
    for text in write_features(store, rows):
        read = json.loads(text)
        tags, positions = expected[read["id"]]
        properties = {k: v for k, v in read["properties"].items() if not k.startswith("@")}
        assert properties == tags
        geometry = read["geometry"]
        coordinates = np.array(
            [geometry["coordinates"]]
            if geometry["type"] == "Point"
            else geometry["coordinates"]
            if geometry["type"] == "LineString"
            else geometry["coordinates"][0]
        )
        if geometry["type"] == "Polygon":
            assert sorted(map(tuple, coordinates[1:])) == sorted(positions[1:])
        elif geometry["type"] in ("LineString", "Point"):
            assert (coordinates == positions).all()


def test_one_feature_has_the_same_bytes_as_in_a_list(monaco_store: Store) -> None:
    store = monaco_store
    nodes = np.arange(0, store.way_start, 11)
    rows = np.concatenate([nodes, np.arange(store.way_start, store.row_count)])
    listed = write_features(store, rows)
    assert [write_feature(store, row) for row in rows.tolist()] == listed


def test_short_lists_have_the_same_bytes_as_long_ones(monaco_store: Store) -> None:
    store = monaco_store
    # By id, so that nodes, ways and relations stand beside each other.
    rows = store.listed[::7].astype(np.int64)
    distances_m = np.arange(len(rows)) / 7
    listed = write_features(store, rows, distances_m=distances_m)
    assert b'"distance_m":0.14' in listed[1]
    for count in (1, 3, 10, 11):
        for start in range(0, len(rows) - count, 53):
            part = slice(start, start + count)
            few = write_features(store, rows[part], distances_m=distances_m[part])
            assert few == listed[part]


def test_long_ways_and_missing_nodes_have_the_same_bytes_alone(
    make_store: Callable[..., Store],
) -> None:
    turns = np.arange(1, 61) / 10
    around = zip(
        (7.0 + np.cos(turns) / 100).tolist(), (43.0 + np.sin(turns) / 100).tolist(), strict=True
    )
    ring = [*range(1, 61), 1]
    area = {"building": "yes"}
    store = make_store(
        nodes=dict(enumerate(around, start=1)),
        ways={
            1: (ring, area),
            2: (ring[::-1], area),
            3: (ring, {"highway": "footway"}),
            4: ([1, 2, 999, 3], {}),
            5: ([*range(1, 40), 999], {}),
            6: ([5, 9, 2, 5], area),
            7: ([5, 2, 9, 5], area),
            8: ([998, 999], {}),
        },
    )
    rows = np.arange(store.row_count)
    assert [write_feature(store, row) for row in rows.tolist()] == write_features(store, rows)
    rings = [json.loads(write_feature(store, store.find_row(WAY, i)))["geometry"] for i in (1, 2)]
    assert [shape["type"] for shape in rings] == ["Polygon", "Polygon"]
    for shape in rings:
        assert shapely.LinearRing(shape["coordinates"][0]).is_ccw


def test_nodes_off_the_globe_have_no_geometry(make_store: Callable[..., Store]) -> None:
    lost = {"name": "lost"}
    store = make_store(
        nodes={1: (7.0, 43.0, lost), 2: (7.0, 95.0, lost), 3: (7.1, 43.1)},
        ways={1: ([1, 2, 3], {})},
    )
    rows = np.arange(store.row_count)
    listed = write_features(store, np.tile(rows, 5))[: len(rows)]
    assert [json.loads(text)["geometry"] for text in listed] == [
        {"type": "Point", "coordinates": [7.0, 43.0]},
        None,
        {"type": "Point", "coordinates": [7.1, 43.1]},
        {"type": "LineString", "coordinates": [[7.0, 43.0], [7.1, 43.1]]},
    ]
    assert [write_feature(store, row) for row in rows.tolist()] == listed
    assert write_features(store, rows) == listed
    output = Output(include=("bbox", "center"), precision=5)
    assert "bbox" not in json.loads(write_features(store, rows[1:2], output)[0])
    boxes = store.boxes(rows)
    assert (boxes[:, 0] > boxes[:, 2]).tolist() == [False, True, False, False]
    assert store.geometries(rows)[1] is None


def test_a_deadline_ends_the_making_over_of_geometries(monaco_store: Store) -> None:
    rows = monaco_store.listed[:100].astype(np.int64)
    with pytest.raises(Timeout):
        write_features(monaco_store, rows, Output(buffer=100), deadline=Deadline(-1.0))
    assert len(write_features(monaco_store, rows, deadline=no_deadline())) == 100
