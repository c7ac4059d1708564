"""Arrays in files while they are filled: the same bytes as in memory, and nothing left behind."""

import errno
import os
from contextlib import nullcontext
from dataclasses import fields

import numpy as np
import pytest

from mapyard.routing.contraction import mapping
from mapyard.routing.contraction.hierarchy import contract
from mapyard.routing.contraction.mapping import make_file, open_scratch, share_memory
from mapyard.routing.contraction.profiles import MODE_COSTS
from mapyard.routing.contraction.tiles import read_graph
from mapyard.routing.contraction.writing import write_mode
from mapyard.store import spill


@pytest.mark.parametrize("shape", [(0,), (0, 4), (5,), (300, 4)])
@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.uint8])
def test_files_are_those_that_numpy_writes(shape, kind, tmp_path):
    values = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    made = make_file(tmp_path / "made.npy", shape, kind)
    made[...] = values
    del made
    np.save(tmp_path / "saved.npy", values)
    assert (tmp_path / "made.npy").read_bytes() == (tmp_path / "saved.npy").read_bytes()


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    """Not a bus error when a page is written to."""

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(OSError, match="No space"):
        make_file(tmp_path / "made.npy", (5,), np.int32)
    with open_scratch(tmp_path, 0) as scratch, pytest.raises(OSError, match="No space"):
        scratch.make("one", (1 << 20,), np.int32)


def test_scratch_outlives_its_names_and_leaves_nothing(tmp_path):
    values = np.arange(1 << 20)
    with open_scratch(tmp_path, 0) as scratch:
        moved = scratch.move(values)
        assert not np.shares_memory(moved, values)
        (folder,) = tmp_path.iterdir()
        assert list(folder.iterdir()) == []  # held by the array alone
        few = np.arange(9)
        assert scratch.move(few) is few
    assert list(tmp_path.iterdir()) == []
    assert (moved == values).all()


@pytest.mark.parametrize("mode", ["auto", "foot"])
def test_what_is_prepared_in_files_is_the_same(graph, mode, tmp_path, monkeypatch):
    tiles = graph / "tiles.tar"
    for name, memory_bytes in (("plain", 1 << 30), ("mapped", 0)):
        monkeypatch.setattr(mapping, "_LARGE_BYTES", 1)
        with open_scratch(tmp_path, memory_bytes) as scratch:
            roads = read_graph(tiles, scratch.move)
            write_mode(roads, MODE_COSTS[mode], tmp_path / name, scratch=scratch)
    names = sorted(path.name for path in (tmp_path / "plain").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "mapped").iterdir())
    assert "strict-up.npy" in names
    for name in names:
        plain, mapped = ((tmp_path / part / name).read_bytes() for part in ("plain", "mapped"))
        assert plain == mapped, name


def test_c_has_its_memory_where_arrays_have_it(tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "LARGE_BYTES", 4096)
    rng = np.random.default_rng(1)
    ends = np.sort(rng.integers(0, 3_000, (2, 9_000)).astype(np.int32), axis=0)
    costs = rng.integers(0, 1_000, (3, 9_000)).astype(np.int32)
    plain = contract(3_000, *ends, *costs)
    made = []
    for shares in (False, True):
        with spill.spill_arrays(tmp_path, 0), share_memory() if shares else nullcontext():
            found = contract(3_000, *ends, *costs)
            for name in [field.name for field in fields(plain)]:
                assert (getattr(plain, name) == getattr(found, name)).all()
            made.append(spill.tell_spilled().spilled_bytes)
    assert made[1] > made[0] + 100_000
    assert spill.find_handler() is None


def test_what_is_held_in_memory_is_bounded(tmp_path):
    values = np.arange(1 << 20)
    with open_scratch(tmp_path, 5 * values.nbytes) as scratch:
        held = [scratch.move(values.copy()) for _ in range(4)]
        assert [isinstance(array.base, np.memmap) for array in held] == [False, False, True, True]
        view = held[0][5:]
        del held[:2]
        moved = scratch.move(values.copy())
        assert moved.base is None  # in the place of the second
        assert isinstance(scratch.move(values.copy()).base, np.memmap)
        del view
        assert scratch.make("one", (1 << 20,), np.int64).base is None
