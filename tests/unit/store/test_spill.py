"""Large arrays beyond the memory that a build may take lie in files that have no names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mapyard.store.spill import LARGE_BYTES, spill_arrays, tell_spilled

MB = 1 << 20


def anonymous_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("RssAnon"))) * 1024


def test_what_is_beyond_the_limit_is_in_no_memory_and_in_no_folder(tmp_path: Path) -> None:
    before = anonymous_bytes()
    with spill_arrays(tmp_path, 20 * MB):
        arrays = [np.full(MB, number, np.int64) for number in range(10)]
        assert anonymous_bytes() - before < 30 * MB
        told = tell_spilled()
        assert told.held_bytes <= 20 * MB
        assert told.spilled_bytes == 80 * MB - told.held_bytes // (8 * MB) * 8 * MB
        assert list(tmp_path.iterdir()) == []
    joined = np.concatenate(arrays)  # they outlive the block
    assert (joined == np.repeat(np.arange(10), MB)).all()
    del arrays
    assert tell_spilled().held_bytes == 0


def test_arrays_grow_and_shrink_across_the_limit(tmp_path: Path) -> None:
    count = 9 * MB // 8
    with spill_arrays(tmp_path, 3 * MB):
        grown = np.fromiter((number for number in range(count)), np.int64)
        assert tell_spilled().spilled_bytes > 0
        assert (grown == np.arange(count)).all()
        grown.resize(100, refcheck=False)
        assert grown.tolist() == list(range(100))
        assert not np.zeros(count).any()
    assert list(tmp_path.iterdir()) == []


def test_freed_memory_is_used_again_and_given_back_at_the_end(tmp_path: Path) -> None:
    def place(array: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
        return int(array.__array_interface__["data"][0])

    count = 2 * MB // 8
    with spill_arrays(tmp_path, 64 * MB):
        where = place(np.empty(count, np.int64))
        again = np.empty(count - 1000, np.int64)
        assert place(again) == where
        assert tell_spilled().held_bytes >= 2 * MB
        again[:] = 7
        zeros = np.zeros(count, np.int64)
        del again
        assert not zeros.any()
        # A quarter of the room is kept at most, and none of it where arrays need the room.
        del zeros
        many = [np.empty(count, np.int64) for _ in range(10)]
        del many
        assert 12 * MB < tell_spilled().held_bytes <= 16 * MB
        whole = np.empty(63 * MB // 8, np.int64)
        assert tell_spilled().spilled_bytes == 0
        del whole
    assert tell_spilled().held_bytes == 0
    late = np.empty(count, np.int64)
    del late
    assert tell_spilled().held_bytes == 0


def test_many_small_files_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More arrays than the table of them takes stay in memory, and all are found again."""
    monkeypatch.setattr("mapyard.store.spill.LARGE_BYTES", 4096)
    with spill_arrays(tmp_path, 0):
        arrays = [np.full(1024, number) for number in range(2_500)]
        order = np.random.default_rng(1).permutation(len(arrays)).tolist()
        for number in order[::2]:
            arrays[number] = np.empty(0)
        assert all((arrays[number] == number).all() for number in order[1::2])


def test_there_is_one_error_when_the_disk_is_full(tmp_path: Path) -> None:
    program = f"""
import resource
import numpy as np
from pathlib import Path
from mapyard.store.spill import spill_arrays
resource.setrlimit(resource.RLIMIT_FSIZE, ({4 * MB}, {4 * MB}))
with spill_arrays(Path({str(tmp_path)!r}), {2 * LARGE_BYTES}):
    np.zeros({MB})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    error = done.stderr.splitlines()[-1]
    assert error.startswith("OSError: [Errno 27] File too large: no room for 8 MB more of working")
    assert str(tmp_path) in error
    assert list(tmp_path.iterdir()) == []


def test_other_lack_of_memory_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(MemoryError, match="mine"), spill_arrays(tmp_path, 0):
        raise MemoryError("mine")
