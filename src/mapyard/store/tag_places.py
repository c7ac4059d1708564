"""Where the elements of a frequent tag lie: the lowest nodes of the feature R-tree that hold one.

In a box there are many elements, and in the whole map many with the tag, but few are both. Per tag
the numbers of its nodes ascend, as those of a box do, so that both meet without a look at either's
elements. The nodes of all tags are one column in frames: number of the tag times nodes, plus node.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.native import address
from mapyard.store.columns import open_column, ranges, write_column
from mapyard.store.distinct import distinct
from mapyard.store.frames import Frames, FrameWriter
from mapyard.store.kernels import Tagged, load_kernels, place
from mapyard.store.rtree import FANOUT, Rtree, clip_box
from mapyard.store.sorting import Sorter

#: Tags of up to so many elements are gone through whole.
FEW: Final = 2_048
_AT_ONCE: Final = 1 << 18
_SHIFT: Final = np.uint64(32)
_LOW: Final = np.uint64(2**32 - 1)


def write_tag_places(folder: Path, memory_bytes: int) -> None:
    """Write the columns `tag_place_kvs` and `tag_places`, out of tags and feature R-tree."""
    kvs = find_frequent(open_column(folder, "kv_offsets"))
    write_column(folder, "tag_place_kvs", kvs)
    rows = open_column(folder, "feature_rtree_rows")
    nodes = count_nodes(rows)
    with Sorter(folder, memory_bytes) as sorter, FrameWriter(folder, "tag_places") as codes:
        for start in range(0, len(rows) if len(kvs) else 0, _AT_ONCE):
            sorter.add(list_pairs(folder, kvs, rows[start : start + _AT_ONCE], start))
        for block in sorter.blocks():
            pairs = distinct(block)
            codes.append((pairs >> _SHIFT) * np.uint64(nodes) + (pairs & _LOW))


def find_frequent(offsets: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the kv ids with more than a few elements."""
    found = [np.empty(0, np.uint32)]
    for start in range(0, len(offsets) - 1, _AT_ONCE):
        counts = np.diff(offsets[start : start + _AT_ONCE + 1].astype(np.int64))
        found.append((np.flatnonzero(counts > FEW) + start).astype(np.uint32))
    return np.concatenate(found)


def count_nodes(rows: NDArray[Any]) -> int:
    """Return how many lowest nodes a tree over so many items has."""
    return -(-len(rows) // FANOUT)


def list_pairs(
    folder: Path, kvs: NDArray[np.uint32], rows: NDArray[np.uint32], start: int
) -> NDArray[np.uint64]:
    """Return tag number << 32 | node for each frequent tag of items of the tree from `start`."""
    tagged = open_column(folder, "tag_rows")
    if not len(tagged) or not len(kvs):
        return np.empty(0, np.uint64)
    at = np.searchsorted(tagged, rows)
    at[at == len(tagged)] = 0
    has = np.flatnonzero(tagged[at] == rows)
    at = at[has]
    offsets = open_column(folder, "tag_offsets")
    begins = offsets[at].astype(np.int64)
    lengths = offsets[at + 1] - begins
    found = open_column(folder, "tag_kvs")[ranges(begins, lengths)].astype(np.uint32)
    nodes = np.repeat((start + has) // FANOUT, lengths)
    number = np.searchsorted(kvs, found)
    number[number == len(kvs)] = 0
    is_frequent = kvs[number] == found
    return number[is_frequent].astype(np.uint64) << _SHIFT | nodes[is_frequent].astype(np.uint64)


class TagPlaces:
    """The index of a written store; stores from before there was one have no tags in it."""

    def __init__(self, folder: Path, tree: Rtree) -> None:
        self._tree = tree.for_kernels()
        self._numbers: dict[int, int] = {}
        if not (folder / "tag_place_kvs.npy").is_file():
            return
        kvs = open_column(folder, "tag_place_kvs").tolist()
        self._numbers = {kv: number for number, kv in enumerate(kvs)}
        self._nodes = Frames(folder, "tag_places")
        self._node_count = count_nodes(tree.rows)

    def find(
        self, kv: int, rows: NDArray[np.uint32], box: tuple[int, int, int, int], most: int
    ) -> NDArray[np.uint32] | None:
        """Return those of the `rows` with a tag whose box meets a box, in any order.

        None where the tag is not in the index, or more than `most` are found.
        """
        number = self._numbers.get(kv)
        if number is None:
            return None
        first = number * self._node_count
        tagged = Tagged(self._nodes.address, address(rows, np.uint32), first, len(rows))
        asked, found = np.array(clip_box(box), np.int64), np.empty(most, np.uint32)
        count: int = load_kernels().find_tagged(
            ctypes.addressof(self._tree), ctypes.addressof(tagged), place(asked), place(found), most
        )
        if count < 0:
            raise IndexError("the tree or its nodes by tag are damaged")
        return found[:count] if count <= most else None
