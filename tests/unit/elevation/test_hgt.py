"""Files of SRTM, read with numpy alone; GDAL is the peer."""

from __future__ import annotations

import gzip
import logging
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mapyard.elevation.hgt import HgtGrid, is_hgt
from mapyard.elevation.rasters import Rasters
from osm_files import EXAMPLES


def write_tile(folder: Path, name: str = "N47E009.hgt", cells: int = 1201) -> Path:
    heights = (np.arange(cells * cells) % 3000).astype(">i2").reshape(cells, cells)
    heights[3, 5] = -32_768
    path = folder / name
    heights.tofile(path)
    return path


def pack(path: Path, how: str) -> Path:
    packed = path.with_name(f"{path.name}.{how}")
    if how == "zip":
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(path, path.name)
    else:
        packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


@pytest.mark.parametrize("name", ["N47E009.hgt", "S12W077.hgt", "n00e000.SRTMGL1.hgt"])
@pytest.mark.parametrize("how", ["", "zip", "gz"])
def test_cells_and_places_are_those_of_gdal(tmp_path: Path, name: str, how: str) -> None:
    gdal = pytest.importorskip("mapyard.elevation.gdal")
    path = write_tile(tmp_path, name)
    peer = gdal.GdalGrid(path)
    expected = peer.read(0, 0, 1201, 1201)
    corners = (np.array([0.0, 1201.0, 3.5]), np.array([0.0, 1201.0, 7.25]))
    places = peer.locate(*corners)
    box = peer.bounds
    peer.close()
    grid = HgtGrid(pack(path, how) if how else path)
    np.testing.assert_array_equal(grid.read(0, 0, 1201, 1201), expected)
    np.testing.assert_array_equal(grid.read(1024, 1024, 177, 177), expected[1024:, 1024:])
    np.testing.assert_allclose(grid.locate(*corners), places, atol=1e-12)
    np.testing.assert_allclose(grid.find_cells(*places), corners, atol=1e-7)
    np.testing.assert_allclose(grid.bounds, box, atol=1e-12)


def test_the_demo_tile_is_read_as_gdal_reads_it(tmp_path: Path) -> None:
    gdal = pytest.importorskip("mapyard.elevation.gdal")
    path, plain = EXAMPLES / "N43E007.hgt.zip", tmp_path / "N43E007.hgt.zip"
    # GDAL reads no LZMA in archives.
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("N43E007.hgt", packed.read("N43E007.hgt"))
    peer = gdal.GdalGrid(plain, "N43E007.hgt")
    wanted = peer.read(0, 0, 1201, 1201)
    for each in (path, plain):
        np.testing.assert_array_equal(HgtGrid(each).read(0, 0, 1201, 1201), wanted)
    peer.close()


@pytest.mark.parametrize(
    ("name", "size", "says"),
    [
        ("N47E009.hgt", 1000, "1,000 bytes are not a square degree"),
        ("alps.hgt", 1201 * 1201 * 2, "'alps.hgt' should be such as N43E007.hgt"),
    ],
)
def test_a_file_that_is_no_tile_is_left_out_with_the_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, size: int, says: str
) -> None:
    write_tile(tmp_path, "N48E009.hgt")
    (tmp_path / name).write_bytes(bytes(size))
    with caplog.at_level(logging.WARNING):
        rasters = Rasters(tmp_path)
    assert [raster.name for raster in rasters.rasters] == ["N48E009.hgt"]
    assert says in caplog.text


def test_an_archive_that_shrank_is_not_read_as_whole(tmp_path: Path) -> None:
    path = pack(write_tile(tmp_path), "gz")
    grid = HgtGrid(path)
    path.write_bytes(gzip.compress(bytes(100)))
    with pytest.raises(OSError, match="has changed since it was opened"):
        grid.read(0, 0, 10, 10)


def test_other_archives_are_not_taken_for_tiles(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.tif", b"")
    assert not is_hgt(tmp_path / "a.zip")
    assert not is_hgt(tmp_path / "a.tif.gz")


WITHOUT = """
import logging, sys
from pathlib import Path
logging.basicConfig(level="WARNING")
sys.modules["rasterio"] = None
from mapyard.elevation.rasters import Rasters
print([raster.name for raster in Rasters(Path(sys.argv[1])).rasters])
"""


def test_without_gdal_a_geotiff_is_left_out_and_the_log_says_what_to_install(
    tmp_path: Path,
) -> None:
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", tmp_path)
    (tmp_path / "dem.tif").write_bytes(b"II*\0")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['N43E007.hgt.zip']\n"
    assert "dem.tif is left out" in done.stderr
    assert "pip install 'mapyard[geotiff]'" in done.stderr
