"""Tags while a store is patched: dictionary, postings and lists out of old ones and upserts."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import (
    Heap,
    join_heap,
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
#: The new row of what is not kept.
_GONE: Final = np.uint32(2**32 - 1)


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
    known = _Dictionary(old_folder)
    old_to_all, new_to_all, inserted = _merge_texts(known, upserts.texts)
    count = len(old_to_all) + len(inserted.places)

    new_row_of = np.where(keep, row_map, _GONE).astype(np.uint32)
    fresh = new_to_all[upserts.tag_kvs]
    old = _take_postings(old_folder, "kv", new_row_of)
    order = np.lexsort((rows, fresh))
    kv_rows, counts, _ = _add_postings(old, old_to_all, count, fresh[order], rows[order])
    # A value that nobody has any more leaves the dictionary.
    used = counts > 0
    final = np.cumsum(used) - 1
    write_column(folder, "kv_rows", kv_rows)
    write_offsets(folder, "kv_offsets", counts[used])
    all_keys = _write_texts(folder, known, inserted, used, old_to_all)
    _patch_lists(
        old_folder,
        folder,
        (keep, row_map, rows),
        final[old_to_all],
        final[fresh],
    )

    key_number = {key: number for number, key in enumerate(all_keys)}
    lasting = np.array([key_number.get(key, -1) for key in known.keys], np.int64)
    old = _take_postings(old_folder, "key", new_row_of)
    old_kvs = final[old_to_all].astype(np.uint32)[np.delete(_read_key_kvs(old_folder), old.gone)]
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
    """Kept postings, run after run: their new rows, how many each run has, places of the others."""

    rows: NDArray[np.uint32]
    counts: Ints
    gone: Ints


def _take_postings(folder: Path, name: str, new_row_of: NDArray[np.uint32]) -> _Postings:
    offsets, rows = (open_column(folder, f"{name}_{part}") for part in ("offsets", "rows"))
    mapped = new_row_of[rows]
    gone = np.flatnonzero(mapped == _GONE)
    runs = np.searchsorted(offsets, gone.astype(offsets.dtype), side="right") - 1
    counts = (offsets[1:] - offsets[:-1]).astype(np.int64)
    counts -= np.bincount(runs, minlength=len(counts))
    return _Postings(np.delete(mapped, gone), counts, gone)


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


class _Dictionary:
    """The dictionary of the old store: keys, where the values of each begin, and the values."""

    def __init__(self, folder: Path) -> None:
        self.key_kv: Ints = open_column(folder, "key_kv")
        self.keys = Heap(folder, "key_text").span(0, len(self.key_kv) - 1)
        self.values = Heap(folder, "value_text")
        self.value_bytes = open_column(folder, "value_text_bytes")

    def find(self, key: bytes, value: bytes) -> tuple[int, bool]:
        """Return the kv id of a tag, or before which one it would be; and whether it is there."""
        number = bisect_left(self.keys, key)
        start = int(self.key_kv[number])
        if number == len(self.keys) or self.keys[number] != key:
            return start, False
        stop = int(self.key_kv[number + 1])
        kv = self.values.find(value, start, stop)
        return kv, kv < stop and self.values[kv] == value


class _Inserted(NamedTuple):
    """Tags that the old dictionary lacks: their places among all, keys and values."""

    places: Ints
    keys: list[bytes]
    values: list[bytes]


def _merge_texts(old: _Dictionary, texts: list[bytes]) -> tuple[Ints, Ints, _Inserted]:
    """Return the number among all tags of each old one and of each text, and what is new.

    `texts` are key NUL value, sorted.
    """
    tags = [text.split(b"\0", 1) for text in texts]
    found = [old.find(key, value) for key, value in tags]
    at = np.array([kv for kv, _ in found], np.int64)
    is_new = np.array([not is_there for _, is_there in found], np.bool_)
    # Those that come before each old one.
    before = np.cumsum(np.bincount(at[is_new], minlength=len(old.values) + 1))
    old_to_all = np.arange(len(old.values)) + before[:-1]
    places = at[is_new] + np.arange(int(is_new.sum()))
    new_to_all = np.empty(len(texts), np.int64)
    new_to_all[is_new] = places
    new_to_all[~is_new] = old_to_all[at[~is_new]]
    chosen = [tags[index] for index in np.flatnonzero(is_new).tolist()]
    inserted = _Inserted(places, [key for key, _ in chosen], [value for _, value in chosen])
    return old_to_all, new_to_all, inserted


def _write_texts(
    folder: Path,
    old: _Dictionary,
    inserted: _Inserted,
    used: NDArray[np.bool_],
    old_to_all: Ints,
) -> list[bytes]:
    """Write the dictionary of the tags that are used; return its keys."""
    stays, is_added = used[old_to_all], used[inserted.places]
    counts: dict[bytes, int] = dict.fromkeys(old.keys, 0)
    sums = offsets_of(stays)[old.key_kv]
    counts.update(zip(old.keys, (sums[1:] - sums[:-1]).tolist(), strict=True))
    added: list[bytes] = []
    for key, value, is_used in zip(inserted.keys, inserted.values, is_added, strict=True):
        if is_used:
            counts[key] = counts.get(key, 0) + 1
            added.append(value)
    keys = sorted(key for key, count in counts.items() if count)
    write_heap(folder, "key_text", keys)
    lengths = np.array([counts[key] for key in keys], np.int64)
    write_column(folder, "key_kv", offsets_of(lengths))
    Splice(stays, old_to_all[stays], inserted.places[is_added]).write_ragged(
        folder,
        ("value_text_bytes", "value_text_offsets"),
        old.value_bytes,
        old.values.offsets.astype(np.int64),
        *join_heap(added),
    )
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
