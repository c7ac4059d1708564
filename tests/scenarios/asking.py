"""What is asked of a map, and the answer in the words of the one who wrote it down.

    auto st: sabt                            the nodes that the route passes, or `none`
    auto st: sabt or sact                    either
    auto st with at=2026-06-17T20:00: sact   options, parted by commas: `with` below, and costings
    auto ac slower than ae: yes              of two routes
    auto st lasts: 60-70                     seconds
    auto st at kmh: 48-52                    speed along the whole route
    steps auto st: start east, turn right    maneuvers (without the arrival)
    match foot s1t: sabt                     the nodes that the matched way passes
    reach auto s 120: a b not c              nodes inside of the area of so many seconds
    near auto 1: ab                          the way of the nearest road
    tour auto sabc: scba                     the order of stops of a round trip
    others auto st: sabt, sact               the best way and its alternatives, in any order

Every plain question by car, foot or bicycle is one to the prepared matrix, and to the engine
without what is prepared, as well.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import numpy as np
import shapely

from mapyard.routing import compute_matrix, find_isochrones, find_routes
from mapyard.routing.choice import Choice
from mapyard.routing.costing import CostingOptions
from mapyard.routing.engine import NoRoad, NoRoute
from mapyard.routing.matching.match import match_trace
from mapyard.routing.modes import TABLE_MODES, Mode
from mapyard.routing.nearest import find_nearest
from mapyard.routing.stops import Stop
from mapyard.routing.times import Travel
from mapyard.routing.tours.order import optimize_order
from mapyard.routing.trip import Route
from scenarios.ascii_map import Scene

_VERBS: Final = ("steps", "match", "reach", "near", "tour", "others")
#: Steps into a drawing: a place on a corner may lie on any of its roads.
_TOLERANCE_DEG: Final = 1e-4


def answer(scene: Scene, ask: str) -> tuple[str, str]:
    """Return what is found, and what was expected: the same where it happens as it is told."""
    question, _, expected = ask.rpartition(": ")
    words = question.split()
    verb = words.pop(0) if words[0] in _VERBS else "route"
    found = _ANSWERS[verb](scene, *_split(words), expected)
    return (expected if found in expected.split(" or ") else found), expected


def _split(words: list[str]) -> tuple[Any, str, list[str], dict[str, str]]:
    """Return the mode, the stops, further words, and the options."""
    mode, stops, *rest = words
    options: dict[str, str] = {}
    if "with" in rest:
        given = " ".join(rest[rest.index("with") + 1 :])
        rest = rest[: rest.index("with")]
        options = dict(part.split("=", 1) for part in given.split(", "))
    return mode, stops, rest, options


def _find(scene: Scene, mode: Mode, stops: str, options: dict[str, str]) -> list[Route]:
    engine = scene.engine
    assert engine is not None
    given = dict(options)
    asked: dict[str, Any] = {"radius_m": float(given.pop("radius", "50"))}
    points = [scene.positions[letter] for letter in stops]
    if "at" in given:
        asked["travel"] = Travel(datetime.fromisoformat(given.pop("at")))
    if "by" in given:
        asked["travel"] = Travel(datetime.fromisoformat(given.pop("by")), "arrive_by")
    if "exclude" in given:
        asked["exclude"] = given.pop("exclude").split("+")
    if "avoid" in given:
        asked["avoid_points"] = np.array([scene.positions[name] for name in given.pop("avoid")])
    if "line" in given:
        line = [scene.positions[name] for name in given.pop("line")]
        asked["avoid_lines"] = shapely.LineString(line)
    if "area" in given:
        asked["avoid"] = shapely.Polygon([scene.positions[name] for name in given.pop("area")])
    if "others" in given:
        asked["alternatives"] = int(given.pop("others"))
    if "steps" in given:
        asked["with_steps"] = given.pop("steps") == "yes"
    ends = _read_ends(stops, given)
    if any(end != Stop() for end in ends):
        asked["stops"] = ends
    if given:
        asked["options"] = CostingOptions(**{name: _read(text) for name, text in given.items()})
    return find_routes(engine, np.array(points), mode, **asked)


def _read(text: str) -> Any:
    """Return a number, a truth or a word."""
    try:
        return float(text)
    except ValueError:
        return {"yes": True, "no": False}.get(text, text)


def _read_ends(stops: str, given: dict[str, str]) -> list[Stop]:
    """Return what is said of each stop: of the first one its heading, of the last one its side."""
    ends: list[dict[str, Any]] = [{} for _ in stops]
    if "heading" in given:
        ends[0]["heading_deg"] = float(given.pop("heading"))
    if "arriving" in given:
        ends[-1]["heading_deg"] = float(given.pop("arriving"))
    if "tolerance" in given:
        tolerance_deg = float(given.pop("tolerance"))
        for end in ends:
            end["heading_tolerance_deg"] = tolerance_deg
    if "leaving" in given:
        ends[0]["side"] = given.pop("leaving")
    if "side" in given:
        ends[-1]["side"] = given.pop("side")
    for name, member in (("through", "is_through"), ("on", "keeps_on")):
        for letter in given.pop(name, ""):
            ends[stops.index(letter, 1)][member] = True
    if "not" in given:
        kinds = tuple(given.pop("not").split("+"))
        for end in ends:
            end["unsnappable"] = kinds
    return [Stop(**end) for end in ends]


def _route(
    scene: Scene, mode: Mode, stops: str, rest: list[str], options: dict[str, str], expected: str
) -> str:
    try:
        route = _find(scene, mode, stops, options)[0]
    except (NoRoute, NoRoad):
        return "none" if rest or options else _check_cell(scene, mode, stops, None, "none")
    if rest == ["lasts"]:
        return _within(route.duration_s, expected)
    if rest == ["long"]:
        return _within(route.distance_m, expected)
    if rest == ["at", "kmh"]:
        return _within(3.6 * route.distance_m / route.duration_s, expected)
    if rest[:2] in (["slower", "than"], ["longer", "than"]):
        other = _find(scene, mode, rest[2], options)[0]
        more = {
            "slower": route.duration_s - other.duration_s,
            "longer": route.distance_m - other.distance_m,
        }
        return "yes" if more[rest[0]] > 1 else f"no, by {-more[rest[0]]:.1f}"
    assert not rest, rest
    letters = scene.letters(route)
    return letters if options else _check_cell(scene, mode, stops, route, letters)


def _check_cell(scene: Scene, mode: Mode, stops: str, route: Route | None, letters: str) -> str:
    """Return the letters, or what the matrix says where it says another thing."""
    if mode not in TABLE_MODES or len(stops) != 2:
        return letters
    engine = scene.engine
    assert engine is not None
    ends = np.array([[scene.positions[letter]] for letter in stops])
    try:
        matrix = compute_matrix(engine, ends[0], ends[1], mode, radius_m=50.0)
    except NoRoad:
        return letters if route is None else "no road in the matrix"
    cell = matrix.durations_s[0, 0], matrix.distances_m[0, 0]
    told = (np.nan, np.nan) if route is None else (route.duration_s, route.distance_m)
    if not np.allclose(cell, told, rtol=0.01, atol=1.5, equal_nan=True):
        return f"{letters} in {told}, by the matrix {cell}"
    if scene.plain is None:
        return letters
    try:
        theirs = find_routes(scene.plain, ends[:, 0], mode, radius_m=50.0)[0]
        asked = theirs.duration_s, theirs.distance_m
    except NoRoute:
        asked = (np.nan, np.nan)
    if not np.allclose(asked, told, rtol=0.01, atol=1.5, equal_nan=True):
        return f"{letters} in {told}, by the engine {asked}"
    return letters


def _within(value: float, expected: str) -> str:
    least, most = (float(part) for part in expected.split("-"))
    return expected if least <= value <= most else f"{value:.1f}"


def _steps(
    scene: Scene, mode: Mode, stops: str, rest: list[str], options: dict[str, str], expected: str
) -> str:
    route = _find(scene, mode, stops, options | {"steps": "yes"})[0]
    told = [
        step.maneuver + (f" {step.roundabout_exit}" if step.roundabout_exit else "")
        for leg in route.legs
        for step in leg.steps
    ]
    return ", ".join(word for word in told if not word.startswith("arrive"))


def _match(
    scene: Scene, mode: Mode, stops: str, rest: list[str], options: dict[str, str], expected: str
) -> str:
    assert scene.engine is not None
    trace = np.array([scene.positions[letter] for letter in stops])
    # As receivers do: a point every so many meters between those that are drawn.
    every = float(options.get("every", "0"))
    if every:
        line = shapely.LineString(trace)
        length = np.hypot(*np.diff(trace, axis=0).T).sum()
        count = max(2, round(length * 111_195 / every))
        trace = shapely.get_coordinates(
            shapely.line_interpolate_point(line, np.linspace(0, length, count))
        )
    match = match_trace(scene.engine, trace, mode)
    pieces = []
    for one in match.matchings:
        names = list(scene.positions)
        places = np.array([scene.positions[name] for name in names])
        passed = ""
        for at in one.positions:
            away = np.abs(places - at).max(axis=1)
            if away.min() < 4e-5 and not passed.endswith(names[int(away.argmin())]):
                passed += names[int(away.argmin())]
        pieces.append("".join(letter for letter in passed if not letter.isdigit()))
    return " and ".join(pieces)


def _reach(
    scene: Scene, mode: Mode, stops: str, rest: list[str], options: dict[str, str], expected: str
) -> str:
    assert scene.engine is not None
    choice = Choice(exclude=tuple(options.get("exclude", "").split("+")) if options else ())
    area = find_isochrones(
        scene.engine,
        *scene.positions[stops],
        [float(rest[0])],
        mode,
        metric="distance" if "m" in rest[1:] else "time",
        toward="toward" in rest,
        choice=choice,
    )[0]
    inside, _, outside = expected.partition(" not ")
    held = shapely.buffer(area.geometry, _TOLERANCE_DEG)
    wrong = [
        letter
        for letters, should in ((inside, True), (outside, False))
        for letter in letters.split()
        if held.contains(shapely.Point(scene.positions[letter])) != should
    ]
    return f"not so for {wrong}" if wrong else expected


def _near(
    scene: Scene, mode: Mode, stops: str, rest: list[str], options: dict[str, str], expected: str
) -> str:
    assert scene.engine is not None
    try:
        road = find_nearest(
            scene.engine,
            *scene.positions[stops],
            mode,
            radius_m=float(options.get("radius", "100")),
        )[0]
    except NoRoad:
        return "none"
    return next(name for name, way_id in scene.way_ids.items() if way_id == road.way_id)


def _tour(
    scene: Scene, mode: Mode, stops: str, rest: list[str], options: dict[str, str], expected: str
) -> str:
    assert scene.engine is not None
    places = np.array([scene.positions[letter] for letter in stops])
    last = options.get("last")
    try:
        tour = optimize_order(
            scene.engine,
            places,
            mode,
            roundtrip=options.get("round", "yes") == "yes",
            last=None if last is None else stops.index(last),
            radius_m=50.0,
        )
    except NoRoute:
        return "none"
    return "".join(stops[index] for index in tour.order)


def _others(
    scene: Scene, mode: Mode, stops: str, rest: list[str], options: dict[str, str], expected: str
) -> str:
    routes = _find(scene, mode, stops, {"others": "2"} | options)
    wanted, found = expected.split(", "), [scene.letters(route) for route in routes]
    return expected if sorted(wanted) == sorted(found) else ", ".join(found)


_ANSWERS: Final = {
    "route": _route,
    "steps": _steps,
    "match": _match,
    "reach": _reach,
    "near": _near,
    "tour": _tour,
    "others": _others,
}
