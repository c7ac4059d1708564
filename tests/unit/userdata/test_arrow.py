"""GeoParquet, GeoPackage, Shapefile, zips: made by other libraries, and by who means harm."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import geopandas
import pytest
import shapely

from mapyard.userdata.rows import ImportFailed

from .conftest import Import

FRAME = geopandas.GeoDataFrame(
    {"name": ["Ä", "b", None], "number": [1.5, float("nan"), 3.0], "count": [1, 2, 3]},
    geometry=[shapely.Point(9.5, 47.1), shapely.box(9, 47, 10, 48), None],
    crs="EPSG:4326",
)
EXPECTED = [
    {"name": "Ä", "number": 1.5, "count": 1}, {"name": "b", "count": 2},
    {"number": 3.0, "count": 3},
]  # fmt: skip


def check(made: Any, count: int = 3) -> None:
    assert [f["properties"] for f in made.features] == EXPECTED[:count]
    assert made.features[0]["geometry"]["coordinates"] == pytest.approx([9.5, 47.1], abs=1e-6)
    assert made.features[1]["geometry"]["type"] == "Polygon"


def zipped(folder: Path, **more: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"inner/{path.name}")
        for name, data in more.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:3857", "EPSG:21781"])
def test_geoparquet(make: Import, tmp_path: Path, crs: str) -> None:
    FRAME.to_crs(crs).to_parquet(tmp_path / "a.parquet")
    check(make(tmp_path / "a.parquet"))


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:2056"])
def test_geopackage(make: Import, tmp_path: Path, crs: str) -> None:
    FRAME.to_crs(crs).to_file(tmp_path / "a.gpkg", layer="shops")
    made = make(tmp_path / "a.gpkg")
    check(made)
    assert made.said.format == "gpkg"
    FRAME.to_file(tmp_path / "a.gpkg", layer="others")
    with pytest.raises(ImportFailed, match=r"2 layers \(shops, others\); name one by layer"):
        make(tmp_path / "a.gpkg")
    check(make(tmp_path / "a.gpkg", layer="others"))


def test_shapefile_in_a_zip(make: Import, tmp_path: Path) -> None:
    folder = tmp_path / "shapes"
    folder.mkdir()
    areas = geopandas.GeoDataFrame({"name": ["ä"]}, geometry=[shapely.box(9, 47, 10, 48)],
                                   crs="EPSG:4326").to_crs("EPSG:3857")  # fmt: skip
    areas.to_file(folder / "areas.shp", encoding="utf-8")
    made = make(zipped(folder))
    assert made.said.format == "shapefile"
    assert made.features[0]["properties"] == {"name": "ä"}
    assert shapely.geometry.shape(made.features[0]["geometry"]).bounds == pytest.approx(
        (9, 47, 10, 48), abs=1e-6
    )
    areas.to_file(folder / "more.shp")
    with pytest.raises(ImportFailed, match=r"2 Shapefiles \(areas, more\)"):
        make(zipped(folder))
    assert make(zipped(folder), layer="areas").features == made.features


def test_a_table_in_parquet(make: Import, tmp_path: Path) -> None:
    import pandas

    table = pandas.DataFrame(
        {"lat": [47.1], "lon": [9.5], "when": [pandas.Timestamp("2026-01-02")]}
    )
    table.to_parquet(tmp_path / "t.parquet")
    made = make(tmp_path / "t.parquet")
    assert made.features[0]["geometry"]["coordinates"] == [9.5, 47.1]
    assert made.features[0]["properties"] == {"when": "2026-01-02 00:00:00"}


def test_one_file_in_a_zip(make: Import, tmp_path: Path) -> None:
    folder = tmp_path / "z"
    folder.mkdir()
    (folder / "shops.csv").write_text("lat,lon,a\n47.1,9.5,1\n")
    assert make(zipped(folder)).features[0]["properties"] == {"a": 1}
    (folder / "more.csv").write_text("lat,lon\n")
    with pytest.raises(ImportFailed, match="2 files and no Shapefile"):
        make(zipped(folder))


def test_bombs_and_damage_are_refused(make: Import, tmp_path: Path) -> None:
    folder = tmp_path / "z"
    folder.mkdir()
    (folder / "zeros.csv").write_bytes(b"0" * (64 << 20))
    with pytest.raises(ImportFailed, match="taken for a bomb"):
        make(zipped(folder))
    (folder / "zeros.csv").write_text("lat,lon\n")
    many = zipped(folder, **{f"f{n}": b"" for n in range(1_001)})
    with pytest.raises(ImportFailed, match="1,002 files"):
        make(many)
    with pytest.raises(ImportFailed, match="the zip cannot be unpacked"):
        make(zipped(folder)[:60])
    for name, head in (("gpkg", b"SQLite format 3\0"), ("parquet", b"PAR1")):
        with pytest.raises(ImportFailed):
            make(head + b"nonsense" * 100, name=f"x.{name}")


def test_a_file_that_names_others_is_not_followed(make: Import, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("lat,lon,secret\n47,9,told\n")
    link = (
        f'<OGRVRTDataSource><OGRVRTLayer name="secret"><SrcDataSource>{secret}</SrcDataSource>'
        "</OGRVRTLayer></OGRVRTDataSource>"
    )
    folder = tmp_path / "shapes"
    folder.mkdir()
    (folder / "x.shp").write_text(link)
    with pytest.raises(ImportFailed, match="the file is not a Shapefile"):
        make(zipped(folder))
    with pytest.raises(ImportFailed, match="the file is not a GeoPackage"):
        make(link, format="gpkg")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../escape.csv", "lat,lon\n47,9\n")
    make(out.getvalue())
    assert not list(tmp_path.parent.glob("**/escape.csv"))


def test_the_import_s_gdal_knows_no_links_and_no_network() -> None:
    code = (
        "from mapyard.userdata.read.arrow import bind_gdal; bind_gdal()\n"
        "import pyogrio; print(sorted(pyogrio.list_drivers()))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for driver in ("VRT", "WFS", "OAPIF", "CSW", "GDALG"):
        assert f"'{driver}'" not in said.stdout and f"'OGR_{driver}'" not in said.stdout
    assert "'GPKG'" in said.stdout
    assert "'ESRI Shapefile'" in said.stdout
