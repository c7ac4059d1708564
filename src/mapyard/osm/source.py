"""Prepare the inputs of a build: one sorted, merged source.osm.pbf.

A single .osm.pbf that is sorted already is taken as it is. Everything else (.osm, .osm.gz,
.osm.bz2, unsorted or several files) is sorted, merged (of an element that occurs more than once the
newest version wins) and written anew, in bounded memory (merge.py).
"""

from __future__ import annotations

import bz2
import errno
import gzip
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import osmium
import osmium.io

from mapyard.errors import MapyardError
from mapyard.osm.merge import UNLIMITED, merge_files, write_runs
from mapyard.osm.pbf import Header, NeedsRewrite, UnreadableFile, iter_blocks, read_header

SUFFIXES = (".osm.pbf", ".osm", ".osm.gz", ".osm.bz2")
#: Memory of sorting, per byte of input file; measured: 13 for .osm.pbf.
SORT_MEMORY_PER_BYTE = {".osm.pbf": 16, ".osm.gz": 14, ".osm.bz2": 16, ".osm": 2}
#: What the report calls elements that were deleted.
DELETED = "deleted element left out"
Problems = dict[str, list[tuple[str, str]]]
_DELETED_MARK = re.compile(rb"""visible\s*=\s*["']false|action\s*=\s*["']delete""")
_HEADER_KEYS = (
    "osmosis_replication_timestamp",
    "osmosis_replication_sequence_number",
    "osmosis_replication_base_url",
)


def list_extracts(path: Path) -> list[Path]:
    """Return the extracts in a folder, by name; a path that is no folder is one itself."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
    if not found:
        raise UnreadableFile(f"{path}: no extract in this folder ({', '.join(SUFFIXES)})")
    return found


def suffix_of(path: Path) -> str:
    """Return which of SUFFIXES a file name has; raises UnreadableFile for others."""
    for suffix in SUFFIXES:
        if path.name.endswith(suffix):
            return suffix
    if path.suffix == ".pbf":
        return ".osm.pbf"
    raise UnreadableFile(
        f"{path.name}: unknown kind of file; known are {', '.join(SUFFIXES)}",
    )


def check_input(path: Path) -> None:
    """Raise UnreadableFile when a file is missing, empty or of an unknown kind."""
    suffix_of(path)
    if not path.is_file():
        raise UnreadableFile(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise UnreadableFile(f"{path.name} is empty")


def is_sorted(path: Path) -> bool:
    """Return whether a .osm.pbf is sorted by type and id, without doubles or deleted elements.

    Reads the whole file: headers are not always true.
    """
    try:
        if not says_sorted(path):
            return False
        last = (-1, -(2**62))
        for block in iter_blocks(path):
            if not len(block.ids):
                continue
            if (block.type, int(block.ids[0])) <= last or (np.diff(block.ids) <= 0).any():
                return False
            if block.visible is not None and not block.visible.all():
                return False
            last = (block.type, int(block.ids[-1]))
    except NeedsRewrite:
        return False
    return True


def says_sorted(path: Path) -> bool:
    """Return whether a .osm.pbf says that it is sorted; not all that say so are."""
    return read_header(path).is_sorted


def sort_memory_bytes(inputs: list[Path]) -> int:
    """Return the memory that sorting these inputs takes, as an upper estimate."""
    return sum(int(p.stat().st_size * SORT_MEMORY_PER_BYTE[suffix_of(p)]) for p in inputs)


def prepare_source(
    inputs: list[Path],
    target: Path,
    say: Callable[[str], None] = lambda _: None,
    problems: Problems | None = None,
    *,
    trust: bool = False,
    memory_bytes: int = UNLIMITED,
) -> Header:
    """Write the inputs, sorted and merged, to `target`; return the header of the result.

    Of an element in several versions the newest counts. Deleted ones are left out and named in
    `problems`. Raises UnreadableFile for input that is no OSM data, is cut off or holds negative
    ids. With `trust` files that say they are sorted are not looked through: that is left to who
    reads `target` next, and to `sort_source` where it is not. `memory_bytes` is what sorting and
    merging may take.
    """
    is_right = says_sorted if trust else is_sorted
    if all(suffix_of(path) == ".osm.pbf" and is_right(path) for path in inputs):
        if len(inputs) == 1:
            say("copying the source")
            _link_or_copy(inputs[0], target)
        else:
            say("merging")
            with _open_target(inputs, target) as writer, _scratch(target) as folder:
                merge_files(inputs, writer, memory_bytes, folder)
        return read_header(target)
    return sort_source(inputs, target, say, problems, memory_bytes)


def sort_source(
    inputs: list[Path],
    target: Path,
    say: Callable[[str], None] = lambda _: None,
    problems: Problems | None = None,
    memory_bytes: int = UNLIMITED,
) -> Header:
    """Do the same for inputs that are not all sorted."""
    say("sorting and merging")
    with _open_target(inputs, target) as writer:
        gone = find_deleted(inputs)
        if gone is None:
            with _scratch(target) as folder:
                runs: list[Path] = []
                for number, path in enumerate(inputs):
                    own = folder / str(number)
                    own.mkdir()
                    runs += write_runs(path, own, memory_bytes)
                merge_files(runs, writer, memory_bytes, folder)
        else:
            # Whether an element lives is told by its newest version: they are all held.
            reader = osmium.MergeInputReader()
            for path in inputs:
                reader.add_file(str(path))
            living = _Living(writer, gone)
            reader.apply(living, simplify=True)
            if problems is not None and living.left_out:
                problems[DELETED] = [(name, "") for name in living.left_out]
    if not is_sorted(target):
        raise UnreadableFile(
            "the input holds negative ids (objects that were never uploaded); "
            "renumber or drop them first, for example with: osmium renumber"
        )
    return read_header(target)


@contextmanager
def _open_target(inputs: list[Path], target: Path) -> Iterator[osmium.SimpleWriter]:
    """Give a writer with the header of all inputs; what fails in it is told of the inputs."""
    header = osmium.io.Header()
    newest = ""
    for path in inputs:
        try:
            own = osmium.io.Reader(str(path)).header()
            box = own.box()
            if box.valid():
                header.add_box(box)
            if len(inputs) == 1:
                for key in _HEADER_KEYS:
                    if own.get(key):
                        header.set(key, own.get(key))
            newest = max(newest, own.get(_HEADER_KEYS[0]))
        except MemoryError:
            raise
        except Exception as error:  # osmium has classes of its own, for wrong coordinates too
            raise UnreadableFile(f"{path.name} cannot be read: {error}") from error
    if newest:
        header.set(_HEADER_KEYS[0], newest)
    header.set("sorting", "Type_then_ID")
    header.set("generator", "mapyard")
    writer = osmium.SimpleWriter(str(target), header=header, overwrite=True)
    try:
        yield writer
    except (MapyardError, NeedsRewrite, MemoryError, OSError):
        raise
    except Exception as error:  # osmium has classes of its own
        if os.strerror(errno.ENOSPC) in str(error):
            raise OSError(errno.ENOSPC, str(error)) from error
        names = ", ".join(path.name for path in inputs)
        raise UnreadableFile(f"{names} cannot be read: {error}") from error
    finally:
        writer.close()


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="work-", dir=target.parent) as folder:
        yield Path(folder)


class _Living(osmium.SimpleHandler):
    """Writes what is not deleted, and notes what is."""

    def __init__(self, writer: osmium.SimpleWriter, gone: set[tuple[str, int]]) -> None:
        super().__init__()
        self._writer = writer
        self._gone = gone
        self.left_out: list[str] = []

    def node(self, item: Any) -> None:
        """Take a node."""
        if self._lives("node", item):
            self._writer.add_node(item)

    def way(self, item: Any) -> None:
        """Take a way."""
        if self._lives("way", item):
            self._writer.add_way(item)

    def relation(self, item: Any) -> None:
        """Take a relation."""
        if self._lives("relation", item):
            self._writer.add_relation(item)

    def _lives(self, kind: str, item: Any) -> bool:
        if not item.deleted and (kind, item.id) not in self._gone:
            return True
        self.left_out.append(f"{kind}/{item.id}")
        return False


def find_deleted(inputs: list[Path]) -> set[tuple[str, int]] | None:
    """Return the elements that editors marked as deleted; None where no input has deleted ones.

    A file whose elements are marked `visible="false"` (or so in a PBF) gives the empty set: the
    reader itself tells those.
    """
    gone: set[tuple[str, int]] = set()
    has_any = False
    for path in inputs:
        if suffix_of(path) == ".osm.pbf":
            has_any = has_any or _has_hidden(path)
        elif _mentions_deleted(path):
            has_any = True
            gone |= _read_actions(path)
    return gone if has_any else None


def _has_hidden(path: Path) -> bool:
    """Return whether a .osm.pbf has elements that are not visible, or cannot be looked at."""
    try:
        return any(
            block.visible is not None and not block.visible.all() for block in iter_blocks(path)
        )
    except NeedsRewrite:
        return True


def _open_xml(path: Path) -> Any:
    opens: dict[str, Callable[..., Any]] = {".osm.gz": gzip.open, ".osm.bz2": bz2.open}
    return opens.get(suffix_of(path), open)(path, "rb")


def _mentions_deleted(path: Path) -> bool:
    rest = b""
    with _open_xml(path) as file:
        while chunk := file.read(1 << 20):
            if _DELETED_MARK.search(rest + chunk):
                return True
            rest = chunk[-64:]
    return False


def _read_actions(path: Path) -> set[tuple[str, int]]:
    gone: set[tuple[str, int]] = set()

    def start(name: str, attributes: dict[str, str]) -> None:
        if attributes.get("action") == "delete" and name in ("node", "way", "relation"):
            gone.add((name, int(attributes["id"])))

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    with _open_xml(path) as file:
        try:
            parser.ParseFile(file)
        except (expat.ExpatError, KeyError, ValueError) as error:
            raise UnreadableFile(f"{path.name} cannot be read: {error}") from error
    return gone


def _link_or_copy(source: Path, target: Path) -> None:
    """Copy on write where the file system can, else copy; never a hard link to a user's file."""
    with source.open("rb") as reading, target.open("wb") as writing:
        try:
            os.copy_file_range(reading.fileno(), writing.fileno(), source.stat().st_size)
            if writing.seek(0, os.SEEK_END) == source.stat().st_size:
                return
        except OSError:
            pass
        reading.seek(0)
        writing.seek(0)
        writing.truncate()
        shutil.copyfileobj(reading, writing, 1 << 20)
