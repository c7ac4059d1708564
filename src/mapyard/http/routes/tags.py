"""Tags: which keys and values there are, and how often."""

from __future__ import annotations

from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import tags as library


@endpoint(
    "/api/v1/tags",
    summary="Count elements by key, or by the values of a key",
    tag="Features",
    schema="TagCounts",
    media_types=(JSON,),
    examples=[
        Example({"limit": 3}),
        Example({"key": "amenity", "limit": 3}),
        Example({"key": "amenity", "limit": 3, "history": "true"}),
    ],
)
def tags(ctx: Context, params: library.TagsQuestion) -> Answer:
    """Return keys, or the values of `key`, with the number of elements, the most frequent first.

    `total` is the number of keys or values there are, of which `limit` are listed.
    """
    return Answer.json(library.tags(ctx, params).to_json())
