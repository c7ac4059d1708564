"""Tags: which keys and values there are, and how often."""

from __future__ import annotations

from typing import Annotated, Final

import numpy as np
from msgspec import Meta

from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.tags import TagCount, TagCounts
from mapyard.params.parser import Params

MAX_LIMIT: Final = 10_000


class TagsQuestion(Params, kw_only=True):
    """Which tags are counted."""

    key: Annotated[
        str, Meta(description="count the values of this key; without, all keys", max_length=255)
    ] = ""
    prefix: Annotated[
        str, Meta(description="only keys, or values, that begin so", max_length=255)
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="largest number of rows")] = 100


@question("tags", path="/api/v1/tags", method="GET", leading=("key",))
def tags(call: Call, params: TagsQuestion) -> TagCounts:
    """Count elements by key, or by the values of one key, the most frequent first.

    `total` is the number of keys or values there are, of which `limit` are listed.
    """
    store = call.store
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
