"""Results round-trip through GeoPandas, pandas, polars and Arrow, and draw themselves."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import geopandas
import numpy as np
import orjson
import polars
import pyarrow
import pytest
import shapely

import mapyard
from mapyard.library.map import Map
from mapyard.library.results import tables
from mapyard.library.results.feature import Feature, Features
from mapyard.library.results.matrix import Matrix
from mapyard.library.results.tables import MissingPackage

FEATURES = Features(
    [
        {"type": "Feature", "id": "node/1", "geometry": {"type": "Point", "coordinates": [7, 43]},
         "properties": {"name": "Zoë", "n": 1, "mixed": "a", "list": [1, 2]}},
        b'{"type":"Feature","id":"way/2","geometry":{"type":"LineString","coordinates":'
        b'[[7.0,43.0],[7.5,43.5]]},"properties":{"n":2,"mixed":3,"id":"own"}}',
        {"type": "Feature", "geometry": None, "properties": {}},
    ],
    {"attribution": "me"},
)  # fmt: skip


@pytest.fixture(scope="module")
def here(monaco: Path) -> Any:
    with mapyard.open(monaco) as source:
        yield source


def test_a_feature_reads_like_a_mapping() -> None:
    first = FEATURES[0]
    assert (first["name"], first.get("none"), "n" in first, first.id) == (
        "Zoë",
        None,
        True,
        "node/1",
    )
    assert first.lonlat == (7, 43)
    assert FEATURES[1].lonlat == (7.25, 43.25)
    assert shapely.geometry.shape(first).equals(shapely.Point(7, 43))
    with pytest.raises(ValueError, match="no geometry"):
        _ = FEATURES[2].lonlat
    with pytest.raises(KeyError):
        _ = first["none"]


def test_features_are_a_sequence() -> None:
    assert len(FEATURES) == 3
    assert FEATURES[-1].geometry is None
    assert [f.id for f in FEATURES[::-1]] == [None, "way/2", "node/1"]
    assert not Features()
    assert FEATURES.to_geojson()["attribution"] == "me"
    with pytest.raises(IndexError):
        _ = FEATURES[3]


def test_geopandas_and_back() -> None:
    frame = FEATURES.to_geopandas()
    assert frame.crs.to_epsg() == 4326
    assert list(frame["name"])[:1] == ["Zoë"]
    assert list(frame["id"])[:2] == ["node/1", "way/2"]
    assert list(frame["id_"])[1] == "own"
    assert frame.geometry[1].equals(FEATURES[1].geometry)
    back = Features(orjson.loads(frame.to_json())["features"])
    assert [f.geometry for f in back][:2] == [f.geometry for f in FEATURES][:2]
    assert geopandas.GeoDataFrame.from_features(FEATURES[:2].to_geojson()).shape[0] == 2


def test_arrow_polars_and_pandas() -> None:
    table = FEATURES.to_arrow()
    assert table.column("mixed").to_pylist() == ["a", "3", None]
    assert table.column("list").to_pylist() == ["[1,2]", None, None]
    assert table.column("n").type == pyarrow.int64()
    assert table.schema.field("geometry").metadata[b"ARROW:extension:name"] == b"geoarrow.wkb"
    shapes = shapely.from_wkb(np.array(table.column("geometry").to_pylist(), object))
    assert shapes[0].equals(shapely.Point(7, 43))
    assert isinstance(FEATURES.to_polars(), polars.DataFrame)
    assert FEATURES.to_polars()["n"].to_list() == [1, 2, None]
    assert FEATURES.to_pandas(columns=["n"]).columns.tolist() == ["id", "lon", "lat", "n"]
    assert Features().to_arrow().num_rows == 0


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(tables.importlib, "import_module", missing)
    with pytest.raises(MissingPackage, match=r"geopandas.*pip install 'mapyard\[geo\]'"):
        FEATURES.to_geopandas()
    assert importlib is tables.importlib


def test_a_matrix_is_a_table() -> None:
    matrix = Matrix(np.array([[0.0, np.nan]]), np.array([[0.0, np.nan]]), "foot")
    assert matrix.to_json()["durations"] == [[0.0, None]]
    assert Matrix.of(matrix.to_json()) == matrix
    assert matrix.to_pandas().shape == (2, 4)


def test_a_map_in_a_notebook_needs_no_network(here: Map) -> None:
    html = here.features(tags={"leisure": "park"})._repr_html_()
    picture = ElementTree.fromstring(html[: html.index("</svg>") + 6])
    paths = picture.findall(".//{http://www.w3.org/2000/svg}path")
    assert len(paths) > 5
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "OpenStreetMap" in html
    # Streets and water of the own tiles lie below.
    assert "stroke:#fff;stroke-width" in html
    name = Feature({"type": "Feature", "geometry": {"type": "Point", "coordinates": [7, 43]},
                    "properties": {"name": "<script>alert(1)</script>"}})  # fmt: skip
    assert "<script>" not in name._repr_html_()
    assert "<table>" in here.tags("amenity")._repr_html_()
    assert "<table>" in here.sparql("SELECT (1 AS ?x) WHERE {}")._repr_html_()


def test_results_outlive_a_switch(here: Map) -> None:
    found = here.features(tags="shop")
    first = found[0]
    assert pickle.loads(pickle.dumps(first.to_geojson())) == first.to_geojson()
    assert found.rows.dtype.kind == "u"


def test_an_interactive_map_is_one_file(here: Map, tmp_path: Path) -> None:
    file = tmp_path / "parks.html"
    here.features(tags={"leisure": "park"}).to_html(file, "Parks <of> Monaco")
    page = file.read_text()
    assert "<title>Parks &lt;of&gt; Monaco</title>" in page
    assert 500_000 < len(page) < 3_000_000
    frame = here.features(tags={"leisure": "park"}).show()._repr_html_()
    assert frame.startswith("<iframe")
    with pytest.raises(mapyard.MapyardError, match="geometry to draw"):
        Features().to_html(file)


@pytest.mark.parametrize("figures", [("distances", "durations"), ("durations",), ("distances",)])
@pytest.mark.parametrize("is_filled", [False, True])
def test_a_matrix_in_blocks_is_written_as_a_whole_one(monkeypatch, figures, is_filled):
    from mapyard.library.results import matrix as module

    rng = np.random.default_rng(3)
    shape = (11, 7)
    metres, seconds = rng.uniform(0, 1e5, shape).round(1), rng.integers(0, 9_999, shape) / 1.0
    metres[2, 3] = seconds[2, 3] = np.nan
    filled = np.array([[2, 3], [9, 0]]) if is_filled else None
    whole = Matrix(metres, seconds, "foot", filled)
    blocks = [
        Matrix(
            metres[start:stop], seconds[start:stop], "foot",
            None if filled is None else filled[(filled[:, 0] >= start) & (filled[:, 0] < stop)],
        )
        for start, stop in ((0, 4), (4, 8), (8, 11))
    ]  # fmt: skip
    expected = whole.to_json()
    for name in {"distances", "durations"} - set(figures):
        del expected[name]
    for written in (1, 15, 1 << 20):
        monkeypatch.setattr(module, "_WRITTEN", written)
        assert orjson.loads(b"".join(module.stream_json(iter(blocks), figures))) == expected
        assert b"".join(module.stream_csv(iter(blocks))).decode() == whole.to_csv()
        if not is_filled:
            none = [
                Matrix(one.distances_m, one.durations_s, "foot", np.empty((0, 2), int))
                for one in blocks
            ]
            found = orjson.loads(b"".join(module.stream_json(iter(none), figures)))
            assert found == expected | {"fallback_cells": []}
    assert Matrix.join(blocks) == whole
    assert whole.to_csv().splitlines()[1 + 2 * 7 + 3] == "2,3,,"
