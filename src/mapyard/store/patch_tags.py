"""Tags while a store is patched: dictionary, postings and lists out of old ones and upserts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import (
    Heap,
    offsets_of,
    open_column,
    write_column,
    write_heap,
    write_offsets,
)
from mapyard.store.dictionary import list_tags, write_key_values
from mapyard.store.key_values import KeyValues
from mapyard.store.merge import Splice
from mapyard.store.upserts import Upserts

Ints = NDArray[np.int64]


def patch_tags(
    old_folder: Path,
    folder: Path,
    upserts: Upserts,
    keep: NDArray[np.bool_],
    row_map: Ints,
    new_rows: Ints,
) -> None:
    """Write the tag columns; `keep` and `row_map` are over old rows, `new_rows` of upserts."""
    rows = new_rows[upserts.tag_items].astype(np.uint32)
    old_texts = _read_texts(old_folder)
    texts, old_to_all, new_to_all = _merge_texts(old_texts, upserts.texts)

    new_row_of = row_map.astype(np.uint32)
    fresh = new_to_all[upserts.tag_kvs]
    old = _take_postings(old_folder, "kv", keep, new_row_of)
    order = np.lexsort((rows, fresh))
    kv_rows, counts, _ = _add_postings(old, old_to_all, len(texts), fresh[order], rows[order])
    # A value that nobody has any more leaves the dictionary.
    used = counts > 0
    final = np.cumsum(used) - 1
    write_column(folder, "kv_rows", kv_rows)
    write_offsets(folder, "kv_offsets", counts[used])
    if not used.all():
        texts = [text for text, is_used in zip(texts, used.tolist(), strict=True) if is_used]
    all_keys = _write_texts(folder, texts)
    _patch_lists(
        old_folder,
        folder,
        (keep, row_map, rows),
        final[old_to_all],
        final[fresh],
    )

    old_keys = Heap(old_folder, "key_text").span(0, len(open_column(old_folder, "key_kv")) - 1)
    key_number = {key: number for number, key in enumerate(all_keys)}
    lasting = np.array([key_number.get(key, -1) for key in old_keys], np.int64)
    old = _take_postings(old_folder, "key", keep, new_row_of)
    old_kvs = final[old_to_all].astype(np.uint32)[_read_key_kvs(old_folder)[old.kept]]
    new_keys = np.array([key_number[t.split(b"\0", 1)[0]] for t in upserts.texts], np.int64)
    keys = new_keys[upserts.tag_kvs]
    order = np.lexsort((rows, keys))
    key_rows, key_counts, places = _add_postings(
        old, lasting, len(all_keys), keys[order], rows[order]
    )
    write_column(folder, "key_rows", key_rows)
    write_offsets(folder, "key_offsets", key_counts)
    all_kvs = np.insert(old_kvs, places, final[fresh[order]].astype(np.uint32))
    write_key_values(folder, open_column(folder, "key_kv"), key_counts, all_kvs)


class _Postings(NamedTuple):
    """Kept postings, run after run: their new rows, how many each run has, which were kept."""

    rows: NDArray[np.uint32]
    counts: Ints
    kept: NDArray[np.bool_]


def _take_postings(
    folder: Path, name: str, keep: NDArray[np.bool_], new_row_of: NDArray[np.uint32]
) -> _Postings:
    offsets, rows = (open_column(folder, f"{name}_{part}") for part in ("offsets", "rows"))
    kept = keep[rows]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return _Postings(new_row_of[rows[kept]], np.diff(before[offsets]), kept)


def _add_postings(
    old: _Postings, numbers: Ints, count: int, runs: Ints, rows: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], Ints, Ints]:
    """Return `count` runs of old and new rows, the length of each, and where the new ones come.

    `numbers` ascend: which run each old one becomes, −1 for none. New rows are sorted by run and
    row. Only runs that win one are looked at.
    """
    counts = np.zeros(count, np.int64)
    counts[numbers[numbers >= 0]] = old.counts[numbers >= 0]
    offsets = offsets_of(counts)
    places = np.empty(len(rows), np.int64)
    edges = np.flatnonzero(np.diff(runs, prepend=-1, append=-1)).tolist()
    for start, stop in pairwise(edges):
        low, high = offsets[runs[start]], offsets[runs[start] + 1]
        places[start:stop] = low + np.searchsorted(old.rows[low:high], rows[start:stop])
    total = counts + np.bincount(runs, minlength=count)
    return np.insert(old.rows, places, rows), total, places


def _read_texts(folder: Path) -> list[bytes]:
    """Return all texts key NUL value of a dictionary, sorted."""
    key_kv = open_column(folder, "key_kv").tolist()
    keys, values = Heap(folder, "key_text"), Heap(folder, "value_text")
    texts: list[bytes] = []
    for number, (start, stop) in enumerate(pairwise(key_kv)):
        prefix = keys[number] + b"\0"
        texts += [prefix + value for value in values.span(start, stop)]
    return texts


def _merge_texts(old: list[bytes], new: list[bytes]) -> tuple[list[bytes], Ints, Ints]:
    """Return the sorted union, and for old and new texts their index in it."""
    known = set(old)
    fresh = [text for text in new if text not in known]
    union = sorted(old + fresh)  # timsort merges the two sorted runs
    number = {text: index for index, text in enumerate(union)}
    return (
        union,
        np.fromiter((number[text] for text in old), np.int64, len(old)),
        np.fromiter((number[text] for text in new), np.int64, len(new)),
    )


def _write_texts(folder: Path, texts: list[bytes]) -> list[bytes]:
    """Write the dictionary; return its keys."""
    keys: list[bytes] = []
    starts: list[int] = []
    values = []
    for index, text in enumerate(texts):
        key, value = text.split(b"\0", 1)
        if not keys or keys[-1] != key:
            keys.append(key)
            starts.append(index)
        values.append(value)
    write_heap(folder, "key_text", keys)
    write_heap(folder, "value_text", values)
    write_column(folder, "key_kv", np.array([*starts, len(texts)], np.int64))
    return keys


def _read_key_kvs(folder: Path) -> NDArray[np.uint32]:
    """Return the kv ids of all keys' postings, key after key."""
    values, key_kv = KeyValues(folder), open_column(folder, "key_kv")
    counts = np.diff(open_column(folder, "key_offsets").astype(np.int64)).tolist()
    parts = [
        values.get(key, count).astype(np.uint32) + np.uint32(key_kv[key])
        for key, count in enumerate(counts)
    ]
    return np.concatenate([np.empty(0, np.uint32), *parts])


def _patch_lists(
    old_folder: Path,
    folder: Path,
    rows: tuple[NDArray[np.bool_], Ints, NDArray[np.uint32]],
    old_kv_map: Ints,
    new_kvs: Ints,
) -> None:
    """Write the kv ids of each tagged row; `rows` are what is kept, the map and new rows."""
    keep, row_map, new_rows = rows
    old_rows = open_column(old_folder, "tag_rows")
    kept = keep[old_rows]
    new_tagged, new_lengths = list_tags(new_rows)
    mapped = row_map[old_rows]
    splice = Splice(kept, mapped[kept], new_tagged.astype(np.int64))
    splice.write_ragged(
        folder,
        ("tag_kvs", "tag_offsets"),
        old_kv_map.astype(np.uint32)[open_column(old_folder, "tag_kvs")],
        open_column(old_folder, "tag_offsets"),
        new_kvs.astype(np.uint32),
        offsets_of(new_lengths),
    )
    write_column(folder, "tag_rows", splice.values(mapped, new_tagged).astype(np.uint32))
