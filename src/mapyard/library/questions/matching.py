"""GPS traces onto roads."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import orjson
import shapely
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.feature import Features
from mapyard.library.results.ways import MatchedTrace
from mapyard.library.ways import ModeField, WayOutput, get_engine, make_feature, make_line
from mapyard.params.parser import Params, Positions, spelled
from mapyard.results.pages import ATTRIBUTION
from mapyard.routing.gpx import read_gpx
from mapyard.routing.match import MAX_POINTS, Match, MatchedLeg, match_trace


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
    mode: ModeField = "auto"


@question("match", path="/api/v1/map-match", leading=("trace",))
def match(call: Call, params: Trace) -> MatchedTrace:
    """Return the way that a trace was travelled on.

    A LineString, a MultiLineString where the trace has gaps, with `legs`: exactly one between each
    two consecutive trace points (`matched`, `distance`, `duration`, `way_ids`, `names`).
    `confidence` is 0 to 1: the share of points that lie on a road, each weighed by its distance
    from it.
    """
    found, _ = find(call, params)
    return MatchedTrace(_make_line_feature(found, params.mode))


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


def _make_line_feature(found: Match, mode: str) -> dict[str, Any]:
    lines = [make_line(matching.positions) for matching in found.matchings]
    geometry = lines[0] if len(lines) == 1 else shapely.multilinestrings(lines)
    properties = {
        "confidence": found.confidence,
        "distance": found.distance_m,
        "distance_m": found.distance_m,
        "duration": found.duration_s,
        "duration_s": found.duration_s,
        "mode": mode,
        "matched_points": int((found.matching_of >= 0).sum()),
        "matchings": _write_matchings(found),
    }
    legs = [_write_leg(leg) for leg in found.legs]
    return make_feature(geometry, properties, WayOutput(), {"legs": legs})


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
