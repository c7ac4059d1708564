"""OSRM's parameters: lists by semicolon, one value per coordinate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.params.parser import Params
from mapyard.routing.modes import MODES, Mode
from mapyard.routing.polyline import decode_polyline
from mapyard.routing.stops import Stop

#: Names of profiles on OSRM's servers → our modes.
_PROFILES: Final[dict[str, Mode]] = {
    "driving": "auto", "car": "auto", "bike": "bicycle", "cycling": "bicycle", "walking": "foot",
    **{mode: mode for mode in MODES},
}  # fmt: skip
#: The original looks without a limit; we do not carry a position farther than this, meters.
RADIUS_M: Final = 5_000.0
#: What the original takes for a bearing without a range, degrees.
_BEARING_RANGE: Final = 180.0
_LONGEST: Final = 65_536

Overview = Literal["simplified", "full", "false"]
Geometries = Literal["polyline", "polyline6", "geojson"]


class BadOptions(InvalidRequest):
    """Options that do not go together, or do not fit the number of coordinates."""

    code = "InvalidOptions"


class BadValue(InvalidRequest):
    """A value that can be read, and means nothing."""

    code = "InvalidValue"


class BadAddress(InvalidRequest):
    """A path that is none of the services'."""

    code = "InvalidUrl"


class Common(Params, kw_only=True):
    """What all services have."""

    profile: Annotated[
        str,
        Meta(max_length=40, description="driving, cycling, walking, car, bike, foot, or our modes"),
    ]
    coordinates: Annotated[
        str,
        Meta(
            max_length=_LONGEST,
            description="lon,lat;lon,lat or polyline(…) or polyline6(…), perhaps with .json",
        ),
    ]
    bearings: Annotated[
        str, Meta(max_length=_LONGEST, description="bearing,range per coordinate, by semicolon")
    ] = ""
    radiuses: Annotated[
        str, Meta(max_length=_LONGEST, description="meters or unlimited per coordinate")
    ] = ""
    approaches: Annotated[
        str, Meta(max_length=_LONGEST, description="curb, opposite or unrestricted per coordinate")
    ] = ""
    hints: Annotated[str, Meta(max_length=_LONGEST, description="accepted; not needed")] = ""
    generate_hints: Annotated[bool, Meta(description="whether waypoints have a hint")] = True
    snapping: Annotated[
        Literal["default", "any"], Meta(description="both go to the nearest road of the profile")
    ] = "default"
    skip_waypoints: Annotated[bool, Meta(description="leave the waypoints out")] = False
    exclude: Annotated[
        str, Meta(max_length=200, description="toll, motorway, ferry, tunnel, bridge, by comma")
    ] = ""


class Drawn(Common, kw_only=True):
    """How ways are written."""

    steps: Annotated[bool, Meta(description="steps with maneuvers and intersections")] = False
    annotations: Annotated[
        str, Meta(max_length=200, description="true, or of distance, duration, speed, datasources")
    ] = "false"
    geometries: Annotated[Geometries, Meta(description="how lines are written")] = "polyline"
    overview: Annotated[Overview, Meta(description="how fine the whole line is")] = "simplified"


def read_mode(params: Common) -> Mode:
    """Return the mode of a profile."""
    mode = _PROFILES.get(params.profile.lower())
    if mode is None:
        known = ", ".join(_PROFILES)
        raise BadValue(f"there is no profile {params.profile[:40]!r}; there are {known}")
    return mode


def read_coordinates(text: str, most: int, least: int = 2) -> NDArray[np.float64]:
    """Return the coordinates of a path (n, 2), lon and lat."""
    text = text.removesuffix(".json")
    if text.endswith(".flatbuffers"):
        raise BadValue("format: flatbuffers is not served; ask for JSON")
    lonlat = _read_polyline(text) if text.startswith("polyline") else _read_pairs(text)
    if len(lonlat) < least:
        raise BadOptions(f"number of coordinates needs to be at least {least}")
    if len(lonlat) > most:
        raise TooLarge(
            f"{len(lonlat)} coordinates, at most {most}",
            details={"parameter": "coordinates", "limit": most, "count": len(lonlat)},
        )
    bad = ~(np.isfinite(lonlat).all(axis=1) & (abs(lonlat) <= (180.0, 90.0)).all(axis=1))
    if bad.any():
        raise BadValue(f"coordinate {int(bad.argmax())} is not longitude,latitude in degrees")
    return lonlat


def _read_polyline(text: str) -> NDArray[np.float64]:
    name, _, inner = text.partition("(")
    digits = {"polyline": 5, "polyline6": 6}.get(name)
    if digits is None or not inner.endswith(")"):
        raise InvalidRequest("coordinates: a polyline is written polyline(…) or polyline6(…)")
    try:
        return decode_polyline(inner[:-1], digits)
    except (ValueError, UnicodeEncodeError, IndexError):
        raise InvalidRequest("coordinates: the polyline cannot be read") from None


def _read_pairs(text: str) -> NDArray[np.float64]:
    pairs = text.split(";")
    try:
        values = [[float(number) for number in pair.split(",")] for pair in pairs]
    except ValueError:
        values = [[]]
    if any(len(pair) != 2 for pair in values):
        raise InvalidRequest("coordinates: are written lon,lat;lon,lat")
    return np.array(values, np.float64)


def read_list[T](name: str, text: str, count: int, read: Callable[[str], T]) -> list[T | None]:
    """Return one value per coordinate, None where it is left out."""
    if not text:
        return [None] * count
    parts = text.split(";")
    if len(parts) != count:
        raise BadOptions(
            f"number of {name} ({len(parts)}) does not match the number of coordinates ({count})"
        )
    found: list[T | None] = []
    for index, part in enumerate(parts):
        try:
            found.append(read(part) if part else None)
        except ValueError:
            raise InvalidRequest(f"{name}: value {index} cannot be read: {part[:40]!r}") from None
    return found


def read_indexes(name: str, text: str, count: int) -> list[int]:
    """Return indexes of coordinates; `all` and nothing are all of them."""
    if text in ("", "all"):
        return list(range(count))
    try:
        found = [int(part) for part in text.split(";")]
    except ValueError:
        raise InvalidRequest(f"{name}: are indexes by semicolon, or all") from None
    if any(not 0 <= index < count for index in found):
        raise BadOptions(f"{name}: an index is not below the number of coordinates, {count}")
    return found


def read_radius(text: str) -> float:
    """Return meters; as far as we look at most."""
    if text == "unlimited":
        return RADIUS_M
    radius_m = float(text)
    if not radius_m > 0 or math.isinf(radius_m):
        raise ValueError(text)
    return min(radius_m, RADIUS_M)


def _read_bearing(text: str) -> tuple[float, float]:
    bearing, _, width = text.partition(",")
    found = float(bearing), float(width) if width else _BEARING_RANGE
    if not (0 <= found[0] <= 360 and 0 <= found[1] <= 180):
        raise ValueError(text)
    return found


def _read_approach(text: str) -> str:
    if text not in ("curb", "opposite", "unrestricted"):
        raise ValueError(text)
    return {"curb": "same", "opposite": "opposite", "unrestricted": "any"}[text]


def read_stops(params: Common, count: int) -> list[Stop]:
    """Return what is said of each coordinate."""
    bearings = read_list("bearings", params.bearings, count, _read_bearing)
    radiuses_m = read_list("radiuses", params.radiuses, count, read_radius)
    sides = read_list("approaches", params.approaches, count, _read_approach)
    read_list("hints", params.hints, count, str)
    return [
        Stop(
            heading_deg=None if bearing is None else bearing[0],
            heading_tolerance_deg=_BEARING_RANGE if bearing is None else bearing[1],
            side=cast(Any, side or "any"),
            radius_m=radius_m,
        )
        for bearing, radius_m, side in zip(bearings, radiuses_m, sides, strict=True)
    ]


def read_exclusions(params: Common) -> tuple[str, ...]:
    """Return the classes of roads that are left out."""
    return tuple(part for part in params.exclude.split(",") if part)
