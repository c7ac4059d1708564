"""A dataset's manifest: what it holds, where it came from, and the checksum of every file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from mapyard.errors import MapyardError

#: Raised when the files of a dataset change so that an older Mapyard cannot read them.
FORMAT_VERSION = 2


class FilePart(msgspec.Struct):
    """Size and BLAKE2b-128 checksum of one file."""

    bytes: int
    checksum: str


class Part(msgspec.Struct):
    """One part of a dataset: its files by name relative to the dataset."""

    files: dict[str, FilePart]
    seconds: float = 0.0
    report: dict[str, Any] = {}

    @property
    def size_bytes(self) -> int:
        """Return the size of all files."""
        return sum(file.bytes for file in self.files.values())


class Replication(msgspec.Struct):
    """Where updates come from, and up to where this dataset has them."""

    url: str = ""
    sequence: int | None = None
    timestamp: str = ""


class Manifest(msgspec.Struct):
    """The manifest.json of a dataset."""

    id: str
    created: str
    format: int = FORMAT_VERSION
    mapyard: str = ""
    osm_timestamp: str = ""
    sources: list[dict[str, Any]] = []
    replication: Replication = msgspec.field(default_factory=Replication)
    bbox: list[float] | None = None
    counts: dict[str, int] = {}
    parts: dict[str, Part] = {}

    @property
    def size_bytes(self) -> int:
        """Return the size of all parts."""
        return sum(part.size_bytes for part in self.parts.values())


def read_manifest(folder: Path) -> Manifest:
    """Read a dataset's manifest; raises MapyardError when it is missing, broken or too new."""
    try:
        manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise MapyardError(f"{folder.name} is not a dataset: it has no manifest.json") from None
    except msgspec.DecodeError as error:
        raise MapyardError(f"the manifest of {folder.name} is broken: {error}") from None
    if manifest.format != FORMAT_VERSION:
        raise MapyardError(
            f"{folder.name} has format {manifest.format}, this Mapyard reads {FORMAT_VERSION}: "
            f"build it anew with: mapyard build {folder / 'source.osm.pbf'}"
        )
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write manifest.json."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (folder / "manifest.json").write_bytes(text)


def describe_file(path: Path) -> FilePart:
    """Return size and checksum of a file, read in chunks."""
    digest = hashlib.blake2b(digest_size=16)
    size = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            size += len(chunk)
    return FilePart(size, digest.hexdigest())


def verify_files(folder: Path, manifest: Manifest) -> list[str]:
    """Return what differs from the manifest, one line for each file; empty when all is well."""
    faults = []
    for part in manifest.parts.values():
        for name, expected in part.files.items():
            path = folder / name
            if not path.is_file():
                faults.append(f"{name} is missing")
            elif describe_file(path) != expected:
                faults.append(f"{name} has changed since it was built")
    return faults
