"""Arrays beyond the memory that a build may take lie in files.

In the block of `spill_arrays`, whatever makes a large array gets memory as long as there is room,
then a file that is mapped into memory, which the system writes back when it needs the room: numpy
asks for memory where it is told to (NEP 49), so no code that works in arrays has to know. The files
have no names, so nothing is left of them whatever ends the build, and get their whole size at once,
as a full disk would otherwise be a bus error later.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_void_p, py_object
from pathlib import Path
from typing import Any, Final

from numpy._core import multiarray

from mapyard.store.kernels import Spilled, load_kernels

#: Smaller arrays stay in memory in any case.
LARGE_BYTES: Final = 1 << 20
_CAPSULE: Final = b"mem_handler"
#: Place of PyDataMem_SetHandler in numpy's table of functions, which is part of its ABI.
_SET_HANDLER: Final = 304
_handlers: list[int] = []


def _find_setter() -> Any:
    """Return numpy's function that takes a handler and returns the one before."""
    point = ctypes.pythonapi.PyCapsule_GetPointer
    point.restype, point.argtypes = c_void_p, (py_object, c_char_p)
    table = ctypes.cast(point(multiarray._ARRAY_API, None), ctypes.POINTER(c_void_p))
    return ctypes.PYFUNCTYPE(py_object, py_object)(table[_SET_HANDLER])


@contextmanager
def spill_arrays(folder: Path, memory_bytes: int) -> Iterator[None]:
    """Let large arrays that this thread makes in the block lie in files in a folder.

    `memory_bytes` are what those that stay in memory may take. Raises OSError where the disk is
    full. One block at a time.
    """
    kernels, set_handler = load_kernels(), _find_setter()
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = py_object, (c_void_p, c_char_p, c_void_p)
    handler = kernels.spill_begin(os.fsencode(folder.absolute()), memory_bytes, LARGE_BYTES)
    before = set_handler(make(handler, _CAPSULE, None))
    _handlers.append(handler)
    try:
        yield
    except MemoryError as error:
        told = tell_spilled()
        if not told.refused_error:
            raise
        raise OSError(
            told.refused_error,
            f"{os.strerror(told.refused_error)}: no room for {told.refused_bytes / 1e6:,.0f} MB "
            f"more of working files in {folder}",
        ) from error
    finally:
        _handlers.pop()
        set_handler(before)
        kernels.spill_end()


def find_handler() -> int | None:
    """Return where the handler of the block lies, for C of other rooms; None outside of one."""
    return _handlers[-1] if _handlers else None


def give_back_freed() -> None:
    """Give freed memory back to the system, where many small pieces were held before."""
    load_kernels().spill_trim()


def tell_spilled() -> Spilled:
    """Return what large arrays take, and what was refused last."""
    told = Spilled()
    load_kernels().spill_tell(byref(told))
    return told
