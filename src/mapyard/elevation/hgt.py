"""Elevation files of SRTM: .hgt, .hgt.zip and .hgt.gz, read with numpy alone.

A square degree, named for its southwestern corner (N43E007), in rows from the north, two bytes a
height, big-endian. The outermost heights lie on the edges of the degree, so cells reach half a cell
beyond them.
"""

from __future__ import annotations

import gzip
import os
import re
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.elevation.grid import Box, Floats

#: Bytes of a file → rows and columns.
_SHAPES: Final = {
    rows * columns * 2: (rows, columns)
    for rows, columns in ((1201, 1201), (3601, 3601), (3601, 1801), (1201, 601), (7201, 7201))
}
_NAME: Final = re.compile(r"([NS])(\d{2})([EW])(\d{3})", re.IGNORECASE)
_VOID: Final = -32_768
_PACKED: Final = (".zip", ".gz")


class HgtGrid:
    """An open .hgt file. A packed one is unpacked when it is read; few of them are kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        name, size = _look_into(path)
        match = _NAME.match(name)
        if match is None:
            raise ValueError(f"its name says no corner; {name!r} should be such as N43E007.hgt")
        if size not in _SHAPES:
            raise ValueError(f"{size:,} bytes are not a square degree of 1 or 3 arc seconds")
        self.height, self.width = _SHAPES[size]
        south = int(match[2]) * (1 if match[1] in "Nn" else -1)
        west = int(match[4]) * (1 if match[3] in "Ee" else -1)
        self._column_deg, self._row_deg = 1 / (self.width - 1), 1 / (self.height - 1)
        self._west = west - self._column_deg / 2
        self._north = south + 1 + self._row_deg / 2
        self.bounds: Box = (
            self._west,
            self._north - self.height * self._row_deg,
            self._west + self.width * self._column_deg,
            self._north,
        )

    def find_cells(self, lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
        """Return columns and rows of positions."""
        return (lon - self._west) / self._column_deg, (self._north - lat) / self._row_deg

    def locate(self, column: Floats, row: Floats) -> tuple[Floats, Floats]:
        """Return longitudes and latitudes of columns and rows."""
        return self._west + column * self._column_deg, self._north - row * self._row_deg

    def read(self, row: int, column: int, rows: int, columns: int) -> NDArray[Any]:
        """Return the heights of a window in meters, NaN where they are void."""
        if self._path.suffix.lower() in _PACKED:
            cells = _unpack(self._path, self.height, self.width)
        else:
            cells = np.memmap(self._path, ">i2", "r", shape=(self.height, self.width))
        window = cells[row : row + rows, column : column + columns]
        return np.where(window == _VOID, np.nan, window.astype(np.float32))

    def close(self) -> None:
        """Let the file go: nothing is held open."""


def is_hgt(path: Path) -> bool:
    """Return whether a file is one of SRTM, packed or not."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes[-1:] == [".zip"]:
        return _find_entry(path) is not None
    return suffixes[-1:] == [".hgt"] or suffixes == [".hgt", ".gz"]


def _look_into(path: Path) -> tuple[str, int]:
    """Return the name of what is inside and its size in bytes."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        entry = _find_entry(path)
        if entry is None:
            raise ValueError("the archive holds no .hgt file")
        return entry.filename.rpartition("/")[2], entry.file_size
    if suffix == ".gz":  # it ends with the size of its content
        with path.open("rb") as file:
            file.seek(-4, os.SEEK_END)
            return path.name, int.from_bytes(file.read(4), "little")
    return path.name, path.stat().st_size


def _find_entry(path: Path) -> zipfile.ZipInfo | None:
    with zipfile.ZipFile(path) as archive:
        entries = (e for e in archive.infolist() if e.filename.lower().endswith(".hgt"))
        return next(entries, None)


@lru_cache(maxsize=4)
def _unpack(path: Path, height: int, width: int) -> NDArray[Any]:
    size = height * width * 2
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as file:
            content = file.read(size + 1)
    else:
        entry = _find_entry(path)
        with zipfile.ZipFile(path) as archive, archive.open(entry or "") as file:
            content = file.read(size + 1)
    if len(content) != size:
        raise OSError(f"{path.name} has changed since it was opened")
    return np.frombuffer(content, ">i2").reshape(height, width)
