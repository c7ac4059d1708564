"""Tags: which keys and values there are, and how often."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final

import msgspec
import numpy as np
from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.tags import TagCount, TagCounts
from mapyard.params.parser import Params

MAX_LIMIT: Final = 10_000
#: Combinations are counted in so many elements at most, taken evenly out of all.
MAX_ELEMENTS: Final = 20_000
_PORTION: Final = 2_000


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
        Meta(description="with combinations: only elements with this value of key", max_length=255),
    ] = None
    combinations: Annotated[
        bool,
        Meta(description="count the other keys of elements that have the key, or key and value"),
    ] = False
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="largest number of rows")] = 100


@question("tags", path="/api/v1/tags", method="GET", leading=("key",))
def tags(call: Call, params: TagsQuestion) -> TagCounts:
    """Count elements by key, or by the values of one key, the most frequent first.

    `total` is the number of keys or values there are, of which `limit` are listed. With
    `combinations` the other keys of the elements with `key` (and `value`) are counted, in
    `elements` of them: all, or 20,000 taken evenly where there are more.
    """
    store = call.store
    if params.combinations:
        return _combine(call, params)
    if params.value is not None:
        raise InvalidRequest("value goes with combinations=true; use prefix for values")
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
