"""GPS traces onto roads."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import orjson
import shapely
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.ways import (
    ModeField,
    WayOutput,
    get_engine,
    make_collection,
    make_feature,
    make_line,
)
from mapyard.params.parser import Params, Positions, spelled
from mapyard.routing.gpx import GPX, read_gpx
from mapyard.routing.match import MAX_POINTS, Match, MatchedLeg, match_trace


class MapMatchParams(Params):
    """The trace, and how exact it is."""

    trace: Annotated[
        Positions | None,
        spelled("trace points in order of travel, 2 to 10,000", max_points=MAX_POINTS),
    ] = None
    coordinates: Annotated[
        Positions | None,
        spelled(
            "the same; the answer then is a collection of points", "geometry", max_points=MAX_POINTS
        ),
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


@endpoint(
    "/api/v1/map-match",
    methods=("POST",),
    premium=True,
    heavy=True,
    summary="Match a GPS trace to roads",
    tag="Routing",
    texts={GPX: "gpx", "application/xml": "gpx", "text/xml": "gpx"},
    schema="MapMatchResult",
    errors=("validation_failed",),
    examples=[
        Example(
            {
                "trace": {
                    "type": "LineString",
                    "coordinates": [[7.4246, 43.7384], [7.4250, 43.7390], [7.4255, 43.7396]],
                },
                "mode": "foot",
            }
        )
    ],
)
def map_match(ctx: Context, params: MapMatchParams) -> Answer:
    """Return the way that a trace was travelled on.

    `trace` (or a GPX body) gives a LineString feature, a MultiLineString where the trace has gaps,
    with `legs`: exactly one between each two consecutive trace points (`matched`, `distance`,
    `duration`, `way_ids`, `names`). `coordinates` or `geometry` gives a FeatureCollection of the
    points on their roads, and `matchings`. `confidence` is 0 to 1: the share of points that lie on
    a road, each weighed by its distance from it.
    """
    lonlat, timestamps, wants_points = _read_trace(params)
    found = match_trace(
        get_engine(ctx),
        lonlat,
        params.mode,
        radiuses_m=np.array(params.radiuses) if params.radiuses else None,
        timestamps_s=timestamps,
        deadline=ctx.deadline,
    )
    if wants_points:
        return Answer.geojson(_make_points(found, lonlat))
    return Answer.geojson(_make_line_feature(found, params.mode))


def _read_trace(
    params: MapMatchParams,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, bool]:
    """Return the points, their times, and whether the answer is a collection of points."""
    given = [name for name in ("trace", "coordinates", "gpx") if getattr(params, name) is not None]
    if not given:
        raise InvalidRequest.of("trace", "is required: a LineString or a list of positions")
    if len(given) > 1:
        raise InvalidRequest.of(given[1], f"{' and '.join(given)} exclude each other")
    times = np.array(params.timestamps) if params.timestamps else None
    if params.gpx is not None:
        lonlat, gpx_times = read_gpx(params.gpx)
        return lonlat, gpx_times if times is None else times, False
    positions = params.trace if params.trace is not None else params.coordinates
    assert positions is not None
    return positions.lonlat, times, params.trace is None


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


def _make_points(found: Match, lonlat: NDArray[np.float64]) -> dict[str, Any]:
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
    return make_collection(features, {"matchings": matchings, "confidence": found.confidence})
