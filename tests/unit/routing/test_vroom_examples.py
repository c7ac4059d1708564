"""The three examples of VROOM's documentation, and the answers that it documents.

Its matrices are not published: the seconds between places that follow each other are those of the
documented arrivals, all other ways lead over these. https://github.com/VROOM-Project/vroom/tree/master/docs
(BSD 2-Clause, © Julien Coupey).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapyard.routing import Engine
from mapyard.routing.tours.problem import plan_tours

#: Places by the ids of their jobs; 0 is the depot.
PLACES = (0, 1, 2, 3, 4, 5, 6)
KNOWN_S = {
    (0, 1): 2328, (1, 2): 890, (2, 5): 1595, (5, 0): 1752,
    (0, 6): 2941, (6, 4): 3816, (4, 3): 1909, (3, 0): 3480,
}  # fmt: skip
OPENS = 1_600_416_000


def make_matrix() -> list[list[int]]:
    """Return the known seconds, the same both ways, and for other pairs the way over these."""
    seconds = np.full((7, 7), 100_000)
    np.fill_diagonal(seconds, 0)
    for (start, end), value in KNOWN_S.items():
        seconds[[start, end], [end, start]] = value
    for via in range(7):
        seconds = np.minimum(seconds, seconds[:, [via]] + seconds[[via]])
    return seconds.tolist()  # type: ignore[no-any-return]


def solve(engine: Engine, problem: dict[str, Any]) -> dict[str, Any]:
    return plan_tours(engine, problem | {"matrices": {"car": {"durations": make_matrix()}}})


def times(solution: dict[str, Any]) -> list[list[tuple[str, int | None, int]]]:
    return [
        [(step["type"], step.get("id"), step["arrival"]) for step in route["steps"]]
        for route in solution["routes"]
    ]


def test_example_1_jobs_shipments_skills_and_a_break(engine: Engine) -> None:
    depot = {
        "start_index": 0,
        "end_index": 0,
        "capacity": [4],
        "time_window": [OPENS, OPENS + 14_400],
    }
    solution = solve(
        engine,
        {
            "vehicles": [
                depot | {"id": 1, "skills": [1, 14]},
                depot
                | {
                    "id": 2,
                    "skills": [2, 14],
                    "breaks": [
                        {"id": 2, "service": 300,
                         "time_windows": [[1_600_423_200, 1_600_425_000]]}
                    ],
                },
            ],
            "jobs": [
                {"id": 1, "service": 300, "delivery": [1], "location_index": 1, "skills": [1],
                 "time_windows": [[1_600_419_600, 1_600_423_200]]},
                {"id": 2, "service": 300, "pickup": [1], "location_index": 2, "skills": [1]},
                {"id": 5, "service": 300, "delivery": [1], "location_index": 5, "skills": [14]},
                {"id": 6, "service": 300, "delivery": [1], "location_index": 6, "skills": [14]},
            ],
            "shipments": [
                {"amount": [1], "skills": [2],
                 "pickup": {"id": 4, "service": 300, "location_index": 4},
                 "delivery": {"id": 3, "service": 300, "location_index": 3}},
            ],
        },
    )  # fmt: skip
    summary = solution["summary"]
    assert (summary["cost"], summary["duration"], summary["service"]) == (18_711, 18_711, 2_100)
    assert (summary["delivery"], summary["pickup"], summary["unassigned"]) == ([4], [2], 0)
    assert summary["violations"] == []
    assert times(solution) == [
        [("start", None, 1_600_417_272), ("job", 1, 1_600_419_600), ("job", 2, 1_600_420_790),
         ("job", 5, 1_600_422_685), ("end", None, 1_600_424_737)],
        [("start", None, 1_600_416_000), ("job", 6, 1_600_418_941), ("pickup", 4, 1_600_423_057),
         ("break", 2, 1_600_423_357), ("delivery", 3, 1_600_425_566), ("end", None, 1_600_429_346)],
    ]  # fmt: skip


def test_example_2_with_a_matrix_of_its_own(engine: Engine) -> None:
    solution = plan_tours(
        engine,
        {
            "vehicles": [{"id": 0, "start_index": 0, "end_index": 3}],
            "jobs": [{"id": 1414, "location_index": 1}, {"id": 1515, "location_index": 2}],
            "matrices": {
                "car": {
                    "durations": [
                        [0, 2104, 197, 1299],
                        [2103, 0, 2255, 3152],
                        [197, 2256, 0, 1102],
                        [1299, 3153, 1102, 0],
                    ]
                }
            },
        },
    )
    assert solution["summary"]["cost"] == 5461
    assert times(solution) == [
        [("start", None, 0), ("job", 1414, 2104), ("job", 1515, 4359), ("end", None, 5461)]
    ]


def test_example_3_plan_mode_names_what_is_broken(engine: Engine) -> None:
    depot = {
        "start_index": 0,
        "end_index": 0,
        "capacity": [4],
        "time_window": [OPENS, OPENS + 10_800],
    }
    window = {"time_windows": [[OPENS, OPENS + 7_200]]}
    solution = solve(
        engine,
        {
            "options": {"c": True},
            "vehicles": [
                depot | {"id": 1, "steps": [
                    {"type": "start"}, {"type": "job", "id": 1}, {"type": "job", "id": 2},
                    {"type": "job", "id": 5}, {"type": "end"}]},
                depot | {"id": 2, "steps": [
                    {"type": "start", "service_after": 1_600_415_200}, {"type": "job", "id": 6},
                    {"type": "job", "id": 4}, {"type": "job", "id": 3}, {"type": "end"}]},
            ],
            "jobs": [
                {"id": number, "service": 300, "location_index": number, "delivery": [amount]}
                | (window if number in (3, 4, 6) else {})
                for number, amount in ((1, 2), (2, 2), (3, 1), (4, 1), (5, 3), (6, 1))
            ],
        },
    )  # fmt: skip
    summary = solution["summary"]
    assert (summary["cost"], summary["service"], summary["delivery"]) == (18_711, 1_800, [10])
    broken = {one["cause"]: one.get("duration") for one in summary["violations"]}
    assert broken == {"lead_time": 800, "delay": 2_712, "load": None}
    first, second = times(solution)
    assert [stop[:2] for stop in first] == [
        ("start", None), ("job", 1), ("job", 2), ("job", 5), ("end", None)
    ]  # fmt: skip
    assert second[0] == ("start", None, 1_600_415_200)
    assert second[-1] == ("end", None, 1_600_428_246)
