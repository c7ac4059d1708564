"""Counts of tags over regions: each counts the elements that it owns, the sums are those of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapyard.library.call import Call
from mapyard.library.results.tags import TagCount, TagCounts

PATH: Final = "/api/v1/tags"
PART_PATH: Final = "fleet:tags"


def is_plain(params: Any) -> bool:
    """Return whether only keys or values are counted: neither combinations nor earlier days."""
    return not (params.combinations or params.history or params.value is not None)


def answer_part(call: Call, key: str, prefix: str, guests: NDArray[np.int64]) -> bytes:
    """Return the texts and counts of keys, or of the values of a key, in owned elements."""
    store = call.store
    is_own = np.ones(store.row_count, np.bool_)
    rows = store.find_eid_rows(np.asarray(guests))
    is_own[rows[rows >= 0]] = False
    counts: dict[str, int] = {}
    if key:
        start, stop = store.find_kv_prefix(key, prefix) if prefix else store.kv_range(key)
        having = store.rows_with_key(key)
        kvs = store.tag_values(having[is_own[having]], key) - start
        kvs = kvs[(kvs >= 0) & (kvs < stop - start)]
        found = np.bincount(kvs, minlength=stop - start)
        used = np.flatnonzero(found)
        values = store.values(used + start)
        counts = dict(zip(values, found[used].tolist(), strict=True))
    else:
        for name in store.keys:
            call.deadline.check()
            if name.startswith(prefix) and (count := int(is_own[store.rows_with_key(name)].sum())):
                counts[name] = count
    return msgspec.msgpack.encode(counts)


def unite(params: Any, bodies: Sequence[bytes]) -> dict[str, Any]:
    """Return the answer of all regions: the most frequent first, of equal ones by their text."""
    total: Counter[str] = Counter()
    for body in bodies:
        total.update(msgspec.msgpack.decode(body, type=dict[str, int]))
    best = sorted(total.items(), key=lambda item: (-item[1], item[0]))[: params.limit]
    rows = [
        TagCount(params.key, text, count) if params.key else TagCount(text, None, count)
        for text, count in best
    ]
    return TagCounts(rows, len(total)).to_json()
