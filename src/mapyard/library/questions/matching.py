"""GPS traces onto roads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import orjson
import shapely
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.elevation.profile import find_heights
from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.feature import Features
from mapyard.library.results.ways import MatchedTrace
from mapyard.library.way_details import Extra, write_edges, write_extras, write_step
from mapyard.library.ways import (
    ModeField,
    WayOutput,
    get_engine,
    get_rasters,
    make_feature,
    make_line,
)
from mapyard.params.parser import Params, Positions, spelled
from mapyard.results.pages import ATTRIBUTION
from mapyard.routing.edges import find_edges
from mapyard.routing.gpx import read_gpx
from mapyard.routing.matching.match import MAX_POINTS, Match, MatchedLeg, match_trace
from mapyard.routing.polyline import encode_polyline
from mapyard.routing.route import find_steps
from mapyard.routing.steps import Units, choose_language


class Trace(Params, kw_only=True):
    """The trace, and how exact it is."""

    trace: Annotated[
        Positions | None,
        spelled("trace points in order of travel, 2 to 10,000", max_points=MAX_POINTS),
    ] = None
    gpx: Annotated[str | None, Meta(description="the trace as GPX text")] = None
    radiuses: Annotated[
        tuple[float, ...],
        Meta(
            description="per point, how far its road may be, meters: default 50, at most 100",
            max_length=MAX_POINTS,
        ),
    ] = ()
    timestamps: Annotated[
        tuple[float, ...],
        Meta(description="per point, seconds, ascending", max_length=MAX_POINTS),
    ] = ()
    accuracies: Annotated[
        tuple[float, ...],
        Meta(
            description="per point, the receiver's own error, meters: points count less where it "
            "is larger; radiuses are three times it where none are given, 50 to 100",
            max_length=MAX_POINTS,
        ),
    ] = ()
    mode: ModeField = "auto"
    steps: Annotated[bool, Meta(description="instructions, in property `steps`")] = False
    lang: Annotated[
        str, spelled("language of the instructions: de, en-GB, …", "language", max_length=16)
    ] = "en-US"
    units: Annotated[Units, Meta(description="of distances in the texts of steps")] = "metric"
    annotations: Annotated[
        bool, Meta(description="figures per road edge, in each of `matchings`")
    ] = False
    extra_info: Annotated[
        tuple[Extra, ...],
        Meta(
            description="pieces and sums of the way by surface, way_type, steepness, … (as of "
            "routes), in each of `matchings`",
            max_length=13,
        ),
    ] = ()
    geometries: Annotated[
        Literal["geojson", "polyline", "polyline6"],
        Meta(
            description="polyline and polyline6 give the line of each of `matchings` as text, and "
            "a null geometry"
        ),
    ] = "geojson"


@question("match", path="/api/v1/map-match", leading=("trace",))
def match(call: Call, params: Trace) -> MatchedTrace:
    """Return the way that a trace was travelled on.

    A LineString, a MultiLineString where the trace has gaps, with `legs`: exactly one between each
    two consecutive trace points (`matched`, `distance`, `duration`, `way_ids`, `names`).
    `confidence` is 0 to 1: the share of points that lie on a road, each weighed by its distance
    from it; less where other roads run along as near, for detours and for breaks. `outliers` are
    points that were left out, `stops` (with timestamps) where the trace stayed.
    """
    found, _ = find(call, params)
    return MatchedTrace(_make_line_feature(call, found, params))


def match_points(call: Call, params: Trace) -> Features:
    """Return the points of a trace on their roads, and the `matchings` that they belong to."""
    return _make_points(*find(call, params))


def find(call: Call, params: Trace) -> tuple[Match, NDArray[np.float64]]:
    """Return the matched trace as the engine has it, and the trace's positions."""
    lonlat, timestamps = _read_trace(params)
    found = match_trace(
        get_engine(call),
        lonlat,
        params.mode,
        radiuses_m=np.array(params.radiuses) if params.radiuses else None,
        timestamps_s=timestamps,
        accuracies_m=np.array(params.accuracies) if params.accuracies else None,
        deadline=call.deadline,
    )
    return found, lonlat


def _read_trace(params: Trace) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the points and their times."""
    names = ("trace", "coordinates", "gpx")
    given = [name for name in names if getattr(params, name, None) is not None]
    if not given:
        raise InvalidRequest.of("trace", "is required: a LineString or a list of positions")
    if len(given) > 1:
        raise InvalidRequest.of(given[1], f"{' and '.join(given)} exclude each other")
    times = np.array(params.timestamps) if params.timestamps else None
    if params.gpx is not None:
        lonlat, gpx_times = read_gpx(params.gpx)
        return lonlat, gpx_times if times is None else times
    positions: Positions = getattr(params, given[0])
    return positions.lonlat, times


def _make_line_feature(call: Call, found: Match, params: Trace) -> dict[str, Any]:
    lines = [make_line(matching.positions) for matching in found.matchings]
    geometry = lines[0] if len(lines) == 1 else shapely.multilinestrings(lines)
    matchings = _write_matchings(found)
    for written, matching in zip(matchings, found.matchings, strict=True):
        written |= _describe(call, matching.positions, params)
    properties: dict[str, Any] = {
        "confidence": found.confidence,
        "distance": found.distance_m,
        "distance_m": found.distance_m,
        "duration": found.duration_s,
        "duration_s": found.duration_s,
        "mode": params.mode,
        "matched_points": int((found.matching_of >= 0).sum()),
        "matchings": matchings,
        "outliers": np.flatnonzero(found.is_jump).tolist(),
    }
    if found.stays or params.timestamps:
        properties["stops"] = [
            {
                "location": [round(stay.lon, 7), round(stay.lat, 7)],
                "trace_indexes": [stay.begin, stay.end],
                "duration_s": round(stay.duration_s, 1),
            }
            for stay in found.stays
        ]
    if params.steps:
        properties["steps"] = [
            write_step(step, number)
            for number, matching in enumerate(found.matchings)
            for step in find_steps(
                get_engine(call), matching.positions, params.mode, choose_language(params.lang),
                params.units,
            )
        ]  # fmt: skip
    legs = [_write_leg(leg) for leg in found.legs]
    output = WayOutput(geometry=params.geometries == "geojson")
    return make_feature(geometry, properties, output, {"legs": legs})


def _describe(call: Call, line: NDArray[np.float64], params: Trace) -> dict[str, Any]:
    """Return what is asked for of a piece beside its figures."""
    told: dict[str, Any] = {}
    if params.geometries != "geojson":
        told["polyline"] = encode_polyline(line, 6 if params.geometries == "polyline6" else 5)
    if params.annotations or params.extra_info:
        path = find_edges(get_engine(call), line, params.mode)
        if params.annotations:
            told |= write_edges(path, call.store, None)
        if params.extra_info:
            heights_m = None
            if "steepness" in params.extra_info:
                heights_m = find_heights(get_rasters(call), path.positions).heights_m
            told["extras"] = write_extras(params.extra_info, path, call.store, heights_m)
    return told


def _write_leg(leg: MatchedLeg) -> dict[str, Any]:
    return {
        "matched": leg.matched,
        "distance": leg.distance_m,
        "duration": leg.duration_s,
        "way_ids": leg.way_ids,
        "names": leg.names,
    }


def _write_matchings(found: Match) -> list[dict[str, Any]]:
    return [
        {
            "confidence": matching.confidence,
            "distance_m": matching.distance_m,
            "duration_s": matching.duration_s,
            "way_ids": matching.way_ids,
        }
        for matching in found.matchings
    ]


def _make_points(found: Match, lonlat: NDArray[np.float64]) -> Features:
    features = []
    waypoint = [0] * len(found.matchings)
    for index in np.flatnonzero(found.matching_of >= 0).tolist():
        matching = int(found.matching_of[index])
        lon, lat = found.positions[index].tolist()
        features.append(
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [lon, lat]},
                "properties": {
                    "distance_m": round(float(found.away_m[index]), 2),
                    "edge_id": int(found.edge_ids[index]),
                    "matchings_index": matching,
                    "name": found.names[index],
                    "original": lonlat[index].tolist(),
                    "trace_index": index,
                    "waypoint_index": waypoint[matching],
                },
            }
        )
        waypoint[matching] += 1
    matchings = _write_matchings(found)
    for row, matching_found in zip(matchings, found.matchings, strict=True):
        row["geometry"] = orjson.Fragment(
            orjson.dumps(
                {"type": "LineString", "coordinates": matching_found.positions},
                option=orjson.OPT_SERIALIZE_NUMPY,
            )
        )
    return Features(
        features,
        {
            "attribution": ATTRIBUTION,
            "matchings": matchings,
            "confidence": found.confidence,
        },
    )
