"""Prepared profiles: ways at some options, out of arrays as at the defaults."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest

from mapyard.errors import MapyardError
from mapyard.routing import Engine, compute_matrix, find_isochrones, find_routes, open_routing
from mapyard.routing.choice import Choice
from mapyard.routing.contraction.build import build_tables
from mapyard.routing.contraction.profiles import MODE_COSTS, find_costs
from mapyard.routing.contraction.tables import Tables, find_missing
from mapyard.routing.contraction.tiles import read_graph
from mapyard.routing.contraction.truck import _find_too_small
from mapyard.routing.contraction.turns import Turns
from mapyard.routing.costing import CostingOptions
from mapyard.routing.edges import find_edges, find_route_edges
from mapyard.routing.engine import OwnSpeedsOn, count_calls
from mapyard.routing.profiles import PROFILES, find_profile
from mapyard.routing.times import Travel
from mapyard.settings import PreparedProfile

CASINO, STADIUM = (7.4281, 43.7392), (7.4155, 43.7276)
CHOSEN: tuple[str, ...] = get_args(PreparedProfile)
SHORTEST = CostingOptions(shortest=True)


@pytest.fixture(scope="module")
def folder(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph of Monaco with all profiles."""
    target = shutil.copytree(graph, tmp_path_factory.mktemp("profiles") / "routing")
    build_tables(target, CHOSEN)
    return target


@pytest.fixture(scope="module")
def profiled(folder: Path) -> Engine:
    return open_routing(folder)


@pytest.fixture(scope="module")
def pairs(graph: Path) -> np.ndarray:
    roads = read_graph(graph / "tiles.tar")
    edges = np.flatnonzero(roads.edges.access & 1)
    rng = np.random.default_rng(4)
    nodes = roads.start[rng.choice(edges, 120)]
    return np.column_stack([roads.lon, roads.lat])[nodes].reshape(-1, 2, 2)


def ask(engine: Engine, pair: np.ndarray, name: str, **more: Any) -> Any:
    profile = PROFILES[name]
    wanted: dict[str, Any] = {"exclude": tuple(profile.exclude), "options": profile.options}
    try:
        return find_routes(engine, pair, profile.mode, **wanted | more)[0]
    except MapyardError as error:
        return error.code


def test_all_that_the_setting_names_can_be_prepared() -> None:
    assert set(PROFILES) == {"auto", "foot", "bicycle", *CHOSEN}


def test_a_profile_is_known_by_exactly_its_options() -> None:
    assert find_profile("auto") == find_profile("auto", CostingOptions()) == "auto"
    assert find_profile("auto", SHORTEST) == "auto-shortest"
    assert find_profile("auto", None, ["toll"]) == "auto-no-tolls"
    assert find_profile("truck") == "truck"
    for mode, options, exclude in (
        ("auto", SHORTEST, ["toll"]),
        ("auto", None, ["toll", "motorway"]),
        ("auto", CostingOptions(use_tolls=0.0), []),
        ("auto", CostingOptions(shortest=True, height_m=2.0), []),
        ("truck", CostingOptions(weight_t=40.0), []),
        ("taxi", None, []),
    ):
        assert find_profile(mode, options, exclude) is None  # type: ignore[arg-type]
    at_night = Travel(datetime(2026, 6, 17, 23))
    assert Choice(travel=at_night).find_profile("auto") is None
    assert Choice(avoided={"exclude_locations": [1]}).find_profile("auto") is None
    assert Choice(SHORTEST).find_profile("auto") == "auto-shortest"


@pytest.mark.parametrize("name", CHOSEN)
def test_routes_are_those_of_the_engine(
    profiled: Engine, plain: Engine, pairs: np.ndarray, name: str
) -> None:
    profile, others, asked = PROFILES[name], 0, 0
    for pair in pairs:
        before = count_calls()
        mine = ask(profiled, pair, name)
        asked += not isinstance(mine, str) and count_calls() > before
        theirs = ask(plain, pair, name)
        if isinstance(mine, str) or isinstance(theirs, str):
            others += mine != theirs
            continue
        apart = abs(mine.duration_s - theirs.duration_s), abs(mine.distance_m - theirs.distance_m)
        if apart[0] <= 1 and apart[1] <= 5:
            continue
        prices = [
            find_edges(plain, route.positions, profile.mode, profile.options).elapsed_cost[-1]
            for route in (mine, theirs)
        ]
        others += bool(prices[0] > prices[1] + 1)
    assert asked == 0
    assert others <= 1


@pytest.mark.parametrize("name", CHOSEN)
def test_matrices_areas_and_edges_come_from_the_same_arrays(
    profiled: Engine, pairs: np.ndarray, name: str
) -> None:
    profile = PROFILES[name]
    choice = Choice(profile.options, profile.exclude)
    before = count_calls()
    matrix = compute_matrix(profiled, pairs[:5, 0], pairs[:5, 1], profile.mode, choice=choice)
    find_isochrones(profiled, *CASINO, [300.0], profile.mode, choice=choice)
    assert count_calls() == before
    for index, pair in enumerate(pairs[:5]):
        route = ask(profiled, pair, name)
        if isinstance(route, str):
            assert np.isnan(matrix.durations_s[index, index])
            continue
        assert matrix.durations_s[index, index] == pytest.approx(route.duration_s, abs=0.5)
        assert matrix.distances_m[index, index] == pytest.approx(route.distance_m, abs=0.2)
        path = find_route_edges(profiled, route, profile.mode, profile.options)
        assert path.elapsed_s[-1] == pytest.approx(route.duration_s, abs=0.1)


@pytest.mark.parametrize("mode", ["auto", "bicycle"])
def test_the_shortest_way_is_no_longer_than_any(
    profiled: Engine, pairs: np.ndarray, mode: Any
) -> None:
    origins, destinations = pairs[:12, 0], pairs[12:24, 1]
    usual = compute_matrix(profiled, origins, destinations, mode).distances_m
    short = compute_matrix(
        profiled, origins, destinations, mode, choice=Choice(SHORTEST)
    ).distances_m
    assert (np.isnan(short) == np.isnan(usual)).all()
    assert np.nanmax(short - usual) <= 0.3
    assert np.nanmin(short - usual) < -20


def test_steps_are_worded_along_the_shortest_way(
    profiled: Engine, plain: Engine, pairs: np.ndarray
) -> None:
    same = 0
    for pair in pairs[:12]:
        mine, theirs = (
            ask(one, pair, "auto-shortest", with_steps=True) for one in (profiled, plain)
        )
        if isinstance(mine, str) or not mine.ways:
            continue
        assert sum(step.distance_m for step in mine.legs[0].steps) == pytest.approx(
            mine.distance_m, abs=6
        )
        same += [s.instruction for s in mine.legs[0].steps] == [
            s.instruction for s in theirs.legs[0].steps
        ]
    assert same >= 5


def make_turns(kinds: list[tuple[int, int]]) -> tuple[Any, Turns]:
    """Turns between pairs of edges; of the edges the even ones are of a kind."""
    origin, destination = np.array(kinds).T
    edges = SimpleNamespace(
        toll=np.array([1, 0, 1, 0]), road_class=np.array([0, 2, 0, 2]), use=np.zeros(4)
    )
    zeros = np.zeros(len(origin), int)
    turns = Turns(origin, destination, zeros, zeros, zeros.astype(bool))
    return SimpleNamespace(edges=edges), turns


@pytest.mark.parametrize("name", ["auto-no-tolls", "auto-no-motorways"])
def test_who_is_on_an_excluded_road_may_go_on_and_leave_it(name: str) -> None:
    graph, turns = make_turns([(0, 2), (0, 1), (1, 3), (1, 2)])
    forbidden = find_costs(PROFILES[name]).find_forbidden
    assert forbidden is not None
    assert forbidden(graph, turns).tolist() == [False, False, False, True]


def test_a_truck_is_kept_out_by_its_size_unless_it_is_going_there() -> None:
    limits = np.array(
        [
            (0, 1, 8, 400), (1, 1, 8, 411), (2, 4, 8, 750), (3, 4, 1, 750), (4, 9, 8, 4),
            (5, 4, 8, 750),
        ]
    )  # fmt: skip
    graph: Any = SimpleNamespace(
        limits=limits, start=np.zeros(6), spares_ends=np.array([0, 0, 0, 0, 0, 1], bool)
    )
    assert sorted(_find_too_small(graph, exempt=False).tolist()) == [0, 2, 4]
    assert _find_too_small(graph, exempt=True).tolist() == [5]


def test_costs_of_defaults_are_those_of_the_mode() -> None:
    for mode in ("auto", "foot", "bicycle", "truck"):
        assert find_costs(PROFILES[mode]) is MODE_COSTS[mode]


def test_without_the_profile_the_engine_answers(engine: Engine, profiled: Engine) -> None:
    pair = np.array([CASINO, STADIUM])
    before = count_calls()
    theirs = ask(engine, pair, "auto-shortest")
    assert count_calls() > before
    assert theirs.distance_m == pytest.approx(
        ask(profiled, pair, "auto-shortest").distance_m, abs=5
    )


def test_options_besides_are_asked_of_the_engine(profiled: Engine) -> None:
    pair = np.array([CASINO, STADIUM])
    for more in (
        {"options": CostingOptions(shortest=True, height_m=1.5)},
        {"exclude": ["toll"]},
        {"avoid_points": np.array([[7.42, 43.73]])},
    ):
        before = count_calls()
        ask(profiled, pair, "auto-shortest", **more)
        assert count_calls() > before


def test_a_profile_that_disagrees_is_left_to_the_engine(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mapyard.routing.contraction import build

    copy = shutil.copytree(folder, tmp_path / "routing")
    agrees = build._agrees

    def judge(engine: Any, table: Any, profile: Any, *rest: Any) -> bool | None:
        return profile != PROFILES["truck"] and agrees(engine, table, profile, *rest)

    monkeypatch.setattr(build, "_agrees", judge)
    monkeypatch.setattr(build, "_SAMPLES", 60)
    checks = build_tables(copy, ["truck"])
    assert checks["auto"].is_used and not checks["truck"].is_used
    assert Tables(copy).find("truck") is None
    assert not (copy / "hierarchy" / "truck").exists()
    assert find_missing(copy, ["truck"]) == []  # it was asked for: an update need not try again


def test_what_is_missing_is_told(graph: Path, folder: Path) -> None:
    assert find_missing(folder, CHOSEN) == []
    assert find_missing(graph, ["truck", "auto-shortest"]) == ["auto-shortest", "truck"]
    assert find_missing(graph, []) == []


def test_a_mode_without_roads_has_no_profile(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mapyard.routing.contraction import build

    copy = shutil.copytree(folder, tmp_path / "routing")
    nothing = MODE_COSTS["truck"]
    monkeypatch.setattr(build, "_SAMPLES", 60)
    monkeypatch.setattr(
        build, "select_edges", lambda graph, costs: _select(graph, costs, costs is nothing)
    )
    checks = build_tables(copy, ["truck"])
    assert "truck" not in checks
    assert json.loads((copy / "matrix.json").read_text())["chosen"] == ["truck"]


def _select(graph: Any, costs: Any, is_empty: bool) -> Any:
    from mapyard.routing.contraction.writing import select_edges

    usable, limited = select_edges(graph, costs)
    return usable & (not is_empty), limited


def test_own_speeds_take_the_profiles_of_their_mode_away(folder: Path, tmp_path: Path) -> None:
    tables = Tables(folder)
    tables.own_modes = frozenset({"auto"})
    assert tables.find("auto-shortest") is None
    assert tables.find("foot-shortest") is not None
    engine = open_routing(folder)
    engine.tables.own_modes = frozenset({"auto"})
    with pytest.raises(OwnSpeedsOn):
        find_routes(engine, np.array([CASINO, STADIUM]), "auto", options=SHORTEST)
