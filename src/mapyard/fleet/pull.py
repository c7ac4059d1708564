"""A region's dataset from object storage onto this machine's disk: verified, whole or not there.

A file in it says that it was fetched, so that datasets of generations before can be told from those
that somebody built here.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Collection
from pathlib import Path

import msgspec

from mapyard.dataset.catalog import sync_folder
from mapyard.dataset.manifest import Manifest, check_quickly, read_manifest
from mapyard.errors import MapyardError
from mapyard.fleet.generation import Region
from mapyard.fleet.objects import Objects

_PULLING = ".pulling-"
_MARK = "fetched.json"


def pull_region(objects: Objects, region: Region, data: Path) -> Path:
    """Return the folder of a region's dataset, fetched where it is not there."""
    folder = data / "datasets"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / region.dataset
    with (folder / f".{region.dataset}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another actor of this machine may fetch the same
        if (target / "manifest.json").is_file():
            check_quickly(target, read_manifest(target))
            return target
        _check_room(folder, region)
        fresh = folder / f"{_PULLING}{region.dataset}"
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            _fetch(objects, f"datasets/{region.name}/{region.dataset}", fresh)
            (fresh / _MARK).write_bytes(
                msgspec.json.encode({"from": objects.url, "region": region.name})
            )
            fresh.rename(target)
            sync_folder(folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    return target


def remove_fetched(data: Path, url: str, kept: Collection[str]) -> list[str]:
    """Remove all datasets that were fetched from a store, but those kept; return their names.

    One that another process of this machine is fetching stays, and those of other stores, which
    another fleet may serve.
    """
    folder = data / "datasets"
    removed = []
    for mark in sorted(folder.glob(f"*/{_MARK}")):
        name = mark.parent.name
        if name in kept or name.startswith("."):
            continue
        if msgspec.json.decode(mark.read_bytes())["from"] != url:
            continue
        with (folder / f".{name}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(mark.parent, ignore_errors=True)
        removed.append(name)
    return removed


def _fetch(objects: Objects, prefix: str, fresh: Path) -> None:
    text = objects.get(f"{prefix}/manifest.json")
    if text is None:
        raise MapyardError(f"{objects.url}/{prefix} has no dataset")
    manifest = msgspec.json.decode(text, type=Manifest)
    fresh.mkdir()
    (fresh / "manifest.json").write_bytes(text)
    for part in manifest.parts.values():
        for name, expected in part.files.items():
            if not (fresh / name).resolve().is_relative_to(fresh.resolve()):
                raise MapyardError(f"{objects.url}/{prefix} names a file outside of it: {name}")
            objects.get_file(f"{prefix}/{name}", fresh / name, expected)
    read_manifest(fresh)


def _check_room(folder: Path, region: Region) -> None:
    free = shutil.disk_usage(folder).free
    if free < region.bytes * 1.05:
        raise MapyardError(
            f"region {region.name} has {region.bytes / 1e9:.1f} GB, the disk of {folder} "
            f"{free / 1e9:.1f} GB free"
        )
