"""openrouteservice's requests, read into our words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, Unsupported
from mapyard.library.questions.roads import MAX_POINTS
from mapyard.params.parser import Geometry, Params, Positions, parser_of, spelled
from mapyard.routing.avoid import write_avoided
from mapyard.routing.choice import Choice
from mapyard.routing.config import MAX_AVOID_VERTICES
from mapyard.routing.costing import CostingOptions
from mapyard.routing.isochrone import MAX_DISTANCE_M
from mapyard.routing.modes import Mode
from mapyard.routing.route import MOST_POSITIONS
from mapyard.routing.stops import Stop
from mapyard.routing.times import read_travel

#: Profile → mode, and what it is more.
PROFILES: Final[dict[str, tuple[Mode, dict[str, Any]]]] = {
    "driving-car": ("auto", {}),
    "driving-hgv": ("truck", {}),
    "cycling-regular": ("bicycle", {}),
    "cycling-road": ("bicycle", {"bicycle_type": "road"}),
    "cycling-mountain": ("bicycle", {"bicycle_type": "mountain"}),
    "cycling-electric": ("bicycle", {"bicycle_type": "electric"}),
    "foot-walking": ("foot", {}),
    "foot-hiking": ("hike", {}),
    "wheelchair": ("wheelchair", {}),
}
#: Type of vehicle of driving-hgv → mode.
_VEHICLES: Final[dict[str, Mode]] = {
    "unknown": "truck", "hgv": "truck", "goods": "truck", "delivery": "truck", "bus": "bus",
}  # fmt: skip
_EXCLUSIONS: Final = {"highways": "motorway", "tollways": "toll", "ferries": "ferry"}
#: Enough to leave steps out wherever there is another way.
_NO_STEPS_S: Final = 43_200.0
_RESTRICTIONS: Final = {
    "length": "length_m", "width": "width_m", "height": "height_m", "axleload": "axle_load_t",
    "weight": "weight_t", "hazmat": "hazmat",
}  # fmt: skip
#: Fitness of a cyclist, from novice to pro → how little climbs are avoided.
_FITNESS: Final = (0.0, 0.3, 0.7, 1.0)
#: Codes of languages that differ from the common ones.
_LANGUAGES: Final = {"dk": "da", "br": "pt-BR", "se": "sv", "gr": "el", "jp": "ja", "cz": "cs"}
#: Far from every road, where no limit was asked for, meters.
_UNLIMITED_M: Final = 5_000.0
_MOVES: Final = parser_of(CostingOptions)
MAX_ISOCHRONE_PLACES: Final = 5

#: Members that are not served → what to do.
NOT_ROUTED: Final = {
    "skip_segments": "not served: every segment follows roads",
    "custom_model": "not served; use preference and options",
    "schedule": "public transport is not served",
    "schedule_duration": "public transport is not served",
    "schedule_rows": "public transport is not served",
    "walking_time": "public transport is not served",
    "ignore_transfers": "public transport is not served",
}

Units = Literal["m", "km", "mi"]
Extra = Literal[
    "surface", "waytype", "waycategory", "tollways", "traildifficulty", "osmid", "steepness",
    "suitability", "roadaccessrestrictions", "countryinfo", "green", "noise", "shadow", "csv",
]  # fmt: skip


class AlternativeRoutes(msgspec.Struct):
    """How many routes, and how different they are."""

    refuses_unknown: ClassVar[bool] = True

    target_count: Annotated[int, Meta(ge=1, le=4, description="routes in all, at most 4")] = 2
    weight_factor: Annotated[
        float, Meta(ge=1, le=10, description="so many times as long as the best one, at most")
    ] = 1.4
    share_factor: Annotated[
        float, Meta(gt=0, le=1, description="share of the best one that another may have at most")
    ] = 0.6


class RouteOptions(msgspec.Struct):
    """Which roads are taken."""

    refuses_unknown: ClassVar[bool] = True

    avoid_features: Annotated[
        tuple[Literal["highways", "tollways", "ferries", "steps", "fords"], ...],
        Meta(max_length=10, description="fords are refused; steps are served on foot"),
    ] = ()
    avoid_polygons: Annotated[
        Geometry | None, spelled("Polygon or MultiPolygon", max_points=MAX_AVOID_VERTICES)
    ] = None
    avoid_borders: Annotated[
        Literal["none", "all", "controlled"], Meta(description="all and controlled are refused")
    ] = "none"
    avoid_countries: Annotated[
        tuple[str, ...], Meta(max_length=300, description="refused unless empty")
    ] = ()
    vehicle_type: Annotated[
        Literal["unknown", "hgv", "bus", "agricultural", "delivery", "forestry", "goods"],
        Meta(description="driving-hgv; agricultural and forestry are refused"),
    ] = "unknown"
    profile_params: Annotated[
        dict[str, Any] | None, Meta(description="restrictions of vehicles, weightings")
    ] = None
    round_trip: Annotated[dict[str, Any] | None, Meta(description="refused")] = None


class Profiled(Params, kw_only=True):
    """What all calls have."""

    profile: Annotated[str, Meta(max_length=40, description=", ".join(PROFILES))]
    profile_name: Annotated[str, Meta(max_length=100, description="not looked at")] = ""
    id: Annotated[str, Meta(max_length=200, description="comes back in the metadata")] = ""


class Directions(Profiled, kw_only=True):
    """A way through coordinates, as JSON."""

    coordinates: Annotated[
        Positions, spelled("lon and lat of each", max_points=MOST_POSITIONS, lng_first=True)
    ]
    preference: Annotated[
        Literal["recommended", "fastest", "shortest"],
        Meta(description="recommended is the quickest way under our rules of roads"),
    ] = "recommended"
    units: Annotated[Units, Meta(description="of distances")] = "m"
    language: Annotated[str, Meta(max_length=10, description="of instructions")] = "en"
    geometry: Annotated[bool, Meta(description="false: without the line")] = True
    geometry_simplify: Annotated[bool, Meta(description="a coarser line")] = False
    instructions: Annotated[bool, Meta(description="false: segments without steps")] = True
    instructions_format: Annotated[
        Literal["text", "html"], Meta(description="html: names of roads in bold")
    ] = "text"
    roundabout_exits: Annotated[bool, Meta(description="true is refused")] = False
    attributes: Annotated[
        tuple[Literal["avgspeed", "detourfactor", "percentage"], ...],
        Meta(max_length=10, description="figures of each segment"),
    ] = ()
    maneuvers: Annotated[bool, Meta(description="place and bearings of each step")] = False
    radiuses: Annotated[
        tuple[float, ...], Meta(max_length=MOST_POSITIONS, description="meters; -1: no limit")
    ] = ()
    bearings: Annotated[
        tuple[tuple[float, ...], ...],
        spelled("[bearing, deviation] per coordinate", max_length=MOST_POSITIONS),
    ] = ()
    continue_straight: Annotated[bool, Meta(description="no turning around on the way")] = False
    elevation: Annotated[bool, Meta(description="heights as third coordinate")] = False
    extra_info: Annotated[
        tuple[Extra, ...],
        Meta(max_length=20, description="surface waytype waycategory tollways osmid are served"),
    ] = ()
    optimized: Annotated[bool | None, Meta(description="not looked at")] = None
    suppress_warnings: Annotated[bool, Meta(description="there are none")] = False
    options: Annotated[RouteOptions | None, Meta(description="which roads are taken")] = None
    alternative_routes: Annotated[
        AlternativeRoutes | None, Meta(description="other routes, between two coordinates")
    ] = None
    departure: Annotated[str | None, Meta(max_length=32, description="local time")] = None
    arrival: Annotated[str | None, Meta(max_length=32, description="local time")] = None
    maximum_speed: Annotated[
        float | None, Meta(ge=10, le=252, description="driving: no faster, km/h")
    ] = None


class SimpleDirections(Params, kw_only=True):
    """A way between two coordinates."""

    profile: Annotated[str, Meta(max_length=40, description=", ".join(PROFILES))]
    start: Annotated[str, Meta(max_length=100, description="lon,lat")]
    end: Annotated[str, Meta(max_length=100, description="lon,lat")]


class Matrix(Profiled, kw_only=True):
    """Durations and distances between locations."""

    locations: Annotated[
        Positions, spelled("lon and lat of each", max_points=MAX_POINTS, lng_first=True)
    ]
    sources: Annotated[
        tuple[str, ...], Meta(max_length=MAX_POINTS, description="indexes of locations, or all")
    ] = ()
    destinations: Annotated[
        tuple[str, ...], Meta(max_length=MAX_POINTS, description="indexes of locations, or all")
    ] = ()
    metrics: Annotated[
        tuple[Literal["duration", "distance"], ...],
        Meta(max_length=4, description="tables that are wanted"),
    ] = ("duration",)
    resolve_locations: Annotated[bool, Meta(description="names of the roads")] = False
    units: Annotated[Units, Meta(description="of distances")] = "m"
    optimized: Annotated[bool | None, Meta(description="not looked at")] = None
    options: Annotated[RouteOptions | None, Meta(description="which roads are taken")] = None


class Isochrones(Profiled, kw_only=True):
    """What can be reached from locations."""

    locations: Annotated[
        Positions, spelled("lon and lat of each", max_points=MAX_ISOCHRONE_PLACES, lng_first=True)
    ]
    range: Annotated[
        tuple[Annotated[float, Meta(gt=0)], ...],
        Meta(min_length=1, max_length=10, description="seconds, or distances in `units`"),
    ]
    range_type: Annotated[Literal["time", "distance"], Meta(description="of range")] = "time"
    units: Annotated[Units, Meta(description="of distances")] = "m"
    area_units: Annotated[Units, Meta(description="of areas, squared")] = "m"
    interval: Annotated[float | None, Meta(gt=0, description="one range in steps of this size")] = (
        None
    )
    location_type: Annotated[
        Literal["start", "destination"], Meta(description="destination: from where it is reached")
    ] = "start"
    attributes: Annotated[
        tuple[Literal["area", "reachfactor", "total_pop"], ...],
        Meta(max_length=10, description="area is served"),
    ] = ()
    intersections: Annotated[bool, Meta(description="true is refused")] = False
    smoothing: Annotated[
        float | None, Meta(ge=0, le=100, description="not looked at: outlines are smooth to 10 m")
    ] = None
    options: Annotated[RouteOptions | None, Meta(description="which roads are taken")] = None
    time: Annotated[str | None, Meta(max_length=32, description="departure, local time")] = None


class Snap(Profiled, kw_only=True):
    """Locations to be put on roads."""

    locations: Annotated[
        Positions, spelled("lon and lat of each", max_points=1_000, lng_first=True)
    ]
    radius: Annotated[float, Meta(gt=0, le=5_000, description="meters")] = 350.0


def read_profile(name: str) -> tuple[Mode, dict[str, Any]]:
    """Return the mode of a profile, and options that it has of its own."""
    found = PROFILES.get(name)
    if found is None:
        raise InvalidRequest.of(
            "profile", f"{name[:40]!r} is not served; there are {', '.join(PROFILES)}"
        )
    return found


def read_choice(
    profile: str,
    options: RouteOptions | None,
    own: Mapping[str, Any] | None = None,
    departure: str | None = None,
    arrival: str | None = None,
) -> tuple[Mode, Choice]:
    """Return the mode, and which roads are taken."""
    mode, moves = read_profile(profile)
    moves = {**moves, **(own or {})}
    exclude: list[str] = []
    avoided: dict[str, Any] = {}
    if options is not None:
        _refuse(options)
        if options.vehicle_type != "unknown":
            if profile != "driving-hgv":
                raise _wrong("vehicle_type", "is of driving-hgv")
            mode = _VEHICLES[options.vehicle_type]
        for name in dict.fromkeys(options.avoid_features):
            if name == "steps":
                moves |= _avoid_steps(mode)
            else:
                exclude.append(_EXCLUSIONS[name])
        moves |= _read_profile_params(options.profile_params or {}, profile)
        if options.avoid_polygons is not None:
            avoided = write_avoided(areas=options.avoid_polygons.shape)
    made = CostingOptions(**moves) if moves else None
    return mode, Choice(made, tuple(exclude), avoided, read_travel(departure, arrival))


def _refuse(options: RouteOptions) -> None:
    for name, problem in (
        ("round_trip", options.round_trip),
        ("avoid_countries", options.avoid_countries),
        ("avoid_borders", options.avoid_borders != "none"),
    ):
        if problem:
            raise _wrong(name, "is not served")
    if "fords" in options.avoid_features:
        raise _wrong("avoid_features", "fords is not served; the road graph does not know them")
    if options.vehicle_type in ("agricultural", "forestry"):
        raise _wrong("vehicle_type", f"{options.vehicle_type} is not served")


def _avoid_steps(mode: Mode) -> dict[str, Any]:
    if mode in ("foot", "hike"):
        return {"step_penalty_s": _NO_STEPS_S}
    if mode == "wheelchair":
        return {}  # takes none
    raise _wrong("avoid_features", "steps is served on foot only")


def _read_profile_params(params: dict[str, Any], profile: str) -> dict[str, Any]:
    """Return the options of restrictions and weightings."""
    moves: dict[str, Any] = {}
    for name, inner in params.items():
        if name in ("surface_quality_known", "allow_unsuitable"):
            if inner:
                raise _wrong(f"profile_params.{name}", "is not served")
        elif name == "restrictions" and isinstance(inner, dict):
            for member, value in inner.items():
                moves |= _read_restriction(profile, member, value)
        elif name == "weightings" and isinstance(inner, dict):
            for member, value in inner.items():
                moves |= _read_weighting(profile, member, value)
        else:
            raise _wrong(f"profile_params.{name[:40]}", "is not served")
    _MOVES.parse(moves)  # for its errors
    return moves


def _read_restriction(profile: str, name: str, value: Any) -> dict[str, Any]:
    if profile == "driving-hgv" and name in _RESTRICTIONS:
        return {_RESTRICTIONS[name]: value}
    if profile == "wheelchair" and name == "maximum_incline":
        return {"max_grade_percent": value}
    raise _wrong(f"restrictions.{name[:40]}", f"is not served for {profile}")


def _read_weighting(profile: str, name: str, value: Any) -> dict[str, Any]:
    if profile.startswith("cycling-") and name == "steepness_difficulty":
        if value not in range(4):
            raise InvalidRequest.of("steepness_difficulty", "is 0, 1, 2 or 3")
        return {"use_hills": _FITNESS[value]}
    factor = value.get("factor") if isinstance(value, dict) else value
    if name in ("green", "quiet", "shadow") and factor == 0:
        return {}
    raise _wrong(f"weightings.{name[:40]}", f"is not served for {profile}")


def _wrong(name: str, problem: str) -> Unsupported:
    return Unsupported(f"{name}: {problem}", details={name: [problem]})


def read_language(text: str) -> str:
    """Return the common code of a language."""
    return _LANGUAGES.get(text.lower(), text)


def read_stops(params: Directions, count: int) -> list[Stop] | None:
    """Return what is said of each coordinate, None where nothing is."""
    radiuses = list(params.radiuses)
    if len(radiuses) == 1:
        radiuses *= count
    if radiuses and len(radiuses) != count:
        raise InvalidRequest.of("radiuses", f"{len(radiuses)} for {count} coordinates")
    bearings = list(params.bearings)
    if bearings and len(bearings) not in (count - 1, count):
        raise InvalidRequest.of("bearings", f"{len(bearings)} for {count} coordinates")
    if not (radiuses or bearings or params.continue_straight):
        return None
    bearings += [()] * (count - len(bearings))
    return [
        _make_stop(
            radiuses[index] if radiuses else None,
            bearings[index],
            params.continue_straight and 0 < index < count - 1,
        )
        for index in range(count)
    ]


def _make_stop(radius_m: float | None, bearing: tuple[float, ...], keeps_on: bool) -> Stop:
    if len(bearing) > 2 or (bearing and not 0 <= bearing[0] <= 360):
        raise InvalidRequest.of("bearings", "are [bearing, deviation] in degrees")
    if radius_m is not None:
        if radius_m != -1 and not radius_m > 0:
            raise InvalidRequest.of("radiuses", "are more than 0, or -1 for no limit")
        radius_m = _UNLIMITED_M if radius_m == -1 else min(radius_m, _UNLIMITED_M)
    return Stop(
        heading_deg=bearing[0] if bearing else None,
        heading_tolerance_deg=min(bearing[1], 180.0) if len(bearing) > 1 else 100.0,
        keeps_on=keeps_on,
        radius_m=radius_m,
    )


def read_places(positions: Positions) -> NDArray[np.float64]:
    """Return locations (n, 2), lon and lat; raise InvalidRequest where there are none."""
    if not len(positions.lonlat):
        raise InvalidRequest.of("locations", "one or more are needed")
    return positions.lonlat


def read_indexes(name: str, texts: tuple[str, ...], count: int) -> list[int]:
    """Return indexes of locations; nothing and `all` are all of them."""
    if not texts or texts == ("all",):
        return list(range(count))
    if not all(text.isascii() and text.isdigit() and int(text) < count for text in texts):
        raise InvalidRequest.of(name, f"are indexes below {count}, or all")
    return [int(text) for text in texts]


def read_ranges(params: Isochrones) -> list[float]:
    """Return the limits of the areas: seconds or meters, ascending."""
    limits = sorted(params.range)
    if params.interval is not None and len(limits) == 1:
        steps = int(limits[0] / params.interval + 1e-9)
        if steps > 10:
            raise InvalidRequest.of("interval", f"makes {steps} areas, at most 10")
        own = [params.interval * step for step in range(1, steps + 1)]
        limits = own if own and abs(own[-1] - limits[0]) < 1e-6 else [*own, limits[0]]
    if params.range_type == "distance":
        limits = [limit * UNIT_M[params.units] for limit in limits]
        if limits[-1] > MAX_DISTANCE_M:
            raise InvalidRequest.of("range", f"is at most {MAX_DISTANCE_M:.0f} m")
    return limits


#: Meters of a unit.
UNIT_M: Final = {"m": 1.0, "km": 1_000.0, "mi": 1_609.344}
