"""The question: parameters, and one function that answers from the store."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from mapyard.features.query import FeatureQuery, iter_rows
from mapyard.features.regions import BoxRegion
from mapyard.features.tags import TagFilter
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.tags import TagCount, TagCounts
from mapyard.params.parser import Bbox, Params


class Census(Params, kw_only=True):
    """What is counted, and where."""

    key: Annotated[str, Meta(description="key whose values are counted", max_length=255)]
    bbox: Annotated[Bbox | None, Meta(description="south,west,north,east; default everywhere")] = (
        None
    )


@question("census", path="/api/v1/census", method="GET", leading=("key",))
def census(call: Call, params: Census) -> TagCounts:
    """Count elements by the values of a key in a box, the most frequent first."""
    store = call.store
    region = BoxRegion(params.bbox) if params.bbox else None
    query = FeatureQuery(tags=(TagFilter(params.key, "exists"),), region=region)
    found = [store.tag_values(rows, params.key) for rows in iter_rows(store, query, call.deadline)]
    kvs, counts = np.unique(
        np.concatenate(found) if found else np.empty(0, int), return_counts=True
    )
    best = np.argsort(-counts, kind="stable")
    values = store.values(kvs[best])
    rows = [
        TagCount(params.key, value, int(count))
        for value, count in zip(values, counts[best], strict=True)
    ]
    return TagCounts(rows, len(rows))
