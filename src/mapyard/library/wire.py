"""Questions over the wire: which request asks one, and what its answer becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import msgspec.inspect as mi
import orjson

from mapyard import errors
from mapyard.errors import MapyardError
from mapyard.library.question import Question
from mapyard.library.results.feature import Feature, Features
from mapyard.library.results.heights import Heights, Profile
from mapyard.library.results.matrix import Matrix
from mapyard.library.results.overpass import OverpassFeatures
from mapyard.library.results.places import PlaceBatch, Places
from mapyard.library.results.plaza import PlazaFeatures
from mapyard.library.results.tags import TagCounts
from mapyard.library.results.ways import Areas, MatchedTrace, NearestRoads, Route, Tour, TourPlan
from mapyard.params.raw import Raw
from mapyard.results.plan import QueryPlan

#: Members of a collection that are not its own.
_NOT_MEMBERS: Final = ("type", "features", "pagination")


class Asked(NamedTuple):
    """A request: `body` is JSON, or `query` the parameters of a GET."""

    method: str
    path: str
    body: Raw | None
    query: Raw | None


def make_request(question: Question, raw: Raw) -> Asked:
    """Return the request that asks a question."""
    path = question.path
    sent = {**raw, **question.fixed}
    for name in list(sent):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", str(sent.pop(name)))
    if question.method == "POST":
        return Asked("POST", path, _listed(question, sent), None)
    return Asked("GET", path, None, sent)


def read_body(question: Question, content: bytes) -> Any:
    """Return what the body of an answer becomes."""
    if question.result is bytes:
        return content
    return _READERS[question.result](orjson.loads(content))


def _listed(question: Question, sent: Raw) -> Raw:
    """Return the body; one value of a list goes as a list, so that the answer is one."""
    names = {
        field.name for field in question.parser.fields if isinstance(field.type, mi.VarTupleType)
    }
    return {
        name: [value] if name in names and isinstance(value, int | float) else value
        for name, value in sent.items()
    }


_ERRORS: Final[dict[str, type[MapyardError]]] = {
    "invalid_request": errors.InvalidRequest,
    "invalid_query": errors.InvalidQuery,
    "invalid_cursor": errors.InvalidCursor,
    "stale_cursor": errors.StaleCursor,
    "timeout": errors.Timeout,
    "too_large": errors.TooLarge,
    "validation_failed": errors.Unsupported,
    "not_installed": errors.NotInstalled,
    "overloaded": errors.Overloaded,
}


def read_error(status: int, content: bytes) -> MapyardError:
    """Return the error that an answer tells."""
    try:
        error = orjson.loads(content)["error"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return MapyardError(f"the server answered {status}", status=status, code="http")
    base = errors.NotFound if status == 404 else MapyardError
    return _ERRORS.get(error["code"], base)(
        error["message"],
        code=error["code"],
        status=status,
        details=error.get("details"),
    )


def _members(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in _NOT_MEMBERS}


def _list(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the features of a collection, or a single one."""
    return [dict(body)] if body["type"] == "Feature" else list(body["features"])


_READERS: Final[dict[type[Any], Callable[[Any], Any]]] = {
    Feature: Feature,
    Features: lambda body: Features(body["features"], _members(body)),
    OverpassFeatures: lambda body: OverpassFeatures(body["features"], _members(body)),
    PlazaFeatures: lambda body: PlazaFeatures(body["features"], _members(body)),
    Places: lambda body: Places(body["features"]),
    PlaceBatch: PlaceBatch.of,
    Route: Route.of,
    NearestRoads: lambda body: NearestRoads(_list(body)),
    Areas: lambda body: Areas(_list(body)),
    Matrix: Matrix.of,
    MatchedTrace: MatchedTrace,
    TourPlan: TourPlan,
    Tour: lambda body: Tour(body["features"], _members(body)),
    Heights: lambda body: Heights(_list(body)),
    Profile: Profile,
    TagCounts: TagCounts.of,
    QueryPlan: lambda body: msgspec.convert(body, QueryPlan),
}
