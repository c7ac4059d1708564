"""A dataset's manifest: what it holds, where it came from, and the checksum of every file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import msgspec

from mapyard.errors import MapyardError

#: Raised when the files of a dataset change so that an older Mapyard cannot read them.
FORMAT_VERSION = 8


#: A file's checksums are of blocks of so many bytes, so that it can be read bit by bit.
BLOCK_BYTES = 4 << 20
#: Files up to this size are read whole when a dataset is opened.
SMALL_BYTES = 65_536
_DIGEST_BYTES = 8


class Damaged(MapyardError):  # noqa: N818 - named for what it says
    """Files of a dataset are not as they were built."""


class FilePart(msgspec.Struct, omit_defaults=True):
    """Size of one file, a checksum, and BLAKE2b-64 of each of its blocks, as hex.

    The checksum is BLAKE2b-128 of the file where it is one block, else of the checksums of its
    blocks: it is read and hashed once. Manifests from before have it of the file.
    """

    bytes: int
    checksum: str
    blocks: str = ""


class Part(msgspec.Struct):
    """One part of a dataset: its files by name relative to the dataset."""

    files: dict[str, FilePart]
    seconds: float = 0.0
    report: dict[str, Any] = {}
    #: Time of the data that it was made of; "" where it is that of the dataset.
    osm_timestamp: str = ""

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

    def find_data_time(self, part: str) -> str:
        """Return of when the data of a part is: as the dataset's, but where it was left older."""
        found = self.parts.get(part)
        return (found.osm_timestamp if found else "") or self.osm_timestamp

    @property
    def size_bytes(self) -> int:
        """Return the size of all parts."""
        return sum(part.size_bytes for part in self.parts.values())


class Origin(msgspec.Struct):
    """What the manifest of a dataset of any format says about where it came from."""

    id: str
    format: int = 0
    sources: list[dict[str, Any]] = []
    parts: dict[str, dict[str, Any]] = {}

    def find_file(self, name: str) -> FilePart | None:
        """Return what is known of a file, None where the format had no checksums."""
        for part in self.parts.values():
            files = part.get("files")
            entry = files.get(name) if isinstance(files, dict) else None
            if isinstance(entry, dict) and entry.get("checksum"):
                return msgspec.convert(entry, FilePart)
        return None


def name_sources(sources: list[dict[str, Any]]) -> str:
    """Return what a dataset may be built of again, for errors."""
    return ", ".join(str(one.get("name", "")) for one in sources) or "its extract"


def read_origin(folder: Path) -> Origin:
    """Read what all formats have in common; raises MapyardError when there is no such manifest."""
    try:
        return msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Origin)
    except FileNotFoundError:
        raise MapyardError(f"{folder.name} is not a dataset: it has no manifest.json") from None
    except msgspec.DecodeError as error:
        raise MapyardError(f"the manifest of {folder.name} is broken: {error}") from None


def read_manifest(folder: Path) -> Manifest:
    """Read a manifest; raises MapyardError when it is missing, broken or of another format."""
    fault = None
    try:
        manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise MapyardError(f"{folder.name} is not a dataset: it has no manifest.json") from None
    except msgspec.DecodeError as error:
        fault = error
    found = read_origin(folder).format if fault else manifest.format
    if found != FORMAT_VERSION:
        raise MapyardError(
            f"{folder.name} has format {found}, this Mapyard reads {FORMAT_VERSION}: "
            + (
                f"build it anew with: mapyard datasets upgrade {folder.name}"
                if found < FORMAT_VERSION
                else "a newer Mapyard made it"
            )
        )
    if fault:
        raise MapyardError(f"the manifest of {folder.name} is broken: {fault}")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write manifest.json."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (folder / "manifest.json").write_bytes(text)


def describe_file(path: Path) -> FilePart:
    """Return size and checksums of a file, read in blocks."""
    block, blocks = b"", []
    size = 0
    with path.open("rb") as file:
        while more := file.read(BLOCK_BYTES):
            block = more
            blocks.append(_digest_block(block))
            size += len(block)
    whole = block if len(blocks) < 2 else bytes.fromhex("".join(blocks))
    return FilePart(size, hashlib.blake2b(whole, digest_size=16).hexdigest(), "".join(blocks))


def is_as_written(path: Path, expected: FilePart) -> bool:
    """Return whether a file is what a manifest, also one from before, says of it."""
    if expected.blocks:
        found = describe_file(path)
        return (found.bytes, found.blocks) == (expected.bytes, expected.blocks)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
    return digest.hexdigest() == expected.checksum


def _digest_block(block: bytes) -> str:
    return hashlib.blake2b(block, digest_size=_DIGEST_BYTES).hexdigest()


def check_quickly(folder: Path, manifest: Manifest) -> None:
    """Raise Damaged when a file is missing or of another size, or a small one has changed.

    Takes a millisecond or two; `iter_faults` reads everything.
    """
    for name, expected in _files(manifest):
        path = folder / name
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise Damaged(f"{name} is missing") from None
        if size != expected.bytes:
            raise Damaged(f"{name} has {size:,} bytes where {expected.bytes:,} were built")
        if size <= SMALL_BYTES and not is_as_written(path, expected):
            raise Damaged(f"{name} has changed since it was built")


def iter_faults(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield what differs from the manifest, or "" after each block of at most BLOCK_BYTES."""
    for name, expected in _files(manifest):
        path = folder / name
        if not expected.blocks:  # built before there were checksums of blocks
            if expected.bytes:
                yield _compare(path, name, expected)
            continue
        width = 2 * _DIGEST_BYTES
        try:
            with path.open("rb") as file:
                for at in range(0, len(expected.blocks), width):
                    block = file.read(BLOCK_BYTES)
                    is_well = _digest_block(block) == expected.blocks[at : at + width]
                    where = f"in its block {at // width + 1} of {BLOCK_BYTES >> 20} MB"
                    yield "" if is_well else f"{name} has changed since it was built, {where}"
                if file.read(1):
                    yield f"{name} has become longer since it was built"
        except OSError as error:
            yield f"{name} cannot be read: {error.strerror}"


def _files(manifest: Manifest) -> Iterator[tuple[str, FilePart]]:
    for part in manifest.parts.values():
        yield from part.files.items()


def _compare(path: Path, name: str, expected: FilePart) -> str:
    if not path.is_file():
        return f"{name} is missing"
    if not is_as_written(path, expected):
        return f"{name} has changed since it was built"
    return ""


def verify_files(folder: Path, manifest: Manifest, but: Set[str] = frozenset()) -> list[str]:
    """Return what differs from the manifest, one line for each file; empty when all is well.

    Files named by `but` are not looked at.
    """
    found = (
        _compare(folder / name, name, expected)
        for name, expected in _files(manifest)
        if name not in but
    )
    return [fault for fault in found if fault]
