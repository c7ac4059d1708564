"""GraphHopper's requests, read into our words."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.library.questions.roads import MAX_POINTS
from mapyard.params.parser import Params, Positions, spelled
from mapyard.routing.isochrone import MAX_DISTANCE_M, MAX_TIME_S
from mapyard.routing.modes import MODES, Mode
from mapyard.routing.route import MOST_POSITIONS
from mapyard.routing.stops import Stop, Unsnappable

#: Profile → mode, and what it is more.
PROFILES: Final[dict[str, tuple[Mode, dict[str, Any]]]] = {
    **{mode: (mode, {}) for mode in MODES},
    "car": ("auto", {}),
    "small_truck": ("truck", {"height_m": 2.7, "width_m": 2.0, "length_m": 5.5, "weight_t": 3.48}),
    "scooter": ("motor_scooter", {}),
    "bike": ("bicycle", {}),
    "racingbike": ("bicycle", {"bicycle_type": "road"}),
    "mtb": ("bicycle", {"bicycle_type": "mountain"}),
    "ecargobike": ("bicycle", {"bicycle_type": "electric"}),
}
_SNAP_PREVENTIONS: Final[dict[str, Unsnappable]] = {
    "motorway": "motorway", "tunnel": "tunnel", "bridge": "bridge", "ferry": "ferry",
}  # fmt: skip
_NOT_SNAPPED: Final = ("trunk", "ford")

NOT_ROUTED: Final = {
    "custom_model": "not served; choose a profile",
    "block_area": "not served; ask /api/v1/route with avoid_polygons",
    "avoid": "not served; ask /api/v1/route with exclude",
    "round_trip.distance": "round trips are not served",
    "round_trip.seed": "round trips are not served",
    "pt.earliest_departure_time": "public transport is not served",
}
NOT_IN_MATRICES: Final = {
    "curbsides": "not served for matrices: cells go from the nearest road, in both directions",
    "from_curbsides": "not served for matrices",
    "to_curbsides": "not served for matrices",
    "snap_preventions": "not served for matrices",
    "custom_model": "not served; choose a profile",
}

type Locale = Annotated[str, Meta(max_length=16, description="language of names or instructions")]


class Common(Params, kw_only=True):
    """What all calls about roads have."""

    profile: Annotated[
        str, spelled("car, bike, foot, … or our modes", "vehicle", max_length=40)
    ] = "car"
    debug: Annotated[bool, Meta(description="not looked at")] = False
    ch_disable: Annotated[bool | None, Meta(description="not looked at")] = msgspec.field(
        name="ch.disable", default=None
    )
    lm_disable: Annotated[bool | None, Meta(description="not looked at")] = msgspec.field(
        name="lm.disable", default=None
    )


class Drawn(Common, kw_only=True):
    """How a way is written."""

    type: Annotated[Literal["json", "gpx"], Meta(description="form of the answer")] = "json"
    locale: Locale = "en"
    instructions: Annotated[bool, Meta(description="false: without instructions")] = True
    calc_points: Annotated[bool, Meta(description="false: distance and time only")] = True
    elevation: Annotated[bool, Meta(description="heights as third coordinate")] = False
    points_encoded: Annotated[bool, Meta(description="lines as text, else as GeoJSON")] = True
    points_encoded_multiplier: Annotated[
        float, Meta(ge=1e5, le=1e7, description="1e5, 1e6 or 1e7: decimals of lines as text")
    ] = 1e5
    details: Annotated[
        tuple[str, ...],
        Meta(max_length=30, description="figures by stretch, such as street_name, road_class"),
    ] = ()
    way_point_max_distance: Annotated[
        float | None, Meta(description="not looked at: lines are given in full")
    ] = None


class Route(Drawn, kw_only=True):
    """A way through points."""

    point: Annotated[
        tuple[str, ...],
        spelled("lat,lon, given once for each (GET)", split=False, max_length=MOST_POSITIONS),
    ] = ()
    points: Annotated[
        Positions | None,
        spelled("lon and lat of each (POST)", max_points=MOST_POSITIONS, lng_first=True),
    ] = None
    point_hint: Annotated[
        tuple[str, ...],
        spelled("not looked at: the nearest road", "point_hints", split=False, max_length=100),
    ] = ()
    snap_prevention: Annotated[
        tuple[str, ...],
        spelled("motorway tunnel bridge ferry", "snap_preventions", max_length=10),
    ] = ()
    curbside: Annotated[
        tuple[str, ...],
        spelled("any, right or left per point", "curbsides", max_length=MOST_POSITIONS),
    ] = ()
    curbside_strictness: Annotated[
        Literal["strict", "soft"], Meta(description="both: the side is kept where it can be")
    ] = "strict"
    heading: Annotated[
        tuple[str, ...],
        spelled("degrees per point, or of the first", "headings", max_length=MOST_POSITIONS),
    ] = ()
    heading_penalty: Annotated[
        float | None, Meta(description="not looked at: a heading is kept")
    ] = None
    pass_through: Annotated[bool, Meta(description="no turning around on the way")] = False
    algorithm: Annotated[
        str, Meta(max_length=40, description="alternative_route is served; round_trip is refused")
    ] = ""
    max_paths: Annotated[int, Meta(ge=1, le=4, description="of alternative routes, at most 4")] = (
        msgspec.field(name="alternative_route.max_paths", default=2)
    )
    max_weight_factor: Annotated[
        float, Meta(ge=1, description="so many times as long as the best, at most")
    ] = msgspec.field(name="alternative_route.max_weight_factor", default=1.4)
    max_share_factor: Annotated[
        float, Meta(ge=0, le=1, description="share of the best that another has at most")
    ] = msgspec.field(name="alternative_route.max_share_factor", default=0.6)
    optimize: Annotated[bool, Meta(description="best order of the points on the way")] = False
    timeout_ms: Annotated[int | None, Meta(description="not looked at")] = None
    via_point_instructions: Annotated[
        bool, Meta(description="false: no instruction where a point on the way is reached")
    ] = True


class Isochrone(Common, kw_only=True):
    """What can be reached."""

    point: Annotated[str, Meta(max_length=100, description="lat,lon")]
    time_limit: Annotated[float, Meta(le=MAX_TIME_S, description="seconds")] = 600.0
    distance_limit: Annotated[
        float, Meta(le=MAX_DISTANCE_M, description="meters, instead of time")
    ] = -1.0
    weight_limit: Annotated[float, Meta(description="refused")] = -1.0
    buckets: Annotated[int, Meta(ge=1, le=10, description="areas, at most 10")] = 1
    reverse_flow: Annotated[bool, Meta(description="from where the point is reached")] = False
    type: Annotated[Literal["json", "geojson"], Meta(description="form of the answer")] = "json"
    tolerance: Annotated[
        float | None, Meta(ge=0, le=10_000, description="coarser outlines, meters")
    ] = None
    full_geometry: Annotated[bool, Meta(description="not looked at: holes are kept")] = False


class Matrix(Common, kw_only=True):
    """Times and distances between points."""

    point: Annotated[
        tuple[str, ...], spelled("lat,lon (GET)", split=False, max_length=MAX_POINTS)
    ] = ()
    from_point: Annotated[
        tuple[str, ...], spelled("lat,lon (GET)", split=False, max_length=MAX_POINTS)
    ] = ()
    to_point: Annotated[
        tuple[str, ...], spelled("lat,lon (GET)", split=False, max_length=MAX_POINTS)
    ] = ()
    points: Annotated[
        Positions | None, spelled("lon and lat of each", max_points=MAX_POINTS, lng_first=True)
    ] = None
    from_points: Annotated[
        Positions | None, spelled("lon and lat of each", max_points=MAX_POINTS, lng_first=True)
    ] = None
    to_points: Annotated[
        Positions | None, spelled("lon and lat of each", max_points=MAX_POINTS, lng_first=True)
    ] = None
    out_array: Annotated[
        tuple[Literal["weights", "times", "distances"], ...],
        spelled("tables that are wanted", "out_arrays", max_length=5),
    ] = ("weights",)
    fail_fast: Annotated[
        bool, Meta(description="true: an error where a cell has no way; false: null")
    ] = True
    point_hints: Annotated[Any, Meta(description="not looked at")] = None
    from_point_hints: Annotated[Any, Meta(description="not looked at")] = None
    to_point_hints: Annotated[Any, Meta(description="not looked at")] = None


class Match(Drawn, kw_only=True):
    """A trace."""

    gpx: Annotated[str, Meta(description="the body, as GPX")]
    gps_accuracy: Annotated[
        float, Meta(gt=0, le=100, description="meters; roads are looked for five times as far")
    ] = 10.0
    traversal_keys: Annotated[bool, Meta(description="true is refused")] = False


class Geocode(Params, kw_only=True):
    """A text, or a point."""

    q: Annotated[str, Meta(max_length=2_000, description="what is looked for")] = ""
    reverse: Annotated[bool, Meta(description="what is at the point")] = False
    point: Annotated[str, Meta(max_length=100, description="lat,lon: of reverse, or near")] = ""
    limit: Annotated[int, Meta(ge=1, description="at most 50; more is taken for 50")] = 10
    locale: Locale = "en"
    bbox: Annotated[str, Meta(max_length=200, description="only within west,south,east,north")] = ""
    countrycode: Annotated[
        tuple[Annotated[str, Meta(pattern="^[A-Za-z]{2}$")], ...], Meta(description="ISO 3166-1")
    ] = ()
    autocomplete: Annotated[bool, Meta(description="q may be unfinished")] = False
    provider: Annotated[str, Meta(max_length=40, description="not looked at")] = "default"
    debug: Annotated[bool, Meta(description="not looked at")] = False


class Nearest(Common, kw_only=True):
    """A point."""

    point: Annotated[str, Meta(max_length=100, description="lat,lon")]
    elevation: Annotated[bool, Meta(description="its height as third coordinate")] = False


def read_profile(params: Common) -> tuple[Mode, dict[str, Any]]:
    """Return the mode of a profile, and options that it has of its own."""
    found = PROFILES.get(params.profile)
    if found is None:
        raise InvalidRequest(
            f"the requested profile '{params.profile[:40]}' does not exist; available profiles: "
            f"{', '.join(PROFILES)}"
        )
    return found


def read_point(name: str, text: str) -> tuple[float, float]:
    """Return lon and lat."""
    try:
        lat, lon = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidRequest.of(name, f"{text[:40]!r} is not written lat,lon") from None
    if not (abs(lon) <= 180 and abs(lat) <= 90):
        raise InvalidRequest.of(name, f"{text[:40]!r} is not latitude and longitude in degrees")
    return lon, lat


def read_points(name: str, texts: tuple[str, ...], given: Positions | None) -> NDArray[np.float64]:
    """Return positions (n, 2), of a query or of a body."""
    if given is not None:
        return given.lonlat
    return np.array([read_point(name, text) for text in texts], np.float64).reshape(-1, 2)


def read_digits(params: Drawn) -> int:
    """Return the decimals of lines as text."""
    digits = math.log10(params.points_encoded_multiplier)
    if digits != int(digits):
        raise InvalidRequest.of("points_encoded_multiplier", "must be 1e5, 1e6 or 1e7")
    return int(digits)


def read_stops(params: Route, count: int) -> list[Stop] | None:
    """Return what is said of each point, None where nothing is."""
    kept = []
    for name in params.snap_prevention:
        if name in _NOT_SNAPPED:
            raise _refuse("snap_prevention", f"{name} is not served")
        if name not in _SNAP_PREVENTIONS:
            raise InvalidRequest.of("snap_prevention", f"cannot find {name[:40]!r}")
        kept.append(_SNAP_PREVENTIONS[name])
    if params.curbside and len(params.curbside) != count:
        raise InvalidRequest.of("curbside", f"{len(params.curbside)} for {count} points")
    if len(params.heading) not in (0, 1, count):
        raise InvalidRequest.of("heading", f"{len(params.heading)} for {count} points")
    if not (kept or params.curbside or params.heading or params.pass_through):
        return None
    return [
        Stop(
            heading_deg=_read_heading(params.heading, index),
            side=_read_side(params.curbside[index]) if params.curbside else "any",
            keeps_on=params.pass_through and 0 < index < count - 1,
            unsnappable=tuple(kept),
        )
        for index in range(count)
    ]


def _read_heading(headings: tuple[str, ...], index: int) -> float | None:
    text = headings[index] if index < len(headings) else ""
    if text.lower() in ("", "nan", "null", "none"):
        return None
    try:
        heading = float(text)
    except ValueError:
        heading = -1.0
    if not 0 <= heading <= 360:
        raise InvalidRequest.of("heading", f"{text[:40]!r} is not an angle of 0 to 360 degrees")
    return heading


def _read_side(text: str) -> Any:
    """Return the side where one stops: right is that of countries that drive on the right."""
    sides = {"": "any", "any": "any", "right": "same", "left": "opposite"}
    if text not in sides:
        raise InvalidRequest.of("curbside", f"{text[:40]!r} is not any, right or left")
    return sides[text]


def _refuse(name: str, problem: str) -> Unsupported:
    return Unsupported(f"{name}: {problem}", details={name: [problem]})


def check_route(params: Route) -> None:
    """Raise for what is asked and not served."""
    if params.algorithm == "round_trip":
        raise _refuse("algorithm", "round_trip is not served")


def check_count(lonlat: NDArray[np.float64], least: int) -> None:
    """Raise `InvalidRequest` for too few points, `TooLarge` for too many."""
    if len(lonlat) < least:
        raise InvalidRequest.of("point", f"you have to pass at least {least}")
    if least == 2 and len(lonlat) > MOST_POSITIONS:
        raise TooLarge(f"{len(lonlat)} points, at most {MOST_POSITIONS}")
