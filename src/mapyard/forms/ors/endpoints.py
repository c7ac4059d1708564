"""openrouteservice's other services: matrix, isochrones, snap, optimization, elevation, state."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
import shapely
from msgspec import Meta
from numpy.typing import NDArray
from shapely.geometry import mapping

from mapyard.elevation.profile import MAX_POINTS as MAX_HEIGHTS
from mapyard.elevation.profile import find_heights
from mapyard.errors import InvalidRequest, MapyardError, NotFound, TooLarge, Unsupported
from mapyard.forms.ors.answers import GEOJSON, JSON, join_boxes, make_error_writer, make_metadata
from mapyard.forms.ors.params import (
    PROFILES,
    UNIT_M,
    Isochrones,
    Matrix,
    Snap,
    read_choice,
    read_indexes,
    read_places,
    read_profile,
    read_ranges,
)
from mapyard.forms.roads import check_pairs, find_road_ends
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Asked, Example, endpoint
from mapyard.http.errors import NotOffered
from mapyard.library.questions import tours
from mapyard.library.ways import get_engine, get_rasters
from mapyard.params.parser import NoParams, Params
from mapyard.params.positions import Problem, read_positions
from mapyard.results.pages import ATTRIBUTION
from mapyard.routing.isochrone import find_isochrones
from mapyard.routing.matrix import compute_matrix
from mapyard.routing.nearest import RoadEnd, find_ends
from mapyard.routing.polyline import decode_polyline, encode_polyline
from mapyard.routing.snapping import DEFAULT_RADIUS_M

_TAG: Final = "openrouteservice"
_PLACES: Final = [[7.4246, 43.7384], [7.4197, 43.7314]]
_matrix_error = make_error_writer(6_000)
_isochrones_error = make_error_writer(3_000)
_snap_error = make_error_writer(8_000)
_export_error = make_error_writer(7_000)
_other_error = make_error_writer(0)


@endpoint(
    "/ors/v2/matrix/{profile}",
    aliases=("/ors/v2/matrix/{profile}/json",),
    methods=("POST",),
    summary="Matrix as of openrouteservice",
    tag=_TAG,
    premium=True,
    heavy=True,
    strict=True,
    media_types=(JSON,),
    write_error=_matrix_error,
    examples=[
        Example(
            {"profile": "driving-car", "locations": _PLACES, "metrics": ["duration", "distance"]}
        )
    ],
)
def matrix(ctx: Context, params: Matrix) -> Answer:
    """Return durations, in seconds, and distances from sources to destinations."""
    lonlat = read_places(params.locations)
    mode, choice = read_choice(params.profile, params.options)
    rows = read_indexes("sources", params.sources, len(lonlat))
    columns = read_indexes("destinations", params.destinations, len(lonlat))
    most = check_pairs(ctx, len(rows), len(columns))
    ends = find_road_ends(ctx, lonlat, mode, DEFAULT_RADIUS_M)
    found = compute_matrix(
        get_engine(ctx), lonlat[rows], lonlat[columns], mode, choice=choice, deadline=ctx.deadline,
        max_pairs=most, are_on_roads=True,
    )  # fmt: skip
    body: dict[str, Any] = {}
    if "duration" in params.metrics:
        body["durations"] = found.durations_s
    if "distance" in params.metrics:
        body["distances"] = np.round(found.distances_m / UNIT_M[params.units], 2)
    places = [_write_place(end, with_name=params.resolve_locations) for end in ends]
    body["destinations"] = [places[index] for index in columns]
    body["sources"] = [places[index] for index in rows]
    query = {
        "id": params.id, "profile": params.profile, "profileName": params.profile,
        "locations": lonlat.tolist(), "responseType": "json", "metrics": params.metrics,
        "sources": params.sources, "destinations": params.destinations,
    }  # fmt: skip
    body["metadata"] = make_metadata(ctx, "matrix", query)
    return Answer.json(body, JSON)


def _write_place(end: RoadEnd, *, with_name: bool) -> dict[str, Any]:
    place: dict[str, Any] = {
        "location": [round(end.lon, 6), round(end.lat, 6)],
        "snapped_distance": round(end.distance_m, 2),
    }
    return place | ({"name": end.name} if with_name and end.name else {})


@endpoint(
    "/ors/v2/isochrones/{profile}",
    aliases=("/ors/v2/isochrones/{profile}/geojson",),
    methods=("POST",),
    summary="Isochrones as of openrouteservice",
    tag=_TAG,
    premium=True,
    strict=True,
    media_types=(GEOJSON,),
    write_error=_isochrones_error,
    examples=[Example({"profile": "foot-walking", "locations": _PLACES[:1], "range": [300, 600]})],
)
def isochrones(ctx: Context, params: Isochrones) -> Answer:
    """Return what can be reached from each location within each range, one polygon each."""
    for name in params.attributes:
        if name != "area":
            raise _refuse("attributes", f"{name} is not served; area is")
    if params.intersections:
        raise _refuse("intersections", "are not served; cut the polygons where you need them")
    mode, choice = read_choice(params.profile, params.options, departure=params.time)
    limits = read_ranges(params)
    unit_m = UNIT_M[params.units]
    features, boxes = [], []
    for group, (lon, lat) in enumerate(read_places(params.locations).tolist()):
        ctx.deadline.check()
        found = find_isochrones(
            get_engine(ctx), lon, lat, limits, mode, metric=params.range_type,
            toward=params.location_type == "destination", choice=choice, least_share=1.0,
        )  # fmt: skip
        for one in found:
            shape = max(shapely.get_parts(one.geometry), key=shapely.area)
            value = one.limit / unit_m if params.range_type == "distance" else one.limit
            properties: dict[str, Any] = {
                "group_index": group, "value": round(value, 3), "center": [lon, lat],
            }  # fmt: skip
            if "area" in params.attributes:
                properties["area"] = round(one.area_m2 / UNIT_M[params.area_units] ** 2, 4)
            features.append(
                {"type": "Feature", "properties": properties, "geometry": mapping(shape)}
            )
            boxes.append(list(shape.bounds))
    query = {
        "id": params.id, "profile": params.profile, "profileName": params.profile,
        "locations": params.locations.lonlat.tolist(), "range": list(params.range),
        "range_type": params.range_type, "location_type": params.location_type,
    }  # fmt: skip
    body = {
        "type": "FeatureCollection",
        "bbox": join_boxes(boxes),
        "features": features,
        "metadata": make_metadata(ctx, "isochrones", query),
    }
    return Answer.json(body, GEOJSON)


@endpoint(
    "/ors/v2/snap/{profile}",
    aliases=("/ors/v2/snap/{profile}/json",),
    methods=("POST",),
    summary="Snap as of openrouteservice",
    tag=_TAG,
    premium=True,
    strict=True,
    media_types=(JSON,),
    write_error=_snap_error,
    examples=[Example({"profile": "driving-car", "locations": _PLACES})],
)
def snap(ctx: Context, params: Snap) -> Answer:
    """Return each location on its nearest road, null where there is none."""
    places = [
        None if road is None else _write_place(road, with_name=True)
        for road in _find_snapped(ctx, params)
    ]
    return Answer.json({"locations": places, "metadata": _describe_snap(ctx, params, "json")}, JSON)


@endpoint(
    "/ors/v2/snap/{profile}/geojson",
    methods=("POST",),
    summary="Snap as of openrouteservice, as GeoJSON",
    tag=_TAG,
    premium=True,
    strict=True,
    media_types=(GEOJSON,),
    write_error=_snap_error,
    examples=[Example({"profile": "driving-car", "locations": _PLACES})],
)
def snap_geojson(ctx: Context, params: Snap) -> Answer:
    """Return the locations that have a road, as features with the index of each."""
    features, points = [], []
    for index, road in enumerate(_find_snapped(ctx, params)):
        if road is not None:
            place = _write_place(road, with_name=True)
            points.append(place.pop("location"))
            shape = {"type": "Point", "coordinates": points[-1]}
            properties = place | {"source_id": index}
            features.append({"type": "Feature", "properties": properties, "geometry": shape})
    body: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    if points:
        whole = np.array(points)
        body["bbox"] = [*whole.min(axis=0).tolist(), *whole.max(axis=0).tolist()]
    return Answer.json(body | {"metadata": _describe_snap(ctx, params, "geojson")}, GEOJSON)


def _find_snapped(ctx: Context, params: Snap) -> list[RoadEnd | None]:
    mode, _ = read_profile(params.profile)
    lonlat = read_places(params.locations)
    found = find_ends(get_engine(ctx), lonlat, mode, params.radius)
    return [end if end and end.distance_m <= params.radius else None for end in found]


def _describe_snap(ctx: Context, params: Snap, form: str) -> dict[str, Any]:
    query = {
        "id": params.id, "profile": params.profile, "profileName": params.profile, "format": form,
        "locations": params.locations.lonlat.tolist(), "radius": params.radius,
    }  # fmt: skip
    return make_metadata(ctx, "snap", query)


def _write_vroom_error(error: MapyardError, _asked: Asked) -> Answer:
    """Return an error as VROOM writes it: 1 its own, 2 of the input, 3 of the roads."""
    code = 3 if error.code.startswith("no_") else 2 if error.status < 500 else 1
    body = {"code": code, "error": error.message}
    return Answer.json(body, JSON, error.status, error.headers)


@endpoint(
    "/ors/optimization",
    methods=("POST",),
    summary="Optimization as of openrouteservice: VROOM's problems",
    tag=_TAG,
    premium=True,
    heavy=True,
    strict=True,
    media_types=(JSON,),
    write_error=_write_vroom_error,
    examples=[
        Example(
            {
                "vehicles": [{"id": 1, "profile": "driving-car", "start": _PLACES[0]}],
                "jobs": [{"id": 1, "location": _PLACES[1]}],
            }
        )
    ],
)
def optimization(ctx: Context, params: tours.PlanQuestion) -> Answer:
    """Return tours of vehicles over jobs and shipments, in the form of VROOM."""
    jobs = tuple(_rename_amount(job) for job in params.jobs)
    request = tours.read_problem(msgspec.structs.replace(params, jobs=jobs))
    stops = len(params.jobs) + 2 * len(params.shipments)
    if stops > ctx.settings.optimize_inline_stops:
        raise TooLarge(
            f"{stops} stops, at most {ctx.settings.optimize_inline_stops} at once; /api/v1/tours "
            "takes more, as a job"
        )
    return Answer.json(tours.plan(get_engine(ctx), request, ctx.deadline), JSON)


def _rename_amount(job: dict[str, Any]) -> dict[str, Any]:
    """Return a job whose `amount`, as openrouteservice's client still calls it, is a delivery."""
    if "amount" not in job or "delivery" in job:
        return job
    return {"delivery" if name == "amount" else name: value for name, value in job.items()}


class Height(Params, kw_only=True):
    """A point or a line."""

    geometry: Annotated[Any, Meta(description="GeoJSON, positions, lon,lat, or polyline")]
    format_in: Annotated[
        Literal["geojson", "point", "polyline", "encodedpolyline", "encodedpolyline5",
                "encodedpolyline6"],
        Meta(description="of geometry"),
    ] = "geojson"  # fmt: skip
    format_out: Annotated[
        Literal["geojson", "point", "polyline", "encodedpolyline", "encodedpolyline5",
                "encodedpolyline6"],
        Meta(description="of the answer"),
    ] = "geojson"  # fmt: skip
    dataset: Annotated[str, Meta(max_length=40, description="not looked at")] = "srtm"


class PointHeight(Params, kw_only=True):
    """A point."""

    geometry: Annotated[Any, Meta(description="lon,lat, [lon, lat] or GeoJSON")]
    format_in: Annotated[Literal["geojson", "point"] | None, Meta(description="not needed")] = None
    format_out: Annotated[Literal["geojson", "point"], Meta(description="of the answer")] = (
        "geojson"
    )
    dataset: Annotated[str, Meta(max_length=40, description="not looked at")] = "srtm"


@endpoint(
    "/ors/elevation/line",
    methods=("POST",),
    summary="Heights of a line as of openrouteservice",
    tag=_TAG,
    premium=True,
    media_types=(JSON,),
    write_error=_other_error,
    examples=[
        Example(
            {"format_in": "polyline", "geometry": _PLACES, "format_out": "polyline"}
        )
    ],
)  # fmt: skip
def elevation_line(ctx: Context, params: Height) -> Answer:
    """Return a line with heights, meters; 0 where there is no data."""
    line = _read_line(params)
    return _answer_heights(ctx, line, params.format_out, "LineString")


@endpoint(
    "/ors/elevation/point",
    methods=("GET", "POST"),
    summary="Height of a point as of openrouteservice",
    tag=_TAG,
    premium=True,
    media_types=(JSON,),
    write_error=_other_error,
    examples=[Example({"geometry": "7.4246,43.7384"})],
)
def elevation_point(ctx: Context, params: PointHeight) -> Answer:
    """Return a point with its height, meters."""
    value = params.geometry
    if isinstance(value, str) and not value.lstrip().startswith(("{", "[")):
        value = [value.split(",")]
        try:
            value = [[float(part) for part in value[0]]]
        except ValueError:
            raise InvalidRequest.of("geometry", "must be text: lon,lat") from None
    return _answer_heights(ctx, _read_shape(value, 1), params.format_out, "Point")


def _read_line(params: Height) -> NDArray[np.float64]:
    if params.format_in.startswith("encodedpolyline"):
        digits = 6 if params.format_in.endswith("6") else 5
        try:
            return decode_polyline(str(params.geometry), digits)
        except (ValueError, UnicodeEncodeError, IndexError):
            raise InvalidRequest.of("geometry", "the polyline cannot be read") from None
    return _read_shape(params.geometry, MAX_HEIGHTS)


def _read_shape(value: Any, most: int) -> NDArray[np.float64]:
    try:
        lonlat = read_positions(value, lng_first=True).lonlat
    except Problem as problem:
        raise InvalidRequest.of("geometry", str(problem)) from None
    if len(lonlat) > most:
        raise TooLarge(f"geometry: {len(lonlat)} positions, at most {most}")
    return lonlat


def _answer_heights(ctx: Context, line: NDArray[np.float64], form: str, kind: str) -> Answer:
    heights = np.nan_to_num(find_heights(get_rasters(ctx), line).heights_m)
    whole = np.column_stack([line, heights])
    geometry: Any
    if form == "geojson":
        geometry = {"type": kind, "coordinates": whole[0] if kind == "Point" else whole}
    elif form.startswith("encodedpolyline"):
        geometry = encode_polyline(line, 6 if form.endswith("6") else 5, heights)
    else:
        geometry = whole[0] if kind == "Point" else whole
    body = {
        "attribution": ATTRIBUTION, "geometry": geometry, "timestamp": int(time.time()),
        "version": "0.2.1",
    }  # fmt: skip
    return Answer.json(body, JSON)


@endpoint(
    "/ors/v2/health",
    summary="Health as of openrouteservice",
    tag=_TAG,
    public=True,
    media_types=(JSON,),
    write_error=_other_error,
    examples=[Example({})],
)
def health(ctx: Context, params: NoParams) -> Answer:
    """Say that questions are answered."""
    get_engine(ctx)
    return Answer.json({"status": "ready"}, JSON)


@endpoint(
    "/ors/v2/status",
    summary="State as of openrouteservice",
    tag=_TAG,
    public=True,
    media_types=(JSON,),
    write_error=_other_error,
    examples=[Example({})],
)
def status(ctx: Context, params: NoParams) -> Answer:
    """Say which profiles and services there are, and of when the data is."""
    osm_date = ctx.snapshot.find_data_time("routing")
    profiles = {name: {"encoder_name": name, "osm_date": osm_date} for name in PROFILES}
    services = ["routing", "isochrones", "matrix", "snap"]
    engine = {"version": "9"}
    return Answer.json({"engine": engine, "profiles": profiles, "services": services}, JSON)


class Elsewhere(Params):
    """Parts of a path that leads nowhere."""

    service: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""
    profile: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""
    format: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""


#: Services that the original has and we have not → why.
_NOT_SERVED: Final = {
    "export": "the road graph is not given out; ask /api/v1/features for roads",
    "match": "not served; ask /osrm/match or /api/v1/map-match",
    "pois": "not served; ask /api/v1/features with tags, or /overpass/api/interpreter",
}


@endpoint(
    "/ors/v2/{service}",
    aliases=("/ors/v2/{service}/{profile}", "/ors/v2/{service}/{profile}/{format}", "/ors/pois"),
    methods=("GET", "POST"),
    summary="Other services of openrouteservice: refused by name",
    tag="",
    media_types=(JSON,),
    write_error=_export_error,
    needs_dataset=False,
)
def elsewhere(ctx: Context, params: Elsewhere) -> Answer:
    """Say what is wrong with a path."""
    name = params.service or "pois"
    if name in _NOT_SERVED:
        raise NotOffered(f"{name} is {_NOT_SERVED[name]}")
    raise NotFound(
        f"there is no service {name[:40]!r}: directions, matrix, isochrones and snap are"
    )


def _refuse(name: str, problem: str) -> Unsupported:
    return Unsupported(f"{name}: {problem}", details={name: [problem]})
