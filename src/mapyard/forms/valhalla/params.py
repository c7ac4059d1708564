"""Valhalla's requests: every member that goes on to the engine has its type and bounds here.

The engine trusts what it is given: a member of another type may end the process.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
import orjson
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.params.parser import Params, Parser
from mapyard.routing.config import MAX_AVOID_VERTICES
from mapyard.routing.modes import COSTING_DEFAULTS, Mode
from mapyard.routing.polyline import decode_polyline
from mapyard.routing.snapping import DEFAULT_RADIUS_M

type Rings = list[list[list[float]]]
_MODES: Final[dict[str, Mode]] = {
    "auto": "auto", "truck": "truck", "motor_scooter": "motor_scooter", "motorcycle": "motorcycle",
    "taxi": "taxi", "bus": "bus", "bicycle": "bicycle", "pedestrian": "foot",
}  # fmt: skip
_MOST_EXCLUDED: Final = 50
_MOST_OPTIONS: Final = 100
_DIGITS: Final = {"polyline5": 5, "polyline6": 6}

#: Members that are not served → why.
REFUSED: Final = {
    "durations": "not served; give each point of shape its time",
    "best_paths": "not served: one path is found",
    "matrix_locations": "not served",
    "linear_cost_factors": "not served",
}

RoadClass = Literal[
    "motorway", "trunk", "primary", "secondary", "tertiary", "unclassified", "residential",
    "service_other",
]  # fmt: skip


class BadCosting(InvalidRequest):
    """A costing that is not served."""

    code = "no_costing"


class SearchFilter(msgspec.Struct, omit_defaults=True):
    """Which roads a location goes to."""

    exclude_tunnel: bool = False
    exclude_bridge: bool = False
    exclude_ramp: bool = False
    exclude_toll: bool = False
    exclude_ferry: bool = False
    exclude_closures: bool | None = None
    min_road_class: RoadClass | None = None
    max_road_class: RoadClass | None = None


#: Members of locations that come back as they are given.
CARRIED: Final = ("name", "street", "city", "state", "postal_code", "country", "phone", "url")
Word = Annotated[str | None, Meta(max_length=500)]


class Location(msgspec.Struct, omit_defaults=True):
    """A place, how it is left or reached, and what comes back as it is given."""

    lat: Annotated[float, Meta(ge=-90, le=90)]
    lon: Annotated[float, Meta(ge=-180, le=180)]
    type: Literal["break", "through", "via", "break_through"] | None = None
    heading: Annotated[int | None, Meta(ge=0, le=360)] = None
    heading_tolerance: Annotated[int | None, Meta(ge=0, le=180)] = None
    minimum_reachability: Annotated[int | None, Meta(ge=0, le=100)] = None
    radius: Annotated[float | None, Meta(ge=0, le=200)] = None
    rank_candidates: bool | None = None
    preferred_side: Literal["same", "opposite", "either"] | None = None
    display_lat: Annotated[float | None, Meta(ge=-90, le=90)] = None
    display_lon: Annotated[float | None, Meta(ge=-180, le=180)] = None
    search_cutoff: Annotated[float | None, Meta(gt=0, le=5_000)] = None
    node_snap_tolerance: Annotated[float | None, Meta(ge=0, le=100)] = None
    street_side_tolerance: Annotated[float | None, Meta(ge=0, le=1_000)] = None
    street_side_max_distance: Annotated[float | None, Meta(ge=0, le=10_000)] = None
    street_side_cutoff: RoadClass | None = None
    search_filter: SearchFilter | None = None
    waiting: Annotated[int | None, Meta(ge=0, le=86_400)] = None
    time: Annotated[float | None, Meta(ge=0, le=4e9)] = None
    accuracy: Annotated[float | None, Meta(ge=0, le=100)] = None
    name: Word = None
    street: Word = None
    city: Word = None
    state: Word = None
    postal_code: Word = None
    country: Word = None
    phone: Word = None
    url: Word = None


class DateTime(msgspec.Struct, omit_defaults=True):
    """When a way is travelled."""

    type: Annotated[int, Meta(ge=0, le=3)]
    value: Annotated[str | None, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d$")] = None


class DirectionsOptions(msgspec.Struct, omit_defaults=True):
    """How directions are written, under their earlier name."""

    units: Literal["kilometers", "km", "miles", "mi"] | None = None
    language: Annotated[str | None, Meta(pattern="^[A-Za-z-]{2,10}$")] = None
    directions_type: Literal["none", "maneuvers", "instructions"] | None = None


class Filters(msgspec.Struct):
    """Which members an answer has."""

    attributes: Annotated[tuple[Annotated[str, Meta(max_length=60)], ...], Meta(max_length=200)]
    action: Literal["include", "exclude"] = "include"


class TraceOptions(msgspec.Struct, omit_defaults=True):
    """How exact a trace is."""

    search_radius: Annotated[float | None, Meta(ge=0, le=100)] = None
    gps_accuracy: Annotated[float | None, Meta(gt=0, le=100)] = None
    breakage_distance: Annotated[float | None, Meta(ge=0, le=10_000)] = None
    interpolation_distance: Annotated[float | None, Meta(ge=0, le=1_000)] = None
    turn_penalty_factor: Annotated[float | None, Meta(ge=0, le=1_000)] = None


class Contour(msgspec.Struct, omit_defaults=True):
    """One area: within minutes or kilometers."""

    time: Annotated[float | None, Meta(gt=0, le=120)] = None
    distance: Annotated[float | None, Meta(gt=0, le=200)] = None
    color: Annotated[str | None, Meta(pattern="^#?[0-9A-Fa-f]{6}$")] = None


class Request(Params, kw_only=True):
    """What all calls have."""

    json: Annotated[str, Meta(max_length=65_536, description="the request as text, for GET")] = ""
    id: Annotated[str, Meta(max_length=200, description="comes back in the answer")] = ""


class Costed(Request, kw_only=True):
    """What calls about roads have."""

    costing: Annotated[
        str, Meta(max_length=40, description="auto, truck, bicycle, pedestrian, …")
    ] = ""
    costing_options: Annotated[
        dict[str, Any] | None, Meta(description="of the costing, as in the original")
    ] = None
    date_time: Annotated[DateTime | None, Meta(description="when; default: noon")] = None
    exclude_locations: Annotated[
        tuple[Location, ...], Meta(max_length=_MOST_EXCLUDED, description="roads not taken")
    ] = ()
    avoid_locations: Annotated[
        tuple[Location, ...], Meta(max_length=_MOST_EXCLUDED, description="the same, earlier name")
    ] = ()
    exclude_polygons: Annotated[Any, Meta(description="rings not entered, lon and lat")] = None
    avoid_polygons: Annotated[Any, Meta(description="the same, earlier name")] = None


class Directed(Costed, kw_only=True):
    """How ways are written."""

    units: Annotated[
        Literal["kilometers", "km", "miles", "mi"] | None, Meta(description="of lengths")
    ] = None
    language: Annotated[
        str | None, Meta(pattern="^[A-Za-z-]{2,10}$", description="of instructions")
    ] = None
    directions_type: Annotated[
        Literal["none", "maneuvers", "instructions"] | None, Meta(description="how much is said")
    ] = None
    directions_options: Annotated[
        DirectionsOptions | None, Meta(description="the same three, earlier place")
    ] = None
    format: Annotated[Literal["json", "osrm"], Meta(description="form of the answer")] = "json"
    shape_format: Annotated[
        Literal["polyline5", "polyline6", "geojson", "no_shape"] | None,
        Meta(description="form of lines"),
    ] = None
    banner_instructions: Annotated[bool | None, Meta(description="osrm only")] = None
    voice_instructions: Annotated[bool | None, Meta(description="osrm only")] = None
    roundabout_exits: Annotated[bool | None, Meta(description="exits as maneuvers")] = None
    turn_lanes: Annotated[bool | None, Meta(description="lanes of maneuvers")] = None
    admin_crossings: Annotated[bool | None, Meta(description="borders on the way")] = None
    linear_references: Annotated[bool | None, Meta(description="OpenLR per edge")] = None
    filters: Annotated[Filters | None, Meta(description="members of the answer")] = None
    elevation_interval: Annotated[
        float | None, Meta(ge=0, le=10_000, description="heights along ways, meters apart")
    ] = None


class Route(Directed, kw_only=True):
    """A way through locations."""

    locations: Annotated[tuple[Location, ...], Meta(description="in order of travel")] = ()
    alternates: Annotated[int | None, Meta(ge=0, le=3, description="other ways")] = None
    prioritize_bidirectional: Annotated[bool | None, Meta(description="as in the original")] = None


class Matrix(Costed, kw_only=True):
    """From each source to each target."""

    sources: Annotated[tuple[Location, ...], Meta(description="where from")] = ()
    targets: Annotated[tuple[Location, ...], Meta(description="where to")] = ()
    units: Annotated[
        Literal["kilometers", "km", "miles", "mi"], Meta(description="of distances")
    ] = "kilometers"
    verbose: Annotated[bool, Meta(description="false: two tables of numbers")] = True


class Isochrone(Costed, kw_only=True):
    """What can be reached."""

    locations: Annotated[tuple[Location, ...], Meta(description="one")] = ()
    contours: Annotated[tuple[Contour, ...], Meta(max_length=10, description="at most 10")] = ()
    polygons: Annotated[bool | None, Meta(description="areas instead of lines")] = None
    denoise: Annotated[float | None, Meta(ge=0, le=1, description="leaves small parts out")] = None
    generalize: Annotated[float | None, Meta(ge=0, le=10_000, description="meters")] = None
    show_locations: Annotated[bool | None, Meta(description="the place as points")] = None
    reverse: Annotated[bool | None, Meta(description="from where the place is reached")] = None


class Expansion(Isochrone, kw_only=True):
    """A search whose steps are shown."""

    action: Annotated[
        Literal["route", "isochrone", "sources_to_targets"] | None,
        Meta(description="which search; required"),
    ] = None
    locations: Annotated[tuple[Location, ...], Meta(description="of the search")] = ()
    sources: Annotated[tuple[Location, ...], Meta(description="of a matrix")] = ()
    targets: Annotated[tuple[Location, ...], Meta(description="of a matrix")] = ()
    skip_opposites: Annotated[bool | None, Meta(description="one direction of each road")] = None
    dedupe: Annotated[bool | None, Meta(description="each road once")] = None
    expansion_properties: Annotated[
        tuple[
            Literal[
                "distance", "duration", "cost", "edge_id", "pred_edge_id", "edge_status",
                "expansion_type", "flow_sources", "travel_mode",
                "distances", "durations", "costs", "edge_ids", "pred_edge_ids", "statuses",
            ], ...
        ],
        Meta(description="figures of each road"),
    ] = ()  # fmt: skip


class Locate(Costed, kw_only=True):
    """Roads near places."""

    locations: Annotated[tuple[Location, ...], Meta(description="places")] = ()
    verbose: Annotated[bool | None, Meta(description="all that is known of the roads")] = None


class Trace(Directed, kw_only=True):
    """A trace of points."""

    shape: Annotated[tuple[Location, ...], Meta(description="points in order of travel")] = ()
    encoded_polyline: Annotated[
        str, Meta(max_length=500_000, description="the same as text, six digits")
    ] = ""
    shape_match: Annotated[
        Literal["edge_walk", "map_snap", "walk_or_snap"], Meta(description="how it is matched")
    ] = "walk_or_snap"
    trace_options: Annotated[TraceOptions | None, Meta(description="how exact it is")] = None
    search_radius: Annotated[float | None, Meta(ge=0, le=100, description="meters")] = None
    gps_accuracy: Annotated[float | None, Meta(gt=0, le=100, description="meters")] = None
    use_timestamps: Annotated[bool | None, Meta(description="time as recorded")] = None


class Height(Request, kw_only=True):
    """A line, or points."""

    shape: Annotated[tuple[Location, ...], Meta(description="points")] = ()
    encoded_polyline: Annotated[str, Meta(max_length=500_000, description="the same as text")] = ""
    shape_format: Annotated[Literal["polyline5", "polyline6"], Meta(description="of the text")] = (
        "polyline6"
    )
    range: Annotated[bool, Meta(description="distances along the line beside heights")] = False
    resample_distance: Annotated[
        float | None, Meta(ge=10, le=100_000, description="points so far apart, meters")
    ] = None
    height_precision: Annotated[int, Meta(ge=0, le=2, description="decimals")] = 0


def read_request[T: Request](params: T, parser: Parser) -> T:
    """Return the request, out of `json` where it came as text."""
    if not params.json:
        return params
    try:
        raw = orjson.loads(params.json)
    except orjson.JSONDecodeError:
        raise InvalidRequest("json: failed to parse json request") from None
    if not isinstance(raw, dict):
        raise InvalidRequest("json: is an object")
    raw.pop("json", None)
    given = {name: value for name, value in raw.items() if value is not None and value != ""}
    found: T = parser.parse(given, REFUSED)
    return found


def read_mode(params: Costed) -> Mode:
    """Return the mode of a costing."""
    if not params.costing:
        raise BadCosting("no edge/node costing provided: send costing")
    mode = _MODES.get(params.costing)
    if mode is None:
        known = ", ".join(_MODES)
        raise BadCosting(f"costing {params.costing[:40]!r} is not served; there are {known}")
    options = (params.costing_options or {}).get("pedestrian")
    if mode == "foot" and isinstance(options, dict) and options.get("type") == "wheelchair":
        return "wheelchair"
    return mode


def write_request(params: Costed, *left_out: str) -> dict[str, Any]:
    """Return the engine's members of a request."""
    mode = read_mode(params)
    own = {
        "json", "elevation_interval", "costing_options", "exclude_locations", "avoid_locations",
        "exclude_polygons", "avoid_polygons", *left_out,
    }  # fmt: skip
    written: dict[str, Any] = {"mode": mode}
    for name in params.__struct_fields__:
        value = getattr(params, name)
        if name not in own and value not in (None, "", ()):
            written[name] = msgspec.to_builtins(value)
    written["costing_options"] = {
        params.costing: {**COSTING_DEFAULTS[mode], **_read_options(params)}
    }
    excluded = [*params.exclude_locations, *params.avoid_locations]
    if excluded:
        written["exclude_locations"] = [write_location(place) for place in excluded]
    rings = _read_rings(params.exclude_polygons) + _read_rings(params.avoid_polygons)
    if rings:
        written["exclude_polygons"] = rings
    return written


def _read_options(params: Costed) -> dict[str, Any]:
    """Return the options of the costing: plain values only."""
    options = (params.costing_options or {}).get(params.costing) or {}
    if not isinstance(options, dict) or len(options) > _MOST_OPTIONS:
        raise InvalidRequest(f"costing_options: {params.costing} is an object of options")
    for name, value in options.items():
        if not isinstance(value, bool | int | float | str):
            raise InvalidRequest(
                f"costing_options: {params.costing}.{name[:40]} is a number, a text or true/false"
            )
    return options


def _read_rings(value: Any) -> Rings:
    if value is None:
        return []
    try:
        rings: Rings = msgspec.convert(value, Rings)
    except msgspec.ValidationError:
        raise InvalidRequest("exclude_polygons: are lists of [lon, lat]") from None
    if any(len(place) != 2 for ring in rings for place in ring) or any(
        len(ring) < 3 for ring in rings
    ):
        raise InvalidRequest("exclude_polygons: are lists of three [lon, lat] or more")
    count = sum(map(len, rings))
    if count > MAX_AVOID_VERTICES:
        raise TooLarge(f"exclude_polygons: {count} positions, at most {MAX_AVOID_VERTICES}")
    return rings


def write_location(place: Location) -> dict[str, Any]:
    """Return the engine's location, to the nearest road within our radius."""
    given: dict[str, Any] = msgspec.to_builtins(place)
    return {"search_cutoff": DEFAULT_RADIUS_M, "minimum_reachability": 1, **given}


def write_end(place: Location) -> dict[str, Any]:
    """Return what is said of a place beside where it is."""
    given: dict[str, Any] = msgspec.to_builtins(place)
    return {name: value for name, value in given.items() if name not in ("lat", "lon")}


def read_positions(places: tuple[Location, ...], name: str, most: int) -> NDArray[np.float64]:
    """Return positions (n, 2), lon and lat."""
    if not places:
        raise InvalidRequest(f"{name}: insufficiently specified required parameter")
    if len(places) > most:
        raise TooLarge(f"{name}: {len(places)}, at most {most}")
    return np.array([(place.lon, place.lat) for place in places], np.float64)


def read_line(text: str, digits: int, most: int) -> NDArray[np.float64]:
    """Return the positions of an encoded polyline."""
    try:
        found = decode_polyline(text, digits)
    except (ValueError, UnicodeEncodeError, IndexError):
        raise InvalidRequest("encoded_polyline: cannot be read") from None
    if len(found) > most:
        raise TooLarge(f"encoded_polyline: {len(found)} positions, at most {most}")
    if not len(found) or not (np.abs(found) <= (180.0, 90.0)).all():
        raise InvalidRequest("encoded_polyline: holds positions that are none; check its digits")
    return found


def read_shape(params: Height, most: int) -> NDArray[np.float64]:
    """Return the positions of a line or points."""
    if params.encoded_polyline:
        return read_line(params.encoded_polyline, _DIGITS[params.shape_format], most)
    return read_positions(params.shape, "shape", most)
