"""Tags while a store is patched: dictionary, postings and lists out of old ones and upserts."""

from __future__ import annotations

import ctypes
from bisect import bisect_left
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import (
    Heap,
    join_heap,
    offsets_of,
    open_column,
    ranges,
    write_column,
    write_heap,
    write_offsets,
)
from mapyard.store.dictionary import list_tags
from mapyard.store.kernels import describe_runs, load_kernels, place
from mapyard.store.key_values import KeyValues, KeyValuesWriter
from mapyard.store.merge import Splice, places_of
from mapyard.store.patching.rows import RowPlan
from mapyard.store.patching.upserts import Upserts
from mapyard.store.row_map import RowMap

Ints = NDArray[np.int64]
Rows = NDArray[np.uint32]


def patch_tags(old_folder: Path, folder: Path, upserts: Upserts, plan: RowPlan) -> RowMap:
    """Write the tag columns; return where the old kv ids went."""
    known = _Dictionary(old_folder)
    tags = _Tags(upserts, plan)
    old_to_all, new_to_all, inserted = _merge_texts(known, upserts.texts)
    lost = _list_lost(old_folder, plan.replaced)

    postings = _Postings(old_folder, "kv", plan.kept)
    count = len(old_to_all) + len(inserted.places)
    fresh = new_to_all[upserts.tag_kvs]
    order = np.lexsort((tags.rows, fresh))
    counts = postings.count(lost.rows, lost.kvs, old_to_all, fresh, count)
    old_kvs, is_there = inserted.old_runs
    postings.write(folder, tags, order, old_kvs[upserts.tag_kvs], is_there[upserts.tag_kvs])
    # A value that nobody has any more leaves the dictionary.
    used = counts > 0
    final = np.cumsum(used) - 1
    write_offsets(folder, "kv_offsets", counts[used])
    all_keys = _write_texts(folder, known, inserted, used, old_to_all)
    new_kv_of = np.where(used, final, -1)[old_to_all]
    kv_map = RowMap.of(new_kv_of)
    _patch_lists(old_folder, folder, tags, plan, kv_map, final[fresh])

    key_number = {key: number for number, key in enumerate(all_keys)}
    lasting = np.array([key_number.get(key, -1) for key in known.keys], np.int64)
    new_keys = [text.split(b"\0", 1)[0] for text in upserts.texts]
    numbers = np.array([key_number[key] for key in new_keys], np.int64)
    before = np.array([bisect_left(known.keys, key) for key in new_keys], np.int64)
    is_there = np.array([key in known.key_set for key in new_keys], np.bool_)
    keys = numbers[upserts.tag_kvs]
    order = np.lexsort((tags.rows, keys))
    postings = _Postings(old_folder, "key", plan.kept)
    old_keys = np.searchsorted(known.key_kv, lost.kvs, side="right") - 1
    counts = postings.count(lost.rows, old_keys, lasting, keys, len(all_keys))
    at = postings.write(folder, tags, order, before[upserts.tag_kvs], is_there[upserts.tag_kvs])
    write_offsets(folder, "key_offsets", counts)
    _patch_key_values(old_folder, folder, postings, lasting, new_kv_of, at, final[fresh[order]])
    return kv_map


class _Tags:
    """The tags of upserts: the new row of each, and which old row it was or comes before."""

    def __init__(self, upserts: Upserts, plan: RowPlan) -> None:
        self.rows = plan.new_rows[upserts.tag_items].astype(np.uint32)
        self.old_at = plan.old_at[upserts.tag_items].astype(np.uint32)


class _Lost(NamedTuple):
    """The tags of old rows that are not kept: row and kv id of each."""

    rows: Rows
    kvs: Ints


def _list_lost(folder: Path, replaced: Ints) -> _Lost:
    rows = open_column(folder, "tag_rows")
    places = places_of(rows, replaced)
    offsets = open_column(folder, "tag_offsets")
    starts = offsets[places].astype(np.int64)
    lengths = offsets[places + 1] - starts
    kvs = open_column(folder, "tag_kvs")[ranges(starts, lengths)].astype(np.int64)
    return _Lost(np.repeat(rows[places], lengths), kvs)


class _Postings:
    """The old postings of all kv ids, or of all keys: runs of rows that ascend."""

    def __init__(self, folder: Path, name: str, kept: RowMap) -> None:
        self.name, self.kept = name, kept
        self.rows, self.offsets = (open_column(folder, f"{name}_{n}") for n in ("rows", "offsets"))
        self.runs = describe_runs(self.rows, self.offsets, len(self.offsets) - 1)
        self.gone = np.empty(0, np.int64)

    def count(self, rows: Rows, runs: Ints, numbers: Ints, fresh: Ints, count: int) -> Ints:
        """Return the lengths of all new runs.

        `rows` of old `runs` are gone; `numbers` tell which run each old one becomes, −1 for none;
        `fresh` are the runs of new postings.
        """
        self.gone = np.sort(self._seek(runs, rows))
        left = (self.offsets[1:] - self.offsets[:-1]).astype(np.int64)
        left -= np.bincount(runs, minlength=len(left))
        counts = np.bincount(fresh, minlength=count).astype(np.int64)
        lasts = numbers >= 0
        counts[numbers[lasts]] += left[lasts]
        return counts

    def _seek(self, runs: Ints, rows: Rows) -> Ints:
        """Return the place of the first posting of each run that is not before a row."""
        runs, rows = np.ascontiguousarray(runs, np.int64), np.ascontiguousarray(rows)
        out = np.empty(len(runs), np.int64)
        bad = load_kernels().seek_in_runs(
            ctypes.addressof(self.runs), place(runs), place(rows), len(runs), place(out)
        )
        if bad >= 0:
            raise IndexError(f"the postings {self.name} are damaged")
        return out

    def write(
        self, folder: Path, tags: _Tags, order: Ints, runs: Ints, is_there: NDArray[np.bool_]
    ) -> Ints:
        """Write the new postings; return before which old posting each tag comes, in `order`.

        That is the order of new runs and rows. `runs` are the old runs of the tags, or, where these
        are not there, the ones before which theirs come.
        """
        at = self.offsets[runs].astype(np.int64)
        at[is_there] = self._seek(runs[is_there], tags.old_at[is_there])
        at = at[order]
        Splice(len(self.rows), self.gone, at).write(
            folder,
            f"{self.name}_rows",
            self.rows,
            tags.rows[order],
            lambda part: self.kept.take(part)[0],
        )
        return at


class _Dictionary:
    """The dictionary of the old store: keys, where the values of each begin, and the values."""

    def __init__(self, folder: Path) -> None:
        self.key_kv: Ints = open_column(folder, "key_kv")
        self.keys = Heap(folder, "key_text").span(0, len(self.key_kv) - 1)
        self.key_set = frozenset(self.keys)
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
    """Tags that the old dictionary lacks: their places among all, keys and values.

    `old_runs` are, of all texts, the old kv ids, or those before which they come, and whether they
    are there.
    """

    places: Ints
    keys: list[bytes]
    values: list[bytes]
    old_runs: tuple[Ints, NDArray[np.bool_]]

    @property
    def at(self) -> Ints:
        """Before which old kv ids they come."""
        kvs, is_there = self.old_runs
        return kvs[~is_there]


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
    inserted = _Inserted(
        places, [key for key, _ in chosen], [value for _, value in chosen], (at, ~is_new)
    )
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
    Splice(len(stays), np.flatnonzero(~stays), inserted.at[is_added]).write_ragged(
        folder,
        ("value_text_bytes", "value_text_offsets"),
        old.value_bytes,
        old.values.offsets,
        *join_heap(added),
    )
    return keys


def _patch_key_values(
    old_folder: Path,
    folder: Path,
    postings: _Postings,
    lasting: Ints,
    new_kv_of: Ints,
    at: Ints,
    kvs: Ints,
) -> None:
    """Write the values of all keys' postings, those of one key after the other.

    `lasting` tells which key each old one becomes, `new_kv_of` the same of kv ids, −1 for none; new
    postings come before the old ones `at` and have these `kvs`.
    """
    values, old_kv = KeyValues(old_folder), open_column(old_folder, "key_kv").tolist()
    key_kv, offsets = open_column(folder, "key_kv"), postings.offsets
    of_new = np.searchsorted(key_kv, kvs, side="right") - 1
    old_key = np.full(len(key_kv) - 1, -1, np.int64)
    old_key[lasting[lasting >= 0]] = np.flatnonzero(lasting >= 0)
    writer = KeyValuesWriter(folder)
    for key, (first, last) in enumerate(pairwise(key_kv.tolist())):
        low, high = np.searchsorted(of_new, (key, key + 1))
        numbers = kvs[low:high] - first
        if (old := int(old_key[key])) >= 0:
            start, stop = int(offsets[old]), int(offsets[old + 1])
            before = values.get(old, stop - start)
            renumbered = new_kv_of[old_kv[old] : old_kv[old + 1]] - first
            if not np.array_equal(renumbered, np.arange(len(renumbered))):
                before = renumbered.astype(np.uint32)[before]
            gone = postings.gone
            gone = gone[slice(*np.searchsorted(gone, (start, stop)))] - start
            if len(gone) or low < high:
                merged = Splice(stop - start, gone, at[low:high] - start)
                before = merged.values(before.astype(np.uint32), numbers)
            numbers = before
        writer.begin(last - first - 1)
        writer.extend(numbers)
        writer.end()
    writer.close()


def _patch_lists(
    old_folder: Path, folder: Path, tags: _Tags, plan: RowPlan, kvs: RowMap, new_kvs: Ints
) -> None:
    """Write the kv ids of each tagged row; `kvs` is where the old ones went."""
    old_rows = open_column(old_folder, "tag_rows")
    new_rows, lengths = list_tags(tags.rows)
    first = np.cumsum(lengths) - lengths
    at = old_rows.searchsorted(tags.old_at[first])
    splice = Splice(len(old_rows), places_of(old_rows, plan.replaced), at)
    splice.write_ragged(
        folder,
        ("tag_kvs", "tag_offsets"),
        open_column(old_folder, "tag_kvs"),
        open_column(old_folder, "tag_offsets"),
        new_kvs.astype(np.uint32),
        offsets_of(lengths),
        lambda part: kvs.take(part)[0],
    )
    splice.write(folder, "tag_rows", old_rows, new_rows, lambda part: plan.kept.take(part)[0])
