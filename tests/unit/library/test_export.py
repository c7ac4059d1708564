"""Elements as files: each is read back by the library that people will read it with."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import geopandas
import osmium
import pyarrow.parquet
import pytest

import mapyard
from mapyard.errors import InvalidRequest, Timeout
from mapyard.library.map import Map


@pytest.fixture(scope="module")
def here(monaco: Path) -> Iterator[Map]:
    with mapyard.open(monaco) as source:
        yield source


def test_a_whole_extract_becomes_geoparquet(here: Map, tmp_path: Path) -> None:
    file = tmp_path / "monaco.parquet"
    told: list[int] = []
    count = here.export(file, progress=told.append)
    assert count == len(here.features()) == told[-1]
    frame = geopandas.read_parquet(file)
    assert len(frame) == count
    assert frame.crs.to_epsg() in (4326, None) or "CRS84" in str(frame.crs)
    hotel = frame[(frame.osm_type == "way") & (frame.osm_id == 94399684)].iloc[0]
    assert hotel["name"] == "Les Caravelles"
    assert dict(hotel.tags)["building"] == "hotel"
    assert hotel.geometry.equals(here.feature("way", 94399684).geometry)
    schema = pyarrow.parquet.read_schema(file)
    assert json.loads(schema.metadata[b"geo"])["primary_column"] == "geometry"


@pytest.mark.parametrize("extension", ["gpkg", "fgb"])
def test_what_qgis_reads(here: Map, tmp_path: Path, extension: str) -> None:
    file = tmp_path / f"cafes.{extension}"
    count = here.export(file, tags={"amenity": "cafe"})
    frame = geopandas.read_file(file)
    assert len(frame) == count > 10
    assert frame.crs.to_epsg() == 4326
    assert json.loads(frame.tags[0])["amenity"] == "cafe"
    assert sorted(frame.osm_id) == sorted(f["@id"] for f in here.features(tags={"amenity": "cafe"}))


def test_texts(here: Map, tmp_path: Path) -> None:
    found = here.features(tags={"amenity": "cafe"})
    for name in ("cafes.geojson", "cafes.ndjson", "cafes.csv"):
        assert here.export(tmp_path / name, tags={"amenity": "cafe"}) == len(found)
    loaded = json.loads((tmp_path / "cafes.geojson").read_text())
    assert [f["id"] for f in loaded["features"]] == [f.id for f in found]
    assert len((tmp_path / "cafes.ndjson").read_text().splitlines()) == len(found)
    with (tmp_path / "cafes.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(found)


def test_an_extract_has_all_that_its_elements_refer_to(here: Map, tmp_path: Path) -> None:
    file = tmp_path / "roads.osm.pbf"
    count = here.export(file, tags={"highway": "residential"})
    nodes: set[int] = set()
    ways, missing = 0, 0
    for element in osmium.FileProcessor(str(file)):
        if element.is_node():
            nodes.add(element.id)
        elif element.is_way() and element.tags.get("highway") == "residential":
            ways += 1
            missing += sum(ref.ref not in nodes for ref in element.nodes)
    assert (ways, missing) == (count, 0)


def test_nothing_partial_is_left(here: Map, tmp_path: Path) -> None:
    file = tmp_path / "all.parquet"
    file.write_text("the one before")
    with pytest.raises(Timeout):
        here.export(file, timeout=0.02)
    assert [p.name for p in tmp_path.iterdir()] == ["all.parquet"]
    assert file.read_text() == "the one before"


def test_a_name_that_tells_no_format(here: Map, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"\.parquet"):
        here.export(tmp_path / "x.docx")
    with pytest.raises(InvalidRequest, match="geoparquet"):
        here.export(tmp_path / "x.parquet", format="shapefile")


def test_what_an_extract_says_of_an_element_is_what_the_source_said(
    here: Map, tmp_path: Path
) -> None:
    def load(path: Path) -> dict[tuple[str, int], object]:
        found: dict[tuple[str, int], object] = {}
        for o in osmium.FileProcessor(str(path)):
            common = (dict(o.tags), o.version, o.timestamp, o.changeset, o.uid, o.user)
            body: object = None
            if o.is_node():
                body = (o.location.x, o.location.y)
            elif o.is_way():
                body = [node.ref for node in o.nodes]
            else:
                body = [(m.type, m.ref, m.role) for m in o.members]
            found[o.type_str(), o.id] = (common, body)
        return found

    file = tmp_path / "all.osm.pbf"
    here.export(file)
    source = load(here.settings.data / "current" / "source.osm.pbf")
    written = load(file)
    assert len(written) > 40_000
    assert all(source[key] == value for key, value in written.items())
    # Left out is only what nothing refers to and nobody has tagged.
    assert not any(source[key][0][0] for key in source.keys() - written.keys())  # type: ignore[index]
