"""Tags: which keys and values there are, and how often."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Annotated, Final

import msgspec
import numpy as np
from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.tags import TagCount, TagCounts
from mapyard.library.snapshot import Snapshot, register_part
from mapyard.params.parser import Params
from mapyard.store.tag_history import TagHistory

MAX_LIMIT: Final = 10_000
#: Combinations are counted in so many elements at most, taken evenly out of all.
MAX_ELEMENTS: Final = 20_000
_PORTION: Final = 2_000


def _open_history(snapshot: Snapshot) -> TagHistory:
    return TagHistory(snapshot.folder, snapshot.timestamp)


register_part("tag_history", _open_history)


class TagsQuestion(Params, kw_only=True):
    """Which tags are counted."""

    key: Annotated[
        str, Meta(description="count the values of this key; without, all keys", max_length=255)
    ] = ""
    prefix: Annotated[
        str, Meta(description="only keys, or values, that begin so", max_length=255)
    ] = ""
    value: Annotated[
        str | None,
        Meta(
            description="with combinations or history: only elements with this value of key",
            max_length=255,
        ),
    ] = None
    combinations: Annotated[
        bool,
        Meta(description="count the other keys of elements that have the key, or key and value"),
    ] = False
    history: Annotated[bool, Meta(description="also the counts on earlier days, from updates")] = (
        False
    )
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="largest number of rows")] = 100


@question("tags", path="/api/v1/tags", method="GET", leading=("key",))
def tags(call: Call, params: TagsQuestion) -> TagCounts:
    """Count elements by key, or by the values of one key, the most frequent first.

    `total` is the number of keys or values there are, of which `limit` are listed. With
    `combinations` the other keys of the elements with `key` (and `value`) are counted, in
    `elements` of them: all, or 20,000 taken evenly where there are more. With `history` each row
    has its counts at the end of earlier days: of the first day that is known, of each day on which
    an update changed it, and of the day of the data; with `key` also the key itself.
    """
    if params.combinations and params.history:
        raise InvalidRequest("combinations and history do not go together; ask twice")
    if params.combinations:
        return _combine(call, params)
    found = _count(call, params)
    if not params.history:
        return found
    history: TagHistory = call.part("tag_history")
    rows = []
    for row in found:
        call.deadline.check()
        rows.append(replace(row, history=tuple(history.counts(row.key, row.value, row.count))))
    of_key = None
    if params.key and params.value is None:
        count = call.store.key_count(params.key)
        of_key = tuple(history.counts(params.key, None, count))
    return TagCounts(rows, found.total, history=of_key)


def _count(call: Call, params: TagsQuestion) -> TagCounts:
    """Count keys, the values of a key, or one value."""
    store = call.store
    if params.value is not None:
        if not params.history:
            raise InvalidRequest(
                "value goes with combinations=true or history=true; use prefix for values"
            )
        if not params.key:
            raise InvalidRequest("value needs key: the value of which key?")
        count = len(store.rows_with_tag(params.key, params.value))
        return TagCounts([TagCount(params.key, params.value, count)], 1)
    if not params.key:
        keys = [key for key in store.keys if key.startswith(params.prefix)]
        counts = np.array([store.key_count(key) for key in keys], np.int64)
        best = np.argsort(-counts, kind="stable")[: params.limit].tolist()
        rows = [TagCount(keys[place], None, int(counts[place])) for place in best]
        return TagCounts(rows, len(keys))
    start, stop = store.kv_range(params.key)
    if params.prefix:
        start, stop = store.find_kv_prefix(params.key, params.prefix)
    counts = store.kv_counts(start, stop)
    call.deadline.check()
    best = np.argsort(-counts, kind="stable")[: params.limit].tolist()
    values = store.values(np.array(best, np.int64) + start)
    rows = [
        TagCount(params.key, value, int(counts[place]))
        for place, value in zip(best, values, strict=True)
    ]
    return TagCounts(rows, stop - start)


def _combine(call: Call, params: TagsQuestion) -> TagCounts:
    """Count the other keys of the elements that have a key, or a key and a value."""
    if not params.key:
        raise InvalidRequest("combinations=true needs key: those of which elements?")
    store = call.store
    rows = (
        store.rows_with_key(params.key)
        if params.value is None
        else store.rows_with_tag(params.key, params.value)
    )
    if len(rows) > MAX_ELEMENTS:
        rows = rows[np.linspace(0, len(rows) - 1, MAX_ELEMENTS).astype(np.int64)]
    counts: Counter[str] = Counter()
    for start in range(0, len(rows), _PORTION):
        call.deadline.check()
        for tags_json in store.tags_json(rows[start : start + _PORTION]):
            counts.update(iter(_decode_keys(tags_json)))
    del counts[params.key]
    others = {key: count for key, count in counts.items() if key.startswith(params.prefix)}
    best = sorted(others.items(), key=lambda item: (-item[1], item[0]))[: params.limit]
    return TagCounts([TagCount(key, None, count) for key, count in best], len(others), len(rows))


_decode_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
