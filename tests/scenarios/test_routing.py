"""What roads, signs and places mean for a route, each on a map of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mapyard.errors import Unsupported
from mapyard.routing import compute_matrix, find_routes
from mapyard.routing.choice import Choice
from mapyard.routing.edges import find_edges
from mapyard.routing.engine import Engine, NoRoute
from mapyard.routing.matching.match import match_trace
from mapyard.routing.modes import TABLE_MODES
from mapyard.routing.profiles import PROFILES, Profile
from mapyard.routing.trip import Route
from scenarios.ascii_map import Scene

pytestmark = pytest.mark.xdist_group("scenarios")

Scenes = dict[str, Scene]


def test_cars_keep_to_one_ways_and_feet_do_not(scenes: Scenes) -> None:
    scene = scenes["oneway"]
    assert scene.path("ac") == "adefc"
    assert scene.path("ca") == "cba"
    assert scene.path("ac", "foot") == "abc"
    assert scene.path("ac", "bicycle") == "adefc"


def test_bicycles_ride_against_one_ways_where_they_may(scenes: Scenes) -> None:
    scene = scenes["contraflow"]
    assert scene.path("ca", "bicycle") == "cba"
    assert scene.path("ca") == "cfeda"


def test_a_no_left_turn_is_driven_around(scenes: Scenes) -> None:
    scene = scenes["turn"]
    path = scene.path("ac")
    assert path != "abc"
    assert path.endswith("bc")
    assert "abc" not in path
    assert scene.path("dc") == "dbc"
    assert scene.path("ac", "foot") == "abc"


def test_only_straight_on_forbids_the_other_turns(scenes: Scenes) -> None:
    scene = scenes["only"]
    assert scene.path("ac") == "abdc"
    assert scene.path("ae") == "abde"
    assert scene.path("ce") == "cbe"


def test_a_restriction_over_a_way_holds_for_the_whole_maneuver(scenes: Scenes) -> None:
    scene = scenes["viaway"]
    assert scene.path("ae") == "abce"
    assert scene.path("bde") in ("bde", "bdbde") or scene.path("be") == "bce"
    assert scene.path("de") == "de"  # who sets out there has not come over the first way
    assert scene.path("ce") == "ce"


def test_time_zones_let_conditional_restrictions_hold_at_their_hours(scenes: Scenes) -> None:
    """Without a time, those that hold at noon of a working day do."""
    scene = scenes["conditional"]
    assert scene.path("ac") == "abdc"
    assert scene.engine is not None
    request = {
        "locations": [
            dict(zip(("lon", "lat"), scene.positions[letter], strict=True)) for letter in "ac"
        ],
        "costing": "auto",
    }
    by_hour = {
        hour: scene.engine.call(
            "route", request | {"date_time": {"type": 1, "value": f"2026-04-06T{hour}:00"}}
        )["trip"]["summary"]["length"]
        for hour in ("12", "23")
    }
    assert by_hour["23"] == pytest.approx(0.3, abs=0.02)
    assert by_hour["12"] > 0.5


@pytest.mark.parametrize(("name", "on_right"), [("right", True), ("left", False)])
def test_the_driving_side_makes_crossing_turns_the_slow_ones(
    scenes: Scenes, name: str, on_right: bool
) -> None:
    scene = scenes[name]
    left_s = scene.route("ac").duration_s
    right_s = scene.route("ae").duration_s
    assert (left_s > right_s) == on_right
    assert left_s != right_s


def test_a_bollard_stops_cars_only(scenes: Scenes) -> None:
    scene = scenes["barrier"]
    assert scene.path("ac") == "adec"
    assert scene.path("ac", "foot") == "abc"
    assert scene.path("ac", "bicycle") == "abc"


def test_private_roads_serve_their_ends_and_nothing_behind(scenes: Scenes) -> None:
    scene = scenes["private"]
    assert scene.path("ad") == "aefd"
    halfway = scene.route("ab", radius_m=50.0)
    assert scene.letters(halfway) == "ab"


def test_exits_of_roundabouts_are_counted(scenes: Scenes) -> None:
    scene = scenes["roundabout"]
    steps = scene.route("ad", with_steps=True).legs[0].steps
    entering = [step for step in steps if step.maneuver == "enter roundabout"]
    assert [step.roundabout_exit for step in entering] == [2]
    assert scene.path("ad").startswith("abjl")


def test_ferries_connect_islands_unless_excluded(scenes: Scenes) -> None:
    scene = scenes["ferry"]
    route = scene.route("ad")
    assert route.has_ferry
    assert scene.letters(route) == "abcd"
    assert scene.route("ad", "foot").has_ferry
    assert route.duration_s > 900
    with pytest.raises(NoRoute):
        scene.route("ad", exclude=["ferry"])


def test_toll_roads_are_left_out_on_request(scenes: Scenes) -> None:
    scene = scenes["toll"]
    assert scene.route("af").has_toll
    assert scene.path("af") == "abcf"
    assert scene.path("af", exclude=["toll"]) == "abdecf"
    assert not scene.route("af", exclude=["toll"]).has_toll


def test_motorways_are_for_cars(scenes: Scenes) -> None:
    scene = scenes["motorway"]
    assert scene.path("ad") == "abcd"
    assert scene.path("ad", "foot") == "aefd"
    assert scene.path("ad", "bicycle") == "aefd"
    assert scene.path("ad", exclude=["motorway"]) == "aefd"


def test_steps_are_for_feet(scenes: Scenes) -> None:
    scene = scenes["steps"]
    assert scene.path("ab", "foot") == "ab"
    assert scene.path("ab") == "acefdb"


def test_no_way_leads_over_water(scenes: Scenes) -> None:
    with pytest.raises(NoRoute) as caught:
        scenes["islands"].route("ad")
    assert caught.value.code == "no_route_found"


@pytest.mark.parametrize(
    ("excluded", "around"), [("tunnel", "hi"), ("bridge", "jk"), ("unpaved", "kl")]
)
def test_exclusions_are_driven_around(scenes: Scenes, excluded: str, around: str) -> None:
    scene = scenes["exclude"]
    assert scene.path("am") == "abcdefm"
    assert around in scene.path("am", exclude=[excluded])


def test_what_cannot_be_excluded_is_refused_by_name(scenes: Scenes) -> None:
    with pytest.raises(Unsupported, match="primary"):
        scenes["exclude"].route("am", exclude=["primary"])
    with pytest.raises(Unsupported, match="unpaved"):
        scenes["exclude"].route("am", "foot", exclude=["unpaved"])


def test_a_matched_trace_follows_the_signs(scenes: Scenes) -> None:
    scene = scenes["oneway"]
    assert scene.engine is not None
    trace = np.array([scene.positions[letter] for letter in "cba"])
    match = match_trace(scene.engine, trace)
    assert match.matchings[0].way_ids == [scene.way_ids["abc"]]
    assert match.confidence > 0.95


@pytest.mark.parametrize("name", PROFILES)
def test_cells_of_matrices_are_routes(scenes: Scenes, name: str) -> None:
    """Over every drawing: what is prepared knows all the rules that the engine knows."""
    engine, plain = (getattr(next(iter(scenes.values())), name) for name in ("engine", "plain"))
    assert engine.tables.find(name) is not None
    assert plain.tables.find(name) is None
    profile = PROFILES[name]
    choice = Choice(profile.options, profile.exclude)
    wrong = []
    for scene in scenes.values():
        names = list(scene.positions)
        # Some steps into the drawing, so that no place is on a crossing only.
        places = np.array([scene.positions[name] for name in names]) + 1e-5
        matrix = compute_matrix(engine, places, places, profile.mode, choice=choice)
        for row, column in np.ndindex(matrix.durations_s.shape):
            cell = matrix.durations_s[row, column], matrix.distances_m[row, column]
            mine, theirs = (find(one, places[[row, column]], profile) for one in (engine, plain))
            told = [cell, measure(mine), measure(theirs)]
            if not np.allclose(told[0], told[1], rtol=0.01, atol=1.0, equal_nan=True):
                wrong.append((scene.name, names[row], names[column], told))
            elif np.allclose(told[1], told[2], rtol=0.01, atol=1.0, equal_nan=True):
                continue
            elif name in TABLE_MODES or not costs_no_more(plain, mine, theirs, profile):
                wrong.append((scene.name, names[row], names[column], told))
    assert not wrong


def find(engine: Engine, ends: NDArray[np.float64], profile: Profile) -> Route | None:
    asked: dict[str, Any] = {"exclude": profile.exclude, "options": profile.options}
    try:
        return find_routes(engine, ends, profile.mode, **asked)[0]
    except NoRoute:
        return None


def measure(route: Route | None) -> tuple[float, float]:
    return (np.nan, np.nan) if route is None else (route.duration_s, route.distance_m)


def costs_no_more(
    plain: Engine, mine: Route | None, theirs: Route | None, profile: Profile
) -> bool:
    """Tell whether the engine's price of a way is that of its own one: they may be as long."""
    if mine is None or theirs is None:
        return False
    prices = [
        find_edges(plain, route.positions, profile.mode, profile.options).elapsed_cost[-1]
        for route in (mine, theirs)
    ]
    return bool(prices[0] <= prices[1] + 1)
