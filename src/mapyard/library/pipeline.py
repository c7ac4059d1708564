"""Pipelines: queries, and steps that filter or make over the features of the step before."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl

import numpy as np
import orjson
import shapely
from msgspec import Meta

from mapyard.errors import InvalidRequest, MapyardError, TooLarge
from mapyard.features.query import FeatureQuery, collect_rows
from mapyard.geo.geojson import DEFAULT_PRECISION, write_geometries
from mapyard.library.call import Call
from mapyard.library.question import find_question
from mapyard.library.questions.elements import FeatureFilter, read_region, read_tags
from mapyard.params.parser import Params, parser_of, refuse_unknown
from mapyard.params.raw import Raw, put_raw
from mapyard.results.output import MAX_BUFFER_M, Output
from mapyard.results.pages import ATTRIBUTION
from mapyard.results.shaping import iter_shaped
from mapyard.store.reader import open_store
from mapyard.userdata.rows import Portion
from mapyard.userdata.write import DatasetWriter, Limits

MAX_STEPS: Final = 20
#: Features that one step may give.
MAX_FEATURES: Final = 10_000
_STORED: Final = 256 << 20
#: Members of a filter that only make sense for pages.
_OF_PAGES: Final = ("limit", "cursor", "offset", "output")
_FILTERED: Final = dict.fromkeys(_OF_PAGES, "a filter keeps all that passes; use a transform step")

type Features = list[dict[str, Any]]


class Transform(Params, kw_only=True):
    """What a transform step does, in this order."""

    sort: Annotated[
        str | None,
        Meta(description="a property; with a - before it, downwards", max_length=255),
    ] = None
    offset: Annotated[int, Meta(ge=0, description="how many to leave out at the start")] = 0
    limit: Annotated[int | None, Meta(ge=0, description="how many to keep")] = None
    centroid: Annotated[bool, Meta(description="the centroid instead of the geometry")] = False
    simplify: Annotated[float | None, Meta(gt=0, le=100_000, description="tolerance in meters")] = (
        None
    )
    buffer: Annotated[
        float | None, Meta(gt=0, le=MAX_BUFFER_M, description="widen by so many meters")
    ] = None
    fields: Annotated[
        list[str] | None, Meta(description="only these properties", max_length=100)
    ] = None
    precision: Annotated[int, Meta(ge=1, le=15, description="decimals of coordinates")] = (
        DEFAULT_PRECISION
    )


_FILTER: Final = parser_of(FeatureFilter)
_TRANSFORM: Final = parser_of(Transform)


def run_pipeline(call: Call, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Run steps one after the other; a FeatureCollection of each, in `steps`.

    `overpass` and `sparql` ask the map by their `query`. `filter` keeps those features of the step
    before that pass the filters of /features: tags ask for properties. `transform` sorts, cuts and
    makes over: sort, offset, limit, centroid, simplify, buffer, fields, precision. Both may have
    their members as a text too: `{"type": "filter", "query": "tags[amenity]=cafe"}`.
    """
    if not steps:
        raise InvalidRequest.of("steps", "needs one step or more")
    results: list[Features] = []
    for number, step in enumerate(steps):
        try:
            results.append(_run(call, step, results[-1] if results else None))
        except MapyardError as error:
            error.message = f"steps[{number}]: {error.message}"
            raise
    return {
        "steps": [
            {"type": "FeatureCollection", "attribution": ATTRIBUTION, "features": features}
            for features in results
        ]
    }


def _run(call: Call, step: Mapping[str, Any], before: Features | None) -> Features:
    kind = step.get("type")
    if kind in ("overpass", "sparql"):
        return _ask(call, kind, step)
    made: dict[str, Callable[[Call, Raw, Features], Features]] = {
        "filter": _filter, "transform": _transform,
    }  # fmt: skip
    if kind not in made:
        raise InvalidRequest.of("type", "must be overpass, sparql, filter or transform")
    if before is None:
        raise InvalidRequest.of("type", f"{kind} needs a step before it: begin with overpass")
    raw: Raw = {name: value for name, value in step.items() if name not in ("type", "query")}
    text = step.get("query")
    if text:
        if not isinstance(text, str):
            raise InvalidRequest.of("query", "must be a text, such as tags[amenity]=cafe")
        for name, value in parse_qsl(text, keep_blank_values=True):
            put_raw(raw, name, value)
    return made[kind](call, raw, before)


def _ask(call: Call, kind: str, step: Mapping[str, Any]) -> Features:
    unknown = sorted(set(step) - {"type", "query", "data"})
    if unknown:
        raise InvalidRequest.of(unknown[0], f"means nothing in a step of type {kind}")
    text = step.get("query") or step.get("data")
    if not isinstance(text, str):
        raise InvalidRequest.of("query", f"is required: a query in {kind}")
    asked = find_question(kind)
    name = asked.leading[0]
    found = asked.answer(call, asked.parser.parse({name: text}))
    features: Features = found.to_geojson()["features"]
    return _check(features)


def _check(features: Features) -> Features:
    if len(features) > MAX_FEATURES:
        raise TooLarge(
            f"{len(features):,} features, a step may give {MAX_FEATURES:,}; narrow the query",
            details={"limit": MAX_FEATURES, "count": len(features)},
        )
    return features


def _filter(call: Call, raw: Raw, before: Features) -> Features:
    refuse_unknown(_FILTER, raw, _FILTERED)
    params = _FILTER.parse(raw, _FILTERED)
    if params.type:
        before = [f for f in before if f["properties"].get("@type") in params.type]
    if not before:
        return []
    # A step's features are a small dataset, which the filters of /features are asked of.
    with tempfile.TemporaryDirectory() as folder:
        writer = DatasetWriter(Path(folder) / "step", Limits(MAX_FEATURES, _STORED))
        properties = [dict(f.get("properties") or {}) for f in before]
        numbers = range(1, len(before) + 1)
        writer.add(Portion(numbers, properties, _read_shapes(before)))
        writer.finish()
        call.deadline.check()
        store = open_store(Path(folder) / "step")
        query = FeatureQuery((0, 2), read_tags(store, params.tags), read_region(params))
        rows = collect_rows(store, query, call.deadline)
        return [before[number - 1] for number in store.ids[rows].tolist()]


def _read_shapes(features: Features) -> Any:
    shapes = np.full(len(features), None, np.object_)
    for place, feature in enumerate(features):
        if feature.get("geometry"):
            shapes[place] = shapely.geometry.shape(feature["geometry"])
    return shapes


def _transform(call: Call, raw: Raw, before: Features) -> Features:
    refuse_unknown(_TRANSFORM, raw)
    params = _TRANSFORM.parse(raw)
    found = list(before)
    if params.sort:
        key = params.sort.removeprefix("-")
        found = _sort(found, key, is_down=params.sort.startswith("-"))
    end = None if params.limit is None else params.offset + params.limit
    found = found[params.offset : end]
    output = Output(centroid=params.centroid, simplify=params.simplify, buffer=params.buffer)
    if output != Output() or params.precision != DEFAULT_PRECISION:
        texts: list[bytes] = []
        for part in iter_shaped(_read_shapes(found), output, call.deadline):
            texts += write_geometries(part, precision=params.precision)
        found = [
            {**feature, "geometry": orjson.loads(text)}
            for feature, text in zip(found, texts, strict=True)
        ]
    if params.fields is not None:
        kept = ("@type", "@id", *params.fields)
        found = [
            {**f, "properties": {k: v for k, v in f["properties"].items() if k in kept}}
            for f in found
        ]
    return found


def _sort(features: Features, key: str, *, is_down: bool) -> Features:
    """Return features by a property, numbers before texts; those without it come last."""
    having = [f for f in features if f["properties"].get(key) is not None]
    others = [f for f in features if f["properties"].get(key) is None]

    def rank(feature: dict[str, Any]) -> tuple[bool, float, str]:
        value = feature["properties"][key]
        try:
            return False, float(value), ""
        except (TypeError, ValueError):
            return True, 0.0, str(value)

    return [*sorted(having, key=rank, reverse=is_down), *others]
