"""Routes through two or more positions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.geo.sphere import haversine_m
from mapyard.routing.engine import Engine, NoRoad, NoRoute, TooFarApart
from mapyard.routing.hours import meets_hours
from mapyard.routing.modes import ASSUMED_TIME, Mode, make_costing
from mapyard.routing.polyline import decode_polyline
from mapyard.routing.snapping import (
    DEFAULT_RADIUS_M,
    Role,
    check_on_roads,
    check_positions,
    explain,
    find_connected,
    look_over_meridian,
    make_locations,
)

MAX_POSITIONS: Final = 27
MAX_ALTERNATIVES: Final = 3

#: Languages of instructions, the engine's.
LANGUAGES: Final = (
    "ar-SA", "bg-BG", "ca-ES", "cs-CZ", "da-DK", "de-DE", "el-GR", "en-AU", "en-GB", "en-US",
    "es-ES", "et-EE", "fi-FI", "fr-FR", "hi-IN", "hu-HU", "it-IT", "ja-JP", "ko-KR", "mn-MN",
    "nb-NO", "nl-NL", "pl-PL", "pt-BR", "pt-PT", "ro-RO", "ru-RU", "sk-SK", "sl-SI", "sv-SE",
    "tr-TR", "uk-UA", "vi-VN",
)  # fmt: skip
#: Where a language has several countries.
_DEFAULT_COUNTRIES: Final = {"en": "en-US", "pt": "pt-PT", "no": "nb-NO"}

_MANEUVERS: Final = {
    0: "none", 1: "depart", 2: "depart", 3: "depart", 4: "arrive", 5: "arrive", 6: "arrive",
    7: "new name", 8: "continue", 9: "bear right", 10: "turn right", 11: "sharp right",
    12: "uturn right", 13: "uturn left", 14: "sharp left", 15: "turn left", 16: "bear left",
    17: "ramp straight", 18: "ramp right", 19: "ramp left", 20: "exit right", 21: "exit left",
    22: "keep straight", 23: "keep right", 24: "keep left", 25: "merge", 26: "enter roundabout",
    27: "exit roundabout", 28: "board ferry", 29: "leave ferry", 37: "merge right",
    38: "merge left", 39: "elevator", 40: "steps", 41: "escalator", 42: "enter building",
    43: "exit building",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Waypoint:
    """One of the asked positions, on its road."""

    lon: float
    lat: float
    distance_m: float
    name: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction."""

    instruction: str
    maneuver: str
    name: str | None
    distance_m: float
    duration_s: float
    #: First and last index in the route's positions.
    begin: int
    end: int
    toll: bool
    ferry: bool
    roundabout_exit: int | None
    bearing_after_deg: int | None


@dataclass(frozen=True, slots=True)
class Leg:
    """The way between two consecutive positions."""

    distance_m: float
    duration_s: float
    begin: int
    end: int
    steps: list[Step] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Route:
    """A way through all positions."""

    positions: NDArray[np.float64]  #: (n, 2), lon and lat
    distance_m: float
    duration_s: float
    legs: list[Leg]
    waypoints: list[Waypoint]
    has_toll: bool
    has_ferry: bool
    has_motorway: bool


def find_routes(
    engine: Engine,
    positions: NDArray[np.float64],
    mode: Mode = "auto",
    *,
    alternatives: int = 0,
    with_steps: bool = False,
    language: str = "en-US",
    exclude: Collection[str] = (),
    avoid: shapely.Geometry | None = None,
    radius_m: float = DEFAULT_RADIUS_M,
) -> list[Route]:
    """Return the best route first, then up to `alternatives` others (between two positions only).

    Args:
        engine: the open graph.
        positions: (n, 2) lon and lat of origin, waypoints, destination; 2 ≤ n ≤ 27.
        mode: how to travel.
        alternatives: how many further routes to look for; there may be fewer.
        with_steps: whether the legs get steps with instructions.
        language: one of `LANGUAGES`.
        exclude: see `modes.make_costing`.
        avoid: area whose roads are not taken.
        radius_m: a position farther from every road is refused.

    Raises `NoRoad` with the position's index, `NoRoute`, `TooFarApart`.
    """
    check_positions(positions)
    request = make_costing(mode, exclude, avoid) | {
        "directions_type": "instructions" if with_steps else "maneuvers",
        "language": language,
    }
    if alternatives and len(positions) == 2:
        request["alternates"] = min(alternatives, MAX_ALTERNATIVES)
    asked = look_over_meridian(engine, positions, mode, radius_m)
    try:
        answer = _ask(engine, request, asked, mode, radius_m)
    except NoRoad:
        raise explain(engine, positions, mode, radius_m) from None
    except TooFarApart:
        check_on_roads(engine, positions, mode, radius_m)
        raise
    trips = [answer["trip"], *(other["trip"] for other in answer.get("alternates", ()))]
    return [_read_trip(trip, positions, with_steps) for trip in trips]


def _ask(
    engine: Engine,
    request: dict[str, Any],
    positions: NDArray[np.float64],
    mode: Mode,
    radius_m: float,
) -> dict[str, Any]:
    """Return the engine's answer between the nearest roads, else between connected ones."""
    locations = make_locations(positions, radius_m)
    try:
        answer = _ask_at_hours(engine, request | {"locations": locations})
    except NoRoute:
        roles: list[Role] = ["via"] * len(positions)
        roles[0], roles[-1] = "origin", "destination"
        places, moved = find_connected(engine, positions, mode, radius_m, roles)
        if not moved.any():
            raise
        locations = make_locations(places, radius_m)
        answer = _ask_at_hours(engine, request | {"locations": locations})
    return answer


def _ask_at_hours(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    """Return the engine's answer at the assumed time."""
    answer: dict[str, Any] = engine.call("route", request)
    if meets_hours(answer, engine.timed_turns):
        answer = engine.call("route", request | ASSUMED_TIME)
    return answer


def choose_language(lang: str) -> str:
    """Return the language of instructions for "de", "de-AT", "en-GB", …; raise InvalidRequest."""
    wanted = lang.replace("_", "-").lower()
    for language in LANGUAGES:
        if language.lower() == wanted:
            return language
    primary = wanted.partition("-")[0]
    if primary in _DEFAULT_COUNTRIES:
        return _DEFAULT_COUNTRIES[primary]
    for language in LANGUAGES:
        if language.startswith(primary + "-"):
            return language
    known = ", ".join(sorted({language[:2] for language in LANGUAGES}))
    raise InvalidRequest.of("lang", f"no instructions in {lang!r}; one of {known}")


def _read_trip(trip: dict[str, Any], positions: NDArray[np.float64], with_steps: bool) -> Route:
    shapes = [decode_polyline(leg["shape"]) for leg in trip["legs"]]
    # Legs share their end points; each further one is joined without its first position.
    joined = np.concatenate([shapes[0], *(shape[1:] for shape in shapes[1:])])
    starts = np.cumsum([0] + [len(shape) - 1 for shape in shapes]).tolist()
    legs = [
        _read_leg(leg, begin, end, with_steps)
        for leg, (begin, end) in zip(trip["legs"], pairwise(starts), strict=True)
    ]
    snapped = joined[starts]
    away_m = haversine_m(positions[:, 0], positions[:, 1], snapped[:, 0], snapped[:, 1])
    names = _read_names(trip["legs"])
    summary = trip["summary"]
    return Route(
        positions=joined,
        distance_m=round(summary["length"] * 1000.0, 1),
        duration_s=summary["time"],
        legs=legs,
        waypoints=[
            Waypoint(lon, lat, round(distance_m, 1), name)
            for (lon, lat), distance_m, name in zip(
                snapped.tolist(), away_m.tolist(), names, strict=True
            )
        ],
        has_toll=summary["has_toll"],
        has_ferry=summary["has_ferry"],
        has_motorway=summary["has_highway"],
    )


def _read_leg(leg: dict[str, Any], begin: int, end: int, with_steps: bool) -> Leg:
    return Leg(
        distance_m=round(leg["summary"]["length"] * 1000.0, 1),
        duration_s=leg["summary"]["time"],
        begin=begin,
        end=end,
        steps=[_read_step(row, begin) for row in leg["maneuvers"]] if with_steps else [],
    )


def _read_step(row: dict[str, Any], begin: int) -> Step:
    return Step(
        instruction=row.get("instruction", ""),
        maneuver=_MANEUVERS.get(row["type"], "continue"),
        name=_first_name(row),
        distance_m=round(row["length"] * 1000.0, 1),
        duration_s=row["time"],
        begin=begin + row["begin_shape_index"],
        end=begin + row["end_shape_index"],
        toll=row.get("toll", False),
        ferry=row.get("ferry", False),
        roundabout_exit=row.get("roundabout_exit_count"),
        bearing_after_deg=row.get("bearing_after"),
    )


def _read_names(legs: list[dict[str, Any]]) -> list[str | None]:
    """Return the road's name at each waypoint: of the leg that begins there, or of the last."""
    names = [_first_name(leg["maneuvers"][0]) if leg["maneuvers"] else None for leg in legs]
    last = [row for row in legs[-1]["maneuvers"] if row["length"] > 0]
    return [*names, _first_name(last[-1]) if last else None]


def _first_name(maneuver: dict[str, Any]) -> str | None:
    names = maneuver.get("begin_street_names") or maneuver.get("street_names") or [None]
    return names[0]
