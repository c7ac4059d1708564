from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapyard.cli.tiles import app, parse_grid_box, parse_zooms
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.tiles.mercator import GRID_SIZE, TileId
from mapyard.tiles.pmtiles import PmtilesReader

run = CliRunner().invoke


def test_zooms_are_a_range_or_one() -> None:
    assert parse_zooms("0-14") == (0, 14)
    assert parse_zooms("12") == (12, 12)
    for wrong in ("14-0", "0-15", "a", "", "-3"):
        with pytest.raises(InvalidRequest, match="zooms"):
            parse_zooms(wrong)


def test_a_box_becomes_grid_units() -> None:
    assert parse_grid_box("0,-180,85.0511287798066,0") == (0, 0, GRID_SIZE // 2, GRID_SIZE // 2)
    for wrong in ("1,2,3", "a,b,c,d", "50,0,40,1", "0,10,1,5", "0,0,100,1"):
        with pytest.raises(InvalidRequest, match="bbox"):
            parse_grid_box(wrong)


def test_export_writes_tiles_of_a_box(monaco: Path, tmp_path: Path) -> None:
    out = tmp_path / "town.pmtiles"
    options = ["export", str(out), "--data", str(monaco), "--zooms", "13-14"]
    result = run(app, [*options, "--bbox", "43.73,7.41,43.74,7.43"])
    assert result.exit_code == 0, result.output
    reader = PmtilesReader(out)
    assert (reader.min_zoom, reader.max_zoom) == (13, 14)
    assert reader.find(TileId(14, 8530, 5973)) is not None
    assert reader.metadata()["vector_layers"][0]["id"] == "ocean"
    reader.close()
    again = run(app, options)
    assert isinstance(again.exception, InvalidRequest)
    assert "--force" in str(again.exception)


def test_export_says_what_is_missing(monaco: Path, tmp_path: Path) -> None:
    empty = run(app, ["export", str(tmp_path / "a.pmtiles"), "--data", str(tmp_path / "none")])
    assert isinstance(empty.exception, MapyardError)
    assert "mapyard build" in str(empty.exception)
    nowhere = run(app, ["export", str(tmp_path / "no" / "a.pmtiles"), "--data", str(monaco)])
    assert "there is no folder" in str(nowhere.exception)
    assert list(tmp_path.iterdir()) == []
