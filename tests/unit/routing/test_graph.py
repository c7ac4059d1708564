"""Building graphs: what the admin and time-zone databases hold, and odd input."""

import sqlite3
from contextlib import closing
from pathlib import Path

import osmium
import pytest
import shapely
from osmium.osm import mutable

from mapyard.builder.routing import find_bbox
from mapyard.geo.bbox import Bbox
from mapyard.osm.countries import iter_regions
from mapyard.routing.building.admins import build_admins, write_borders
from mapyard.routing.building.graph import build_graph
from mapyard.routing.building.timezones import (
    build_timezones,
    encode_spatialite,
    find_zones,
    read_links,
)
from mapyard.routing.building.tools import RoutingBuildFailed, run_tool
from mapyard.routing.config import make_build_config
from mapyard.routing.meta import GraphMeta
from osm_files import EXAMPLES

MONACO = Bbox(7.40, 43.72, 7.45, 43.76)


@pytest.fixture(scope="module")
def databases(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("databases")
    config = make_build_config(
        folder, admins=folder / "admins.sqlite", timezones=folder / "tz.sqlite", threads=2,
        memory_bytes=100_000_000,
    )  # fmt: skip
    assert config["mjolnir"]["concurrency"] == 2
    assert config["mjolnir"]["max_cache_size"] == 50_000_000
    import json

    path = folder / "valhalla.json"
    path.write_text(json.dumps(config))
    source = EXAMPLES / "monaco.osm.pbf"
    build_admins(path, source, folder / "admins.sqlite", MONACO, lambda line: None)
    build_timezones(folder / "tz.sqlite", folder / "admins.sqlite", MONACO)
    return folder


def test_countries_are_there_once_with_their_driving_side(databases):
    with closing(sqlite3.connect(databases / "admins.sqlite")) as db:
        rows = db.execute(
            "SELECT iso_code, drive_on_right, default_language FROM admins WHERE admin_level = 2"
        ).fetchall()
    codes = [code for code, _, _ in rows]
    assert sorted(codes) == sorted(set(codes))
    assert {"MC", "FR", "IT"} <= set(codes)
    assert all(right == 1 for _, right, _ in rows)
    assert not any(language and language.startswith("zxx") for _, _, language in rows)


def test_default_access_comes_from_the_country(databases):
    with closing(sqlite3.connect(databases / "admins.sqlite")) as db:
        found = db.execute("SELECT trunk FROM admin_access WHERE iso_code = 'FR'").fetchone()
    assert found is not None
    assert found[0] is not None


def test_time_zones_are_the_databases_own_names(databases):
    with closing(sqlite3.connect(databases / "tz.sqlite")) as db:
        names = {name for (name,) in db.execute("SELECT TZID FROM tz_world")}
        boxes = db.execute("SELECT count(*) FROM idx_tz_world_geom").fetchone()
    assert "Europe/Paris" in names
    assert "Europe/Monaco" not in names  # a link to Paris, which the engine does not know
    assert boxes[0] == len(find_zones(MONACO))


def test_links_lead_to_zones():
    links = read_links()
    assert links["Europe/Vaduz"] == "Europe/Zurich"
    assert "Europe/Zurich" not in links


def test_spatialite_blobs_have_frame_and_marks():
    square = shapely.MultiPolygon([shapely.box(1, 2, 3, 4)])
    blob = encode_spatialite(square)
    assert blob[:2] == b"\x00\x01"
    assert blob[38] == 0x7C
    assert blob[-1] == 0xFE
    # Without the marks it is well-known binary again.
    inner = b"\x01" + blob[39:-1].replace(b"\x69\x03", b"\x01\x03", 1)
    assert shapely.from_wkb(inner).equals(square)


def test_borders_are_complete_boundary_relations(tmp_path):
    path = tmp_path / "borders.osm.pbf"
    write_borders(path, iter_regions(MONACO))
    relations = [
        relation.tags["ISO3166-1:alpha2"]
        for relation in osmium.FileProcessor(str(path), osmium.osm.RELATION)
    ]
    assert "MC" in relations
    nodes = {node.id for node in osmium.FileProcessor(str(path), osmium.osm.NODE)}
    used = {ref.ref for way in osmium.FileProcessor(str(path), osmium.osm.WAY) for ref in way.nodes}
    assert used == nodes


def test_a_file_without_roads_gives_no_graph(tmp_path):
    path = tmp_path / "cafe.osm.pbf"
    with osmium.SimpleWriter(str(path)) as writer:
        writer.add_node(
            mutable.Node(id=1, location=(7.42, 43.73), tags={"amenity": "cafe"}, version=1)
        )
    assert build_graph(path, tmp_path / "routing", MONACO) is None
    assert not (tmp_path / "routing").exists()


def test_a_failing_tool_says_what_it_said(tmp_path):
    with pytest.raises(RoutingBuildFailed, match="valhalla_build_tiles failed with exit code"):
        run_tool("valhalla_build_tiles", ["-c", tmp_path / "none.json", "none.osm.pbf"], tmp_path)


def test_the_meta_file_comes_back(tmp_path):
    meta = GraphMeta("valhalla 3", 12, 2, has_slopes=True)
    meta.write(tmp_path)
    assert GraphMeta.read(tmp_path) == meta


def test_the_dataset_knows_its_graph(graph):
    meta = GraphMeta.read(graph)
    assert meta.edge_count > 10_000
    assert meta.timezone_count >= 1
    assert not (graph / "work").exists()


@pytest.mark.parametrize(
    ("lons", "expected"),
    [([9.47, 9.63], (9.47, 9.63)), ([179.5, -179.5, 179.9], (179.5, -179.5)), ([5.0], (5.0, 5.0))],
)
def test_boxes_go_over_the_antimeridian_where_that_is_shorter(lons, expected):
    import numpy as np

    lon = np.round(np.array(lons) * 1e7).astype(np.int32)
    box = find_bbox(lon, np.zeros_like(lon))
    assert (box.west, box.east) == expected
