"""Arrays in files that are mapped into memory while they are filled.

What is large and beyond the memory that a build may take lies there: the system writes pages back
when it needs room. Files get their whole size at once, as a full disk would otherwise be a bus
error later.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from mapyard.routing.kernels import has_kernels, load_kernels
from mapyard.store.spill import find_handler

#: What preparing ways may take where nobody says how much.
MEMORY_BYTES: Final = 1 << 30
#: Of it for what is held; the rest is for what numpy makes on the way.
_SHARE: Final = 0.5
#: Smaller scratch stays in memory in any case.
_LARGE_BYTES: Final = 1 << 20


def make_file(path: Path, shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return an array that is the content of a new .npy file."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    if not size:
        np.save(path, np.empty(shape, kind))
        return np.empty(shape, kind)
    made = open_memmap(path, "w+", kind, shape)
    _reserve(path)
    return np.asarray(made)


class Scratch:
    """Arrays that are needed for a while: in memory as long as they fit, then in files.

    Several threads may use one.
    """

    def __init__(self, folder: Path, memory_bytes: int) -> None:
        self._folder = folder
        # Arrays may be let go while one is counted.
        self._lock = threading.RLock()
        self._room = int(_SHARE * memory_bytes)
        self._made = 0

    def make(self, name: str, shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
        """Return an array to be filled; its file goes when nobody holds it any more."""
        dtype = np.dtype(kind)
        size = int(np.prod(shape)) * dtype.itemsize
        with self._lock:
            if self._fits(size):
                return self._hold(np.empty(shape, dtype))
            self._made += 1
            path = self._folder / f"{self._made}-{name}"
        made = np.memmap(path, dtype, "w+", shape=shape)
        _reserve(path)
        path.unlink()
        return np.asarray(made)

    def move[Array: NDArray[Any]](self, array: Array) -> Array:
        """Return what is to be held instead of an array: a copy, or itself where it fits."""
        with self._lock:
            if self._fits(array.nbytes):
                return self._hold(array)
        moved = self.make("moved", array.shape, array.dtype.type)
        moved[...] = array
        return moved  # type: ignore[return-value] # of the same kind

    def _fits(self, size: int) -> bool:
        return size < _LARGE_BYTES or size <= self._room

    def _hold[Array: NDArray[Any]](self, array: Array) -> Array:
        """Count an array until nobody holds it any more."""
        size = array.nbytes

        def let_go() -> None:
            with self._lock:
                self._room += size

        if size >= _LARGE_BYTES:
            self._room -= size
            weakref.finalize(array, let_go).atexit = False
        return array


@contextmanager
def open_scratch(folder: Path, memory_bytes: int = MEMORY_BYTES) -> Iterator[Scratch]:
    """Keep scratch in a folder, until the end of the block.

    `memory_bytes` are what a build may take in all: half of them are for this.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix="scratch-") as name:
        yield Scratch(Path(name), memory_bytes)


@contextmanager
def share_memory() -> Iterator[None]:
    """Let our C have its memory where numpy has it: in files, where a build's is limited."""
    handler = find_handler() if has_kernels() else None
    if handler is not None:
        load_kernels().take_memory_from(handler)
    try:
        yield
    finally:
        if handler is not None:
            load_kernels().take_memory_from(None)


def _reserve(path: Path) -> None:
    with path.open("rb+") as file:
        os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
