"""The endpoint: parameters from the question, one call, writing."""

from __future__ import annotations

from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import endpoint
from mapyard_census.question import Census
from mapyard_census.question import census as ask


@endpoint(
    "/api/v1/census",
    summary="Count elements by kind in a box",
    tag="Census",
    schema="TagCounts",
    media_types=(JSON,),
)
def census(ctx: Context, params: Census) -> Answer:
    """Return the values of `key` with the number of elements in the box."""
    return Answer.json(ask(ctx, params).to_json())
