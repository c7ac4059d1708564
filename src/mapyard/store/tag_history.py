"""How often each tag was there before each update: the changes of counts, day by day.

The counts themselves are the store's; kept are only differences, of the tags that an update
changed, so that a count of an earlier day is today's less what came later. Columns, sorted by tag
and day:

    tag    uint64  the first 8 bytes of BLAKE2b of "key" or "key\\0value"
    day    int32   days since 1970 of the data that the update brought
    delta  int32   elements more (or less) than on the day before it
"""

from __future__ import annotations

import datetime as dt
import hashlib
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapyard.store.arrays import Rows
from mapyard.store.columns import open_column, write_column
from mapyard.store.reader import Store

FOLDER: Final = "tag_history"
#: More rows are not kept (16 bytes each): the oldest days are forgotten.
MAX_ROWS: Final = 4_000_000
_PORTION: Final = 2_000
_SIDES: Final = ("left", "right")
_EPOCH: Final = dt.date(1970, 1, 1)

#: (key, value), or (key, None) for the key with any value.
type Tag = tuple[str, str | None]


class TagHistory:
    """The changes of a dataset; of one that no update has changed there are none."""

    def __init__(self, folder: Path, osm_timestamp: str) -> None:
        """Open the history in a dataset's folder, whose data is of a time."""
        #: The day of the data.
        self.until = osm_timestamp[:10]
        #: The day that the counts are known from.
        self.since = self.until
        self._tags = np.empty(0, np.uint64)
        self._days = self._deltas = np.empty(0, np.int32)
        folder = folder / FOLDER
        if folder.is_dir():
            self._tags, self._days, self._deltas = (
                open_column(folder, name) for name in ("tag", "day", "delta")
            )
            self.since = msgspec.json.decode((folder / "info.json").read_bytes())["since"]

    def counts(self, key: str, value: str | None, count: int) -> list[tuple[str, int]]:
        """Return (ISO 8601 date, count at its end) of a tag that has `count` elements now.

        They are those of the first day, of each day that changed it, and of the last.
        """
        number = np.uint64(_number_of((key, value)))
        start, stop = (np.searchsorted(self._tags, number, side) for side in _SIDES)
        days, deltas = self._days[start:stop], self._deltas[start:stop].astype(np.int64)
        after = count - np.append(np.cumsum(deltas[::-1])[::-1], 0)
        found = {self.since: int(after[0])} if self.since else {}
        for day, number_then in zip(days.tolist(), after[1:].tolist(), strict=True):
            found[_date_of(day)] = number_then
        if self.until:
            found[self.until] = count
        return list(found.items())


def count_tags(store: Store, rows: Rows) -> Counter[Tag]:
    """Count keys, and keys with values, of some rows."""
    counts: Counter[Tag] = Counter()
    for start in range(0, len(rows), _PORTION):
        for text in store.tags_json(rows[start : start + _PORTION]):
            for key, value in _decode_tags(text).items():
                counts[key, value] += 1
                counts[key, None] += 1
    return counts


def write_history(
    folder: Path, previous: Path, times: tuple[str, str], before: Counter[Tag], now: Counter[Tag]
) -> None:
    """Write a dataset's history: that of the one before, and what an update changed.

    `times` are those of the data of both, `before` and `now` counts of the changed elements.
    """
    old = TagHistory(previous, times[0])
    tags, days, deltas = _rows_of(before, now, _day_of(times[1]))
    tags = np.concatenate([old._tags, tags])
    days = np.concatenate([old._days, days])
    deltas = np.concatenate([old._deltas, deltas])
    since = old.since
    if len(tags) > MAX_ROWS:
        # Whole days go; what is known begins at the end of the last one.
        oldest = np.sort(days)[len(days) - MAX_ROWS - 1]
        kept = days > oldest
        tags, days, deltas = tags[kept], days[kept], deltas[kept]
        since = _date_of(int(oldest))
    order = np.lexsort((days, tags))
    tags, days, deltas = tags[order], days[order], deltas[order]
    # Several updates of one day are one change.
    is_first = np.ones(len(tags), np.bool_)
    is_first[1:] = (tags[1:] != tags[:-1]) | (days[1:] != days[:-1])
    if len(tags):
        deltas = np.add.reduceat(deltas, np.flatnonzero(is_first), dtype=np.int32)
    tags, days = tags[is_first], days[is_first]
    stays = deltas != 0
    target = folder / FOLDER
    target.mkdir()
    for name, values in (("tag", tags), ("day", days), ("delta", deltas)):
        write_column(target, name, values[stays])
    (target / "info.json").write_bytes(msgspec.json.encode({"since": since}))


def keep_history(folder: Path, previous: Path) -> None:
    """Copy the history of a dataset with the same data, if it has one."""
    if (previous / FOLDER).is_dir():
        shutil.copytree(previous / FOLDER, folder / FOLDER, dirs_exist_ok=True)


def _rows_of(
    before: Counter[Tag], now: Counter[Tag], day: int
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]:
    changed = list(_differences(before, now))
    tags = np.array([_number_of(tag) for tag, _ in changed], np.uint64)
    deltas = np.array([delta for _, delta in changed], np.int32)
    return tags, np.full(len(tags), day, np.int32), deltas


def _differences(before: Counter[Tag], now: Counter[Tag]) -> Iterator[tuple[Tag, int]]:
    tags: Iterable[Tag] = before.keys() | now.keys()
    for tag in tags:
        delta = now[tag] - before[tag]
        if delta:
            yield tag, delta


def _number_of(tag: Tag) -> int:
    key, value = tag
    text = key if value is None else f"{key}\0{value}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _day_of(timestamp: str) -> int:
    return (dt.date.fromisoformat(timestamp[:10]) - _EPOCH).days


def _date_of(day: int) -> str:
    return (_EPOCH + dt.timedelta(days=day)).isoformat()


_decode_tags = msgspec.json.Decoder(dict[str, str]).decode
