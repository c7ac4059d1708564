"""Blocks of a file by their tags and refs, without an object per element."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.pbf import Block
from mapyard.store.distinct import distinct

type Ints = NDArray[np.int64]
type Bools = NDArray[np.bool_]
type Tags = dict[str, str]


def is_in(values: Ints, wanted: Ints) -> Bools:
    """Return which values are in the sorted `wanted`."""
    if not len(wanted):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    return np.asarray(wanted[at] == values)


def find_rows(offsets: Ints, hits: Bools) -> Ints:
    """Return the rows that a hit lies in, of tags or refs with these offsets."""
    return distinct(np.searchsorted(offsets, np.flatnonzero(hits), side="right") - 1)


def find_rows_with_keys(block: Block, keys: Collection[str]) -> Ints:
    """Return the rows that have a tag with one of the keys."""
    wanted = {key.encode() for key in keys}
    known = [number for number, text in enumerate(block.strings) if text in wanted]
    return find_rows(block.tag_offsets, np.isin(block.tag_keys, known))


def read_tags(block: Block, row: int) -> Tags:
    """Return the tags of a row."""
    run = slice(int(block.tag_offsets[row]), int(block.tag_offsets[row + 1]))
    return {
        block.strings[key].decode("utf-8", "replace"): block.strings[value].decode(
            "utf-8", "replace"
        )
        for key, value in zip(
            block.tag_keys[run].tolist(), block.tag_values[run].tolist(), strict=True
        )
    }


def read_refs(block: Block, row: int) -> Ints:
    """Return the refs of a way, or of the members of a relation."""
    assert block.refs is not None and block.offsets is not None
    return block.refs[block.offsets[row] : block.offsets[row + 1]]
