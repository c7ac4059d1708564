"""Elevation rasters of a fleet: uploaded once, fetched by builds near them, and by each node.

They lie in object storage as elevation/CHECKSUM/NAME; a generation lists them. Nodes keep them in
elevation/ of their data folder, as one machine does.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from mapyard.dataset.catalog import sync_folder
from mapyard.dataset.manifest import describe_file
from mapyard.elevation import open_elevation
from mapyard.errors import MapyardError
from mapyard.fleet.generation import Raster
from mapyard.fleet.objects import Objects

FOLDER: Final = "elevation"
#: Which files of the folder were fetched: name → checksum.
_MARK: Final = "fetched.json"
#: How far around a region roads are given grades, degrees: a raster's cell and more.
_AROUND_DEG: Final = 0.01


def list_rasters(folder: Path) -> list[Raster]:
    """Return the files of a folder of rasters; raise where none of them is one."""
    try:
        opened = open_elevation(folder)
    except (FileNotFoundError, NotADirectoryError):
        raise MapyardError(
            f"{folder} has no elevation rasters (.hgt, .hgt.zip, GeoTIFF, VRT)"
        ) from None
    boxes = {raster.name: raster.grid.bounds for raster in opened.rasters}
    opened.close()
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != _MARK]
    return [Raster(path.name, describe_file(path), boxes.get(path.name)) for path in files]


def upload_rasters(
    objects: Objects, folder: Path, rasters: Sequence[Raster], say: Callable[[str], None]
) -> None:
    """Put rasters into object storage, those that are not there."""
    for raster in rasters:
        if objects.get(f"{raster.place}.ok") is None:
            say(f"uploading {FOLDER}/{raster.name}")
            objects.put_file(raster.place, folder / raster.name)
            objects.put(f"{raster.place}.ok", b"")


def choose_rasters(
    rasters: Sequence[Raster], box: tuple[float, float, float, float]
) -> list[Raster]:
    """Return the rasters that meet a box, and files that are no rasters by themselves."""
    west, south, east, north = box

    def meets(raster: Raster) -> bool:
        if raster.box is None:
            return True
        x0, y0, x1, y1 = raster.box
        return (
            x0 <= east + _AROUND_DEG and x1 >= west - _AROUND_DEG
            and y0 <= north + _AROUND_DEG and y1 >= south - _AROUND_DEG
        )  # fmt: skip

    return [raster for raster in rasters if meets(raster)]


def fetch_rasters(objects: Objects, rasters: Sequence[Raster], data: Path) -> None:
    """Fetch the rasters that a data folder lacks, verified; files that somebody put there stay."""
    if not rasters:
        return
    data.mkdir(parents=True, exist_ok=True)
    folder, fresh = data / FOLDER, data / f".{FOLDER}"
    with (data / f".{FOLDER}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of this machine may fetch the same
        mark = folder / _MARK
        known: dict[str, str] = msgspec.json.decode(mark.read_bytes()) if mark.is_file() else {}
        lacking = [
            raster for raster in rasters
            if known.get(raster.name) != raster.file.checksum
            and (raster.name in known or not (folder / raster.name).exists())
        ]  # fmt: skip
        if not lacking:
            return
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            for raster in lacking:
                objects.get_file(raster.place, fresh / raster.name, raster.file)
                known[raster.name] = raster.file.checksum
            (fresh / _MARK).write_bytes(msgspec.json.encode(known))
            if not folder.exists():  # all at once: nobody opens a part of them
                fresh.rename(folder)
            else:
                for name in [*(raster.name for raster in lacking), _MARK]:
                    (fresh / name).replace(folder / name)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        sync_folder(data)
