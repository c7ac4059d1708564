"""Tours in VROOM's form: each rule of its API on a small matrix or in Monaco."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import numpy as np
import pytest

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest, Timeout, TooLarge, Unsupported
from mapyard.routing import Engine, compute_matrix
from mapyard.routing.tours.problem import Stopped, check_problem, plan_tours, solve

CASINO, PALACE, PORT, HARBOR = (
    [7.4281, 43.7392], [7.4203, 43.7312], [7.4235, 43.7350], [7.4156, 43.7277],
)  # fmt: skip
SEA = [7.46, 43.68]
#: Seconds and meters between four places on a line, 10 s and 100 m apart.
LINE = [[10 * abs(a - b) for b in range(4)] for a in range(4)]
METERS = [[10 * value for value in row] for row in LINE]


def ask(engine: Engine, vehicles: list[Any], jobs: list[Any] = [], **more: Any) -> dict[str, Any]:  # noqa: B006
    problem = {"vehicles": vehicles, "jobs": jobs, **more}
    return plan_tours(engine, problem)


def on_line(
    engine: Engine, vehicle: dict[str, Any], jobs: list[Any], **more: Any
) -> dict[str, Any]:
    matrices = {"car": {"durations": LINE, "distances": METERS}}
    vehicles = [{"id": 1, "start_index": 0} | vehicle]
    return ask(engine, vehicles, jobs, matrices=matrices, **more)


def visited(solution: dict[str, Any], route: int = 0) -> list[int]:
    return [step["id"] for step in solution["routes"][route]["steps"] if "id" in step]


def test_the_quickest_order_in_monaco(engine: Engine) -> None:
    places = [CASINO, PALACE, PORT, HARBOR]
    jobs = [{"id": number, "location": place} for number, place in enumerate(places[1:], 1)]
    solution = ask(engine, [{"id": 7, "profile": "foot", "start": CASINO, "end": CASINO}], jobs)
    times_s = compute_matrix(engine, np.array(places), np.array(places), "foot").durations_s
    best_s = min(
        sum(times_s[a, b] for a, b in itertools.pairwise((0, *order, 0)))
        for order in itertools.permutations((1, 2, 3))
    )
    assert solution["summary"]["duration"] == best_s
    route = solution["routes"][0]
    assert route["vehicle"] == 7
    assert route["steps"][0]["location"] == CASINO
    assert route["distance"] == solution["summary"]["distance"] > 3_000
    assert [step["distance"] for step in route["steps"]] == sorted(
        step["distance"] for step in route["steps"]
    )


def test_several_vehicles_of_several_modes_with_lines(engine: Engine) -> None:
    vehicles = [
        {"id": 1, "profile": "auto", "start": CASINO, "capacity": [1]},
        {"id": 2, "profile": "cycling-regular", "start": HARBOR, "capacity": [1]},
    ]
    jobs = [
        {"id": 1, "location": PALACE, "delivery": [1]},
        {"id": 2, "location": PORT, "delivery": [1]},
    ]
    solution = ask(engine, vehicles, jobs, options={"g": True})
    assert {route["vehicle"] for route in solution["routes"]} == {1, 2}
    assert all(len(route["geometry"]) > 20 for route in solution["routes"])
    assert not solution["unassigned"]


@pytest.mark.parametrize(
    ("vehicle", "job", "reason"),
    [
        ({"skills": [1]}, {"skills": [2]}, r"no vehicle has the skills \[2\]"),
        ({"capacity": [1]}, {"delivery": [2]}, "more than any vehicle"),
        ({"capacity": [1]}, {"pickup": [2]}, "more than any vehicle"),
        ({}, {"time_windows": [[0, 5]]}, "within its time windows"),
        ({"time_window": [100, 200]}, {"time_windows": [[0, 50]]}, "within its time windows"),
        ({"max_tasks": 1}, {"priority": 0}, "no route has room"),
        ({"max_travel_time": 15}, {}, "no route has room"),
        ({"max_distance": 150}, {}, "no route has room"),
    ],
)
def test_what_is_left_out_has_a_reason(
    engine: Engine, vehicle: dict[str, Any], job: dict[str, Any], reason: str
) -> None:
    jobs = [{"id": 1, "location_index": 1, "priority": 50}, {"id": 2, "location_index": 3} | job]
    solution = on_line(engine, vehicle, jobs)
    assert [left["id"] for left in solution["unassigned"]] == [2]
    assert visited(solution) == [1]
    import re

    assert re.search(reason, solution["unassigned"][0]["reason"])


def test_a_place_without_a_way_is_left_out(engine: Engine) -> None:
    lost = [[0, 10, 10**7], [10, 0, 10**7], [10**7, 10**7, 0]]
    vehicles = [{"id": 1, "start_index": 0, "max_travel_time": 10**6}]
    jobs = [{"id": 1, "location_index": 1}, {"id": 2, "location_index": 2}]
    solution = ask(engine, vehicles, jobs, matrices={"car": {"durations": lost}})
    assert "no way leads there" in solution["unassigned"][0]["reason"]


def test_service_setup_windows_and_breaks_take_their_time(engine: Engine) -> None:
    jobs = [
        {"id": 1, "location_index": 1, "service": 100, "setup": 20},
        {"id": 2, "location_index": 2, "time_windows": [[500, 600]]},
    ]
    breaks = [{"id": 9, "time_windows": [[200, 300]], "service": 60}]
    solution = on_line(engine, {"breaks": breaks}, jobs)
    steps = {step.get("id"): step for step in solution["routes"][0]["steps"]}
    assert steps[1]["service"] == 100
    assert steps[1]["setup"] == 20
    assert steps[9]["type"] == "break"
    assert 200 <= steps[9]["arrival"] <= 300
    assert steps[2]["arrival"] + steps[2]["waiting_time"] == 500


def test_shipments_are_brought_after_they_are_fetched(engine: Engine) -> None:
    shipments = [
        {
            "pickup": {"id": 1, "location_index": 3},
            "delivery": {"id": 2, "location_index": 1},
            "amount": [1],
        }
    ]
    solution = on_line(engine, {"capacity": [1]}, [], shipments=shipments)
    steps = [(step["type"], step["location_index"]) for step in solution["routes"][0]["steps"]]
    assert steps.index(("pickup", 3)) < steps.index(("delivery", 1))


def test_costs_and_speeds_are_the_vehicles_own(engine: Engine) -> None:
    jobs = [{"id": 1, "location_index": 3}]
    matrices = {"car": {"durations": LINE, "distances": METERS}}
    cheap, dear = {"id": 1, "start_index": 0}, {"id": 2, "start_index": 0}
    solution = ask(engine, [dear | {"costs": {"fixed": 1_000}}, cheap], jobs, matrices=matrices)
    assert [route["vehicle"] for route in solution["routes"]] == [1]
    slow = on_line(engine, {"speed_factor": 0.5}, jobs)
    assert slow["summary"]["duration"] == 60


def test_a_plan_is_kept_and_timed(engine: Engine) -> None:
    steps = [{"type": "start"}, {"type": "job", "id": 2}, {"type": "job", "id": 1}]
    jobs = [
        {"id": 1, "location_index": 1, "time_windows": [[0, 15]]}, {"id": 2, "location_index": 3},
    ]  # fmt: skip
    solution = on_line(engine, {"steps": steps}, jobs, options={"c": True})
    assert visited(solution) == [2, 1]
    late = solution["routes"][0]["steps"][2]
    assert late["arrival"] == 50
    assert [violation["cause"] for violation in late["violations"]] == ["delay"]


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        ({"vehicle_types": []}, "vehicle_types"),
        ({"vehicles": [{"id": 1, "start": CASINO, "colour": 1}]}, "vehicles[0].colour"),
        ({"vehicles": [{"id": 1, "costs": {"per_mile": 1}}]}, "vehicles[0].costs.per_mile"),
        (
            {"vehicles": [{"id": 1, "breaks": [{"id": 1, "where": 2}]}]},
            "vehicles[0].breaks[0].where",
        ),
        ({"jobs": [{"id": 1, "location": CASINO, "urgent": True}]}, "jobs[0].urgent"),
        ({"shipments": [{"pickup": {"id": 1, "x": 1}, "delivery": {}}]}, "shipments[0].pickup.x"),
        ({"options": {"threads": 4}}, "options.threads"),
        ({"matrices": {"car": {"times": []}}}, "matrices.car.times"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(
    engine: Engine, problem: dict[str, Any], name: str
) -> None:
    with pytest.raises(Unsupported) as caught:
        plan_tours(engine, {"vehicles": [], "jobs": []} | problem)
    assert list(caught.value.details) == [name]


def test_wrong_problems_are_refused_in_clear_words(engine: Engine) -> None:
    job = {"id": 1, "location": PALACE}
    with pytest.raises(InvalidRequest, match="vehicles"):
        ask(engine, [], [job])
    with pytest.raises(InvalidRequest, match="jobs"):
        ask(engine, [{"id": 1, "start": CASINO}])
    with pytest.raises(InvalidRequest, match=r"jobs\[0\].location"):
        ask(engine, [{"id": 1, "start": CASINO}], [{"id": 1, "location": "here"}])
    with pytest.raises(Unsupported, match="profile plane"):
        ask(engine, [{"id": 1, "start": CASINO, "profile": "plane"}], [job])
    with pytest.raises(InvalidRequest, match="VROOM refuses the problem: Inconsistent"):
        ask(engine, [{"id": 1, "start": CASINO, "capacity": [1]}], [job | {"delivery": [1, 2]}])
    with pytest.raises(TooLarge, match="jobs: 1001"):
        ask(engine, [{"id": 1, "start": CASINO}], [job] * 1001)
    from mapyard.routing.engine import NoRoad

    with pytest.raises(NoRoad):
        ask(engine, [{"id": 1, "start": CASINO}], [{"id": 1, "location": SEA}])


WRONG = (1e308, True, "x", -0.0, {"a": 1}, [[1]], [None])


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize(
    ("path", "name"),
    [
        (("vehicles",), "vehicles"),
        (("vehicles", 0, "breaks"), "vehicles[0].breaks"),
        (("vehicles", 0, "steps"), "vehicles[0].steps"),
        (("vehicles", 0, "time_window"), "vehicles[0].time_window"),
        (("vehicles", 0, "skills"), "vehicles[0].skills"),
        (("jobs",), "jobs"),
        (("jobs", 0, "time_windows"), "jobs[0].time_windows"),
        (("jobs", 0, "delivery"), "jobs[0].delivery"),
        (("shipments", 0, "pickup"), "shipments[0].pickup"),
        (("shipments", 0, "amount"), "shipments[0].amount"),
        (("matrices",), "matrices"),
    ],
    ids=str,
)
def test_members_of_another_type_are_refused_with_their_path(
    path: tuple[Any, ...], name: str, value: Any
) -> None:
    problem: dict[str, Any] = {
        "vehicles": [{"id": 1, "start": [7.42, 43.73]}],
        "jobs": [{"id": 1, "location": [7.42, 43.73]}],
        "shipments": [
            {"pickup": {"id": 2, "location": [7.42, 43.73]},
             "delivery": {"id": 3, "location": [7.42, 43.73]}}
        ],
        "matrices": {},
    }  # fmt: skip
    at: Any = problem
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    with pytest.raises((InvalidRequest, Unsupported)) as caught:
        check_problem(problem)
    told = str(caught.value)
    assert name in told or name.rpartition(".")[2] in told


@pytest.mark.parametrize(
    ("member", "value", "told"),
    [
        ("max_travel_time", [1], "vehicles[0].max_travel_time: expected"),
        ("max_tasks", "many", "vehicles[0].max_tasks: expected `int"),
        ("time_window", [1, 2, 3], "vehicles[0].time_window: expected `array` of length"),
        ("capacity", ["x"], "vehicles[0].capacity[0]: expected `int`"),
    ],
)
def test_a_wrong_type_is_told_in_clear_words(member: str, value: Any, told: str) -> None:
    vehicle = {"id": 1, "start": [7.42, 43.73], member: value}
    with pytest.raises(InvalidRequest) as caught:
        check_problem({"vehicles": [vehicle], "jobs": [{"id": 1, "location": [7.42, 43.73]}]})
    assert told in str(caught.value)


def test_the_search_can_be_stopped_and_ends_in_time() -> None:
    rng = np.random.default_rng(1)
    places = rng.uniform(0, 10_000, (500, 2))  # half a minute of work for VROOM
    times_s = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)).astype(int).tolist()
    problem = {
        "vehicles": [{"id": each, "start_index": 0, "capacity": [30]} for each in range(20)],
        "jobs": [
            {"id": index, "location_index": index, "delivery": [1]} for index in range(1, 500)
        ],
        "matrices": {"car": {"durations": times_s}},
    }
    stop = threading.Event()
    threading.Timer(1.5, stop.set).start()
    begun = time.monotonic()
    with pytest.raises(Stopped):
        solve(problem, effort=5, is_stopped=stop.is_set)
    assert time.monotonic() - begun < 10
    with pytest.raises(Timeout):
        solve(problem, effort=5, deadline=Deadline(1.0))
