"""Overpass QL: a query in, elements out."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from mapyard.errors import NotInstalled
from mapyard.geocoding.geocoder import Geocoder
from mapyard.library.call import Call
from mapyard.library.macro_places import make_geocode
from mapyard.library.question import question
from mapyard.library.results.overpass import OverpassFeatures, OverpassResult
from mapyard.overpass.engine import Result, explain_text, run_text
from mapyard.overpass.parse.macros import Geocode, Place, Surroundings
from mapyard.overpass.write.results import ResultCache
from mapyard.params.parser import Bbox, Params, Position, spelled
from mapyard.results.cursor import hash_query
from mapyard.results.plan import QueryPlan


class OverpassQuestion(Params, kw_only=True):
    """A query and what its macros may refer to."""

    data: Annotated[
        str,
        spelled(
            "Overpass QL; macros such as {{bbox}} and {{geocodeArea:…}} are expanded",
            "query",
            examples=["node[amenity=cafe](43.73,7.41,43.75,7.43);out;"],
        ),
    ]
    bbox: Annotated[
        Bbox | None, Meta(description="south,west,north,east: what {{bbox}} stands for")
    ] = None
    center: Annotated[Position | None, Meta(description="lat,lng: what {{center}} stands for")] = (
        None
    )


@question(
    "overpass",
    path="/api/v1/overpass",
    leading=("data",),
    fixed={"format": "geojson"},
    result=OverpassFeatures,
)
def overpass(call: Call, params: OverpassQuestion) -> OverpassResult:
    """Run an Overpass QL query; the elements as features, each once.

    The order is that of the out statements, then what they ask for. `counts` and `warnings` are
    beside the features; `native` gives the original's JSON, XML or CSV.
    """
    return OverpassResult(call, run(call, params.data, params.bbox, params.center))


@question("explain_overpass", path="/api/v1/overpass", leading=("data",), fixed={"explain": True})
def explain_overpass(call: Call, params: OverpassQuestion) -> QueryPlan:
    """Run an Overpass QL query and show its steps: rows expected and found, and time.

    The query runs whole; its answer is not written.
    """
    return explain_text(
        call.store,
        params.data,
        deadline=call.deadline,
        surroundings=_surroundings(call, params.bbox, params.center),
        max_bytes=call.max_bytes,
    )


def find_kept(call: Call, params: OverpassQuestion, *, is_first_page: bool) -> OverpassResult:
    """Return the same, out of the results kept for further pages where it is among them."""
    key = hash_query("overpass", params.data, params.bbox, params.center)
    cache: ResultCache = call.resources.get(
        "overpass results", lambda resources: ResultCache(resources.settings.data / "cache")
    )
    name = f"{call.snapshot.id}-{key.hex()}"
    # What a query found relative to the clock is for its further pages only.
    entries = None if is_first_page and "{{date" in params.data else cache.find(name)
    if entries is not None:
        return OverpassResult(call, None, entries)
    found = overpass(call, params)
    if not found.is_csv:
        cache.keep(name, found.entries)
    return found


def run(call: Call, data: str, bbox: Bbox | None, center: Position | None = None) -> Result:
    """Return what the engine found; the macros of the text may refer to box and center."""
    return run_text(
        call.store,
        data,
        deadline=call.deadline,
        surroundings=_surroundings(call, bbox, center),
        max_bytes=call.max_bytes,
    )


def _surroundings(call: Call, bbox: Bbox | None, center: Position | None) -> Surroundings:
    return Surroundings(
        box=None if bbox is None else (bbox.south, bbox.west, bbox.north, bbox.east),
        center=None if center is None else (center.lat, center.lon),
        geocode=_geocoder(call),
    )


def _geocoder(call: Call) -> Geocode:
    """Return the geocoder of macros; without a built one, the elements' own names."""

    def geocode(name: str, want_area: bool) -> Place | None:
        try:
            geocoder: Geocoder | None = call.part("geocoder")
        except NotInstalled:
            geocoder = None
        return make_geocode(call.store, geocoder)(name, want_area)

    return geocode
