"""GraphHopper's calls."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, Final

import numpy as np
import orjson
import shapely
from msgspec import Meta
from numpy.typing import NDArray
from shapely.geometry import mapping

from mapyard.elevation.profile import find_heights
from mapyard.errors import InvalidRequest, NotFound, Unsupported
from mapyard.forms import places
from mapyard.forms.graphhopper.answers import (
    COPYRIGHTS,
    EXCEPTIONS,
    JSON,
    answer,
    make_path,
    write_error,
)
from mapyard.forms.graphhopper.params import (
    NOT_IN_MATRICES,
    NOT_ROUTED,
    PROFILES,
    Geocode,
    Isochrone,
    Match,
    Matrix,
    Nearest,
    Route,
    check_count,
    check_route,
    read_point,
    read_points,
    read_profile,
    read_stops,
)
from mapyard.forms.roads import check_pairs, measure, share_way
from mapyard.geo.bbox import Bbox
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import geocoding as library
from mapyard.library.ways import get_engine, get_rasters
from mapyard.params.parser import NoParams, Params, Position
from mapyard.routing.choice import Choice
from mapyard.routing.costing import CostingOptions
from mapyard.routing.engine import NoRoute
from mapyard.routing.gpx import GPX, read_gpx, write_gpx_route
from mapyard.routing.isochrone import find_isochrones
from mapyard.routing.matching.match import MAX_RADIUS_M, match_trace
from mapyard.routing.matrix import compute_matrix
from mapyard.routing.modes import Mode, make_costing
from mapyard.routing.nearest import MAX_RADIUS_M as NEAREST_RADIUS_M
from mapyard.routing.nearest import find_nearest
from mapyard.routing.route import find_routes, read_trip
from mapyard.routing.steps import choose_language
from mapyard.routing.stops import Stop
from mapyard.routing.tours.order import optimize_order
from mapyard.routing.trip import Route as Found

_TAG: Final = "GraphHopper"
_GPX_TEXTS: Final = {
    "application/gpx+xml": "gpx", "application/xml": "gpx", "text/xml": "gpx", "text/plain": "gpx",
}  # fmt: skip
_FROM_TO: Final = ["43.7384,7.4246", "43.7314,7.4197"]
_VERSION: Final = "11.0"
_MOST_FOUND: Final = 50
_DEGREE_M: Final = 111_195.0
#: How far the engine's and our matched points may be apart, meters.
_MATCH_RADIUS_M: Final = 5.0


@endpoint(
    "/graphhopper/route",
    methods=("GET", "POST"),
    summary="Route as of GraphHopper",
    tag=_TAG,
    premium=True,
    refused=NOT_ROUTED,
    media_types=(JSON, GPX),
    write_error=write_error,
    examples=[Example({"point": _FROM_TO, "profile": "foot", "points_encoded": "false"})],
)
def route(ctx: Context, params: Route) -> Answer:
    """Find the quickest way through points."""
    check_route(params)
    lonlat = read_points("point", params.point, params.points)
    check_count(lonlat, 2)
    mode, own = read_profile(params)
    options = CostingOptions(**own) if own else None
    order: list[int] | None = None
    if params.optimize and len(lonlat) > 3:
        tour = optimize_order(
            get_engine(ctx), lonlat, mode, roundtrip=False, first=0, last=len(lonlat) - 1,
            deadline=ctx.deadline,
        )  # fmt: skip
        order = tour.order.tolist()
        lonlat = lonlat[order]
    stops = read_stops(params, len(lonlat))
    if stops and order:
        stops = [stops[index] for index in order]
    try:
        found = _find(ctx, lonlat, mode, params, options, stops)
    except NoRoute:
        # The original only prefers headings, and ways that do not turn around.
        softer = [replace(stop, heading_deg=None, keeps_on=False) for stop in stops or ()]
        if softer == (stops or []):
            raise
        found = _find(ctx, lonlat, mode, params, options, softer)
    if params.type == "gpx":
        return Answer(write_gpx_route(found[0]), GPX)
    best = found[0]
    others = [
        other
        for other in found[1:]
        if other.duration_s <= params.max_weight_factor * best.duration_s
        and share_way(other, best) <= params.max_share_factor
    ]
    paths = [
        make_path(ctx, one, params, mode, options, with_via=params.via_point_instructions)
        for one in (best, *others)
    ]
    if params.optimize:
        paths[0]["points_order"] = order or list(range(len(lonlat)))
    return answer(ctx, {"hints": {}, "paths": paths})


def _find(
    ctx: Context,
    lonlat: NDArray[np.float64],
    mode: Mode,
    params: Route,
    options: CostingOptions | None,
    stops: list[Stop] | None,
) -> list[Found]:
    wants_others = params.algorithm == "alternative_route"
    return find_routes(
        get_engine(ctx), lonlat, mode,
        alternatives=params.max_paths - 1 if wants_others else 0,
        with_steps=params.instructions or params.type == "gpx",
        language=choose_language(params.locale), options=options, stops=stops,
    )  # fmt: skip


@endpoint(
    "/graphhopper/isochrone",
    summary="Isochrones as of GraphHopper",
    tag=_TAG,
    premium=True,
    refused={"pt.earliest_departure_time": "public transport is not served"},
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"point": _FROM_TO[0], "profile": "foot", "time_limit": 300})],
)
def isochrone(ctx: Context, params: Isochrone) -> Answer:
    """Return what can be reached within a time or a distance, one polygon per bucket."""
    if params.weight_limit > 0:
        raise Unsupported(
            "weight_limit: is not served; use time_limit or distance_limit",
            details={"weight_limit": ["is not served"]},
        )
    lon, lat = read_point("point", params.point)
    mode, own = read_profile(params)
    is_distance = params.distance_limit > 0
    limit = params.distance_limit if is_distance else params.time_limit
    if limit <= 0:
        raise InvalidRequest.of("time_limit", "must be more than 0")
    found = find_isochrones(
        get_engine(ctx), lon, lat,
        [limit * (number + 1) / params.buckets for number in range(params.buckets)], mode,
        metric="distance" if is_distance else "time", toward=params.reverse_flow,
        choice=Choice(CostingOptions(**own) if own else None), least_share=1.0,
    )  # fmt: skip
    features = []
    rights = {"copyrights": COPYRIGHTS} if params.type == "geojson" else {}
    for bucket, one in enumerate(found):
        shape = max(shapely.get_parts(one.geometry), key=shapely.area)
        if params.tolerance:
            shape = shapely.simplify(shape, params.tolerance / _DEGREE_M)
        features.append(
            {
                "type": "Feature",
                "properties": {"bucket": bucket, **rights},
                "geometry": mapping(shape),
            }
        )
    if params.type == "geojson":
        return answer(ctx, {"type": "FeatureCollection", "features": features})
    return answer(ctx, {"polygons": features})


@endpoint(
    "/graphhopper/matrix",
    methods=("GET", "POST"),
    summary="Matrix as of GraphHopper",
    tag=_TAG,
    premium=True,
    heavy=True,
    refused=NOT_IN_MATRICES,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"point": _FROM_TO, "profile": "foot", "out_array": ["times", "distances"]})],
)
def matrix(ctx: Context, params: Matrix) -> Answer:
    """Return times, in seconds, and distances, in meters, whole numbers as in the original."""
    all_points = read_points("point", params.point, params.points)
    origins = read_points("from_point", params.from_point, params.from_points)
    targets = read_points("to_point", params.to_point, params.to_points)
    origins = origins if len(origins) else all_points
    targets = targets if len(targets) else all_points
    check_count(origins, 1)
    check_count(targets, 1)
    most = check_pairs(ctx, len(origins), len(targets))
    mode, own = read_profile(params)
    found = compute_matrix(
        get_engine(ctx), origins, targets, mode, max_pairs=most, deadline=ctx.deadline,
        choice=Choice(CostingOptions(**own) if own else None),
    )  # fmt: skip
    empty = np.argwhere(np.isnan(found.durations_s))
    body: dict[str, Any] = {}
    if len(empty):
        row, column = empty[0].tolist()
        text = f"connection between locations not found: from point {row} to point {column}"
        if params.fail_fast:
            raise NoRoute(text)
        body["hints"] = [{
            "message": text, "details": EXCEPTIONS["no_route_found"],
            "point_pairs": empty.tolist(),
        }]  # fmt: skip
    if "times" in params.out_array:
        body["times"] = _write_whole(ctx, found.durations_s)
    if "distances" in params.out_array:
        body["distances"] = _write_whole(ctx, found.distances_m)
    if "weights" in params.out_array:
        body["weights"] = np.round(found.durations_s, 3)
    return answer(ctx, body)


def _write_whole(ctx: Context, cells: NDArray[np.float64]) -> list[orjson.Fragment]:
    """Return the rows; each is written at once, as objects per cell would take much memory."""
    rows = []
    for row in cells:
        ctx.deadline.check()
        # Numbers that are none become null.
        whole = [None if cell != cell else round(cell) for cell in row.tolist()]
        rows.append(orjson.Fragment(orjson.dumps(whole)))
    return rows


_TRACE: Final = (
    "<gpx><trk><trkseg><trkpt lat='43.7384' lon='7.4246'/><trkpt lat='43.7390' lon='7.4250'/>"
    "<trkpt lat='43.7396' lon='7.4255'/></trkseg></trk></gpx>"
)


@endpoint(
    "/graphhopper/match",
    methods=("POST",),
    summary="Match a trace as of GraphHopper",
    tag=_TAG,
    premium=True,
    heavy=True,
    texts=_GPX_TEXTS,
    media_types=(JSON, GPX),
    write_error=write_error,
    examples=[Example({"profile": "foot", "gpx": _TRACE})],
)
def match(ctx: Context, params: Match) -> Answer:
    """Return the way that a trace was travelled on."""
    if params.traversal_keys:
        raise Unsupported(
            "traversal_keys: are not served; edges have numbers of a dataset only",
            details={"traversal_keys": ["are not served"]},
        )
    lonlat, times = read_gpx(params.gpx)
    mode, own = read_profile(params)
    options = CostingOptions(**own) if own else None
    radius_m = min(max(5 * params.gps_accuracy, 10.0), MAX_RADIUS_M)
    found = match_trace(
        get_engine(ctx), lonlat, mode, radiuses_m=np.full(len(lonlat), radius_m),
        timestamps_s=times, deadline=ctx.deadline,
    )  # fmt: skip
    if len(found.matchings) != 1:
        raise InvalidRequest(
            f"sequence is broken for submitted track: it lies on {len(found.matchings)} ways that "
            "are not connected; send it in parts"
        )
    members = np.flatnonzero(found.matching_of == 0)
    on_roads = found.positions[members]
    language = choose_language(params.locale)
    request = make_costing(mode, options=options) | {
        "directions_type": "instructions", "language": language,
        "shape_match": "map_snap",
        "shape": [
            {"lon": lon, "lat": lat, "radius": _MATCH_RADIUS_M,
             "type": "break" if index in (0, len(on_roads) - 1) else "via"}
            for index, (lon, lat) in enumerate(on_roads.tolist())
        ],
    }  # fmt: skip
    trip = get_engine(ctx).call("trace_route", request)["trip"]
    way = read_trip(trip, on_roads[[0, -1]], language)
    if params.type == "gpx":
        return Answer(write_gpx_route(way), GPX)
    path = make_path(ctx, way, params, mode, options)
    body = {
        "hints": {},
        "paths": [path],
        "map_matching": {
            "distance": path["distance"], "time": path["time"],
            "original_distance": round(float(measure(lonlat)[-1]), 3),
        },
    }  # fmt: skip
    return answer(ctx, body)


@endpoint(
    "/graphhopper/geocode",
    summary="Search and reverse search as of GraphHopper",
    tag=_TAG,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"q": "Rue Grimaldi, Monaco", "limit": 1})],
)
def geocode(ctx: Context, params: Geocode) -> Answer:
    """Find places by a text, or what is at a point."""
    limit = min(params.limit, _MOST_FOUND)
    langs = () if params.locale in ("", "default") else (params.locale,)
    if params.reverse:
        lon, lat = read_point("point", params.point)
        asked = library.Reverse(
            at=Position(lon, lat), radius=500.0, limit=min(limit, 20), lang=langs
        )
        found = library.reverse(ctx, asked).features
    elif not params.q:
        raise InvalidRequest.of("q", "is required, or reverse=true with point")
    else:
        where: dict[str, Any] = {
            "focus": Position(*read_point("point", params.point)) if params.point else None,
            "bbox": _read_box(params.bbox), "country_code": params.countrycode, "lang": langs,
        }  # fmt: skip
        if params.autocomplete:
            typed = library.Autocomplete(q=params.q, limit=min(limit, 20), **where)
            found = library.autocomplete(ctx, typed).features
        else:
            text = library.Geocode(q=params.q, limit=limit, **where)
            found = library.geocode(ctx, text).features
    hits = [
        _write_hit(feature, places.find_box(feature) if "bbox" in feature else None)
        for feature in found
    ]
    took_ms = math.ceil(ctx.elapsed_s * 1e3)
    return Answer.json({"hits": hits, "locale": params.locale, "took": took_ms}, JSON)


def _write_hit(feature: dict[str, Any], box: Bbox | None) -> dict[str, Any]:
    ours = feature["properties"]
    lon, lat = feature["geometry"]["coordinates"]
    hit = {
        "name": ours.get("name") or ours["display_name"].partition(",")[0],
        "country": ours.get("country"),
        "countrycode": str(ours.get("country_code") or "").upper(),
        "city": ours.get("city"),
        "state": ours.get("state"),
        "county": ours.get("county"),
        "district": ours.get("suburb"),
        "street": ours.get("street"),
        "housenumber": ours.get("house_number"),
        "postcode": ours.get("postcode"),
        "osm_id": ours.get("osm_id"),
        "osm_type": str(ours.get("osm_type") or "")[:1].upper(),
        "osm_key": ours.get("category"),
        "osm_value": ours.get("subcategory"),
    }
    hit = {name: value for name, value in hit.items() if value}
    hit["point"] = {"lat": lat, "lng": lon}
    if box is not None:
        hit["extent"] = [box.west, box.north, box.east, box.south]
    return hit


def _read_box(text: str) -> Bbox | None:
    if not text:
        return None
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidRequest.of("bbox", "must be four numbers: west,south,east,north") from None
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90):
        raise InvalidRequest.of("bbox", "must be west,south,east,north in degrees")
    return Bbox(west, south, east, north)


@endpoint(
    "/graphhopper/nearest",
    summary="Nearest road as of GraphHopper",
    tag=_TAG,
    premium=True,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"point": _FROM_TO[0]})],
)
def nearest(ctx: Context, params: Nearest) -> Answer:
    """Return the place on the nearest road."""
    lon, lat = read_point("point", params.point)
    mode, _ = read_profile(params)
    road = find_nearest(get_engine(ctx), lon, lat, mode, radius_m=NEAREST_RADIUS_M)[0]
    coordinates = [road.lon, road.lat]
    if params.elevation:
        there = np.array([coordinates])
        coordinates.append(float(np.nan_to_num(find_heights(get_rasters(ctx), there).heights_m)[0]))
    body = {"type": "Point", "coordinates": coordinates, "distance": road.distance_m}
    return Answer.json(body, JSON)


@endpoint(
    "/graphhopper/info",
    summary="Area and profiles as of GraphHopper",
    tag=_TAG,
    public=True,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({})],
)
def info(ctx: Context, params: NoParams) -> Answer:
    """Say which area and profiles there are, and of when the data is."""
    body: dict[str, Any] = {
        "bbox": ctx.snapshot.manifest.bbox,
        "profiles": [{"name": name} for name in PROFILES],
        "version": _VERSION,
        "elevation": True,
        "encoded_values": {},
        "import_date": ctx.snapshot.manifest.created,
        "data_date": ctx.snapshot.find_data_time("routing"),
    }
    return Answer.json(body, JSON)


@endpoint(
    "/graphhopper/health",
    summary="Health as of GraphHopper",
    tag=_TAG,
    public=True,
    media_types=("text/plain",),
    write_error=write_error,
    examples=[Example({})],
)
def health(ctx: Context, params: NoParams) -> Answer:
    """Say OK."""
    get_engine(ctx)
    return Answer(b"OK", "text/plain")


class Elsewhere(Params):
    """A call that there is not."""

    call: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""
    part: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""


@endpoint(
    "/graphhopper/{call}",
    aliases=("/graphhopper/{call}/{part}",),
    methods=("GET", "POST"),
    summary="Other calls of GraphHopper: refused",
    tag="",
    media_types=(JSON,),
    write_error=write_error,
    needs_dataset=False,
)
def elsewhere(ctx: Context, params: Elsewhere) -> Answer:
    """Say which calls there are."""
    raise NotFound(
        f"{params.call[:40]} is not served; there are route, isochrone, matrix,"
        " match, geocode, nearest"
    )
