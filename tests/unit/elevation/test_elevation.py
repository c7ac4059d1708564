"""Heights of rasters made for the purpose, against numpy."""

import gzip
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.transform import from_origin

from mapyard.elevation import find_heights, make_profile, open_elevation
from mapyard.elevation.profile import NoElevation, climb, resample
from mapyard.errors import InvalidRequest

#: A plane: 100 m, and 1000 m more per degree eastwards, 2000 m northwards.
WEST, NORTH, CELL = 9.0, 48.0, 0.01


def plane(lon, lat):
    return 100 + 1000 * (lon - 9.0) + 2000 * (lat - 47.0)


def write_tif(path: Path, heights, west=WEST, north=NORTH, cell=CELL, **options) -> None:
    rows, columns = heights.shape
    with rasterio.open(
        path, "w", driver="GTiff", height=rows, width=columns, count=1, dtype=heights.dtype,
        crs=options.pop("crs", "EPSG:4326"), transform=from_origin(west, north, cell, cell),
        **options,
    ) as file:  # fmt: skip
        file.write(heights, 1)


def plane_cells(west=WEST, north=NORTH, cell=CELL, size=100):
    lon = west + cell * (np.arange(size) + 0.5)
    lat = north - cell * (np.arange(size) + 0.5)
    return plane(lon[None, :], lat[:, None]).astype(np.float32)


@pytest.fixture
def folder(tmp_path):
    write_tif(tmp_path / "plane.tif", plane_cells())
    return tmp_path


def test_heights_are_bilinear(folder):
    rasters = open_elevation(folder)
    rng = np.random.default_rng(1)
    places = np.column_stack([rng.uniform(9.01, 9.98, 500), rng.uniform(47.01, 47.98, 500)])
    heights = find_heights(rasters, places)
    np.testing.assert_allclose(heights.heights_m, plane(places[:, 0], places[:, 1]), atol=0.02)
    assert heights.sources == ["plane.tif"]
    assert heights.resolution_m == pytest.approx(1112, abs=2)
    rasters.close()


def test_outside_is_nothing_and_all_outside_an_error(folder):
    rasters = open_elevation(folder)
    heights = find_heights(rasters, np.array([[9.5, 47.5], [20.0, 10.0]])).heights_m
    assert not np.isnan(heights[0])
    assert np.isnan(heights[1])
    with pytest.raises(NoElevation):
        find_heights(rasters, np.array([[20.0, 10.0]]))


def test_voids_are_filled_from_around_and_marked(tmp_path):
    cells = plane_cells(size=40)
    cells[14:19, 14:21] = -32768
    write_tif(tmp_path / "voids.tif", cells)
    rasters = open_elevation(tmp_path)
    center = [WEST + 17.5 * CELL, NORTH - 16.5 * CELL]
    near_edge = [WEST + 13.6 * CELL, NORTH - 16.5 * CELL]
    found = find_heights(rasters, np.array([center, near_edge, [9.05, 47.95]]))
    assert found.is_filled.tolist() == [True, False, False]
    assert found.heights_m[0] == pytest.approx(plane(*center), abs=0.5)
    grid = np.stack(np.meshgrid(np.linspace(9.01, 9.39, 90), np.linspace(47.61, 47.99, 90)), -1)
    places = grid.reshape(-1, 2)
    sampled, _, is_filled = rasters.sample(*places.T)
    assert is_filled.any()
    np.testing.assert_allclose(sampled[is_filled], plane(*places[is_filled].T), atol=0.5)


def test_a_ridge_goes_on_over_a_void(tmp_path):
    """A mean of the rim would cut it off: the ridge is 200 m above its sides."""
    across = np.abs(np.arange(40) - 20)
    cells = np.repeat(1000 - 20.0 * across[:, None], 40, axis=1).astype(np.float32)
    cells[17:24, 17:24] = -32768
    write_tif(tmp_path / "ridge.tif", cells)
    rasters = open_elevation(tmp_path)
    found = find_heights(rasters, np.array([[WEST + 20.5 * CELL, NORTH - 20.5 * CELL]]))
    assert found.heights_m[0] > 970
    assert found.is_filled.all()


def test_a_summit_that_the_map_knows_stands_in_its_void(tmp_path):
    """The rim does not tell of a peak; one beyond all slopes (in feet) is a mistake."""
    across = np.hypot(*np.mgrid[-20:20, -20:20])
    cells = (1000 + 40.0 * np.maximum(12 - across, 0)).astype(np.float32)
    cells[12:29, 12:29] = -32768
    write_tif(tmp_path / "peak.tif", cells)
    at = [WEST + 20.5 * CELL, NORTH - 20.5 * CELL]
    rasters = open_elevation(tmp_path)
    blind = find_heights(rasters, np.array([at])).heights_m[0]
    boxes = []

    def find_spots(box):
        boxes.append(box)
        return np.array([[*at, blind + 30.0]])

    seen = rasters.with_spots(find_spots)
    found = find_heights(seen, np.array([at, [at[0] + 4 * CELL, at[1]]]))
    assert found.heights_m[0] == pytest.approx(blind + 30, abs=2)
    assert found.heights_m[1] <= found.heights_m[0]  # nothing above the summit
    assert found.is_filled.all()
    west, south, east, north = boxes[0]
    assert west < at[0] < east
    assert south < at[1] < north
    wrong = rasters.with_spots(lambda box: np.array([[*at, 3_000.0]]))
    assert find_heights(wrong, np.array([at])).heights_m[0] == blind
    assert find_heights(rasters, np.array([at])).heights_m[0] == blind


def test_wide_voids_stay_empty(tmp_path):
    cells = np.full((200, 200), 500, np.int16)
    cells[20:180, 20:180] = -32768
    write_tif(tmp_path / "sea.tif", cells)
    rasters = open_elevation(tmp_path)
    places = np.array([[WEST + CELL, NORTH - CELL], [WEST + 100 * CELL, NORTH - 100 * CELL]])
    for _ in range(2):  # the second time it is remembered
        heights = find_heights(rasters, places).heights_m
        assert heights[0] == 500
        assert np.isnan(heights[1])


def test_nothing_is_known_beyond_the_raster(folder):
    rasters = open_elevation(folder)
    inside, outside = [WEST + 0.01 * CELL, 47.5], [WEST - 0.01 * CELL, 47.5]
    heights = find_heights(rasters, np.array([inside, outside])).heights_m
    assert not np.isnan(heights[0])
    assert np.isnan(heights[1])
    with pytest.raises(NoElevation):
        find_heights(rasters, np.array([outside]))


def test_nodata_of_the_header_counts_as_well(tmp_path):
    cells = np.full((10, 10), 7.0, np.float32)
    cells[:, 5:] = -9999
    write_tif(tmp_path / "half.tif", cells, nodata=-9999)
    rasters = open_elevation(tmp_path)
    heights = find_heights(rasters, np.array([[9.02, 47.95], [9.08, 47.95]])).heights_m
    assert heights[0] == 7
    assert np.isnan(heights[1])


def test_the_finer_raster_wins_and_the_coarser_fills_its_voids(tmp_path):
    write_tif(tmp_path / "a-coarse.tif", np.full((100, 100), 100, np.int16))
    fine = np.full((100, 100), 200, np.int16)
    fine[:, 50:] = -32768
    write_tif(tmp_path / "b-fine.tif", fine, cell=CELL / 10)
    rasters = open_elevation(tmp_path)
    heights = find_heights(rasters, np.array([[9.02, 47.95], [9.08, 47.95], [9.5, 47.5]]))
    assert heights.heights_m.tolist() == [200, 100, 100]
    assert set(heights.sources) == {"a-coarse.tif", "b-fine.tif"}
    assert heights.resolution_m == pytest.approx(1112, abs=2)


def test_projected_rasters_are_read(tmp_path):
    write_tif(
        tmp_path / "utm.tif", np.full((200, 200), 321, np.int16), west=500_000, north=5_300_000,
        cell=100, crs="EPSG:32632",
    )  # fmt: skip
    rasters = open_elevation(tmp_path)
    heights = find_heights(rasters, np.array([[9.1, 47.8]]))
    assert heights.heights_m.tolist() == [321]


@pytest.mark.parametrize("pack", ["plain", "zip", "gz"])
def test_srtm_files_are_read(tmp_path, pack):
    grid = np.arange(1201 * 1201, dtype=np.int64).reshape(1201, 1201) % 1000
    raw = grid.astype(">i2").tobytes()
    name = "N47E009.hgt"
    if pack == "plain":
        (tmp_path / name).write_bytes(raw)
    elif pack == "zip":
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr(name, raw)
    else:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(raw, 1))
    rasters = open_elevation(tmp_path)
    # The north-west corner is the first value, a degree holds 1200 steps.
    places = np.array([[9.0, 48.0], [9.0 + 1 / 1200, 48.0], [9.0 + 0.5 / 1200, 48.0]])
    np.testing.assert_allclose(find_heights(rasters, places).heights_m, [0, 1, 0.5], atol=0.01)


def test_broken_files_are_left_out_with_a_warning(folder, caplog):
    (folder / "broken.tif").write_bytes(b"no raster")
    (folder / "broken.zip").write_bytes(b"no archive")
    (folder / "notes.txt").write_text("hello")
    rasters = open_elevation(folder)
    assert [raster.name for raster in rasters.rasters] == ["plane.tif"]
    assert "broken.tif" in caplog.text
    assert "broken.zip" in caplog.text


def test_no_rasters_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_elevation(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_elevation(tmp_path / "missing")


def test_threads_agree(folder):
    rasters = open_elevation(folder)
    rng = np.random.default_rng(2)
    places = np.column_stack([rng.uniform(9.01, 9.98, 2000), rng.uniform(47.01, 47.98, 2000)])
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: find_heights(rasters, places).heights_m, range(8)))
    assert all((answer == answers[0]).all() for answer in answers)


def test_a_profile_matches_numpy(folder):
    rasters = open_elevation(folder)
    line = np.array([[9.1, 47.1], [9.5, 47.1], [9.5, 47.4]])
    profile = make_profile(rasters, line, interval_m=500)
    expected = plane(profile.positions[:, 0], profile.positions[:, 1])
    np.testing.assert_allclose(profile.heights.heights_m, expected, atol=0.02)
    assert profile.min_m == pytest.approx(expected.min(), abs=0.02)
    assert profile.max_m == pytest.approx(expected.max(), abs=0.02)
    assert profile.ascent_m == pytest.approx(expected[-1] - expected[0], abs=0.5)
    assert profile.descent_m == 0.0
    assert np.diff(profile.distances_m).max() <= 500.5
    assert profile.avg_m == pytest.approx(
        np.trapezoid(expected, profile.distances_m) / profile.distances_m[-1], abs=0.02
    )


def test_resampling_keeps_the_lines_own_positions():
    line = np.array([[9.0, 47.0], [9.001, 47.0], [9.1, 47.0]])
    dense = resample(line, 100.0)
    assert all((dense == corner).all(axis=1).any() for corner in line)
    for interval_m in (0.1, 1e-12, 1e-320):
        with pytest.raises(InvalidRequest, match=r"interval.*ask for 1 m or more"):
            resample(line, interval_m)
    assert len(resample(line, 1.0)) <= 10_000


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        ([0, 100, 97, 200, 50], (200, 150)),
        ([0, 1, 0, 1, 0, 1], (0, 0)),
        (list(range(100)), (99, 0)),
        ([100, 0], (0, 100)),
        ([5], (0, 0)),
        ([5, 5, 5], (0, 0)),
        ([0, 4, 8, 12, 8, 4, 0], (12, 12)),
    ],
)
def test_climbs_leave_noise_out(heights, expected):
    assert climb(np.array(heights, np.float64)) == expected


def test_noise_does_not_add_up():
    rng = np.random.default_rng(1)
    slope = np.linspace(400, 900, 2000)
    up, down = climb(slope + rng.normal(0, 1.0, 2000))
    assert 490 < up < 520
    assert down < 15
