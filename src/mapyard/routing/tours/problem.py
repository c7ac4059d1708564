"""VROOM's problems: read strictly, given our matrices, solved in a child process, explained.

The form is VROOM's own (docs/API.md of VROOM-Project/vroom): vehicles, jobs, shipments, matrices.
Members that it does not know are refused by name, since a tour without a limit that was asked for
looks like one with it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import InvalidRequest, MapyardError, TooLarge, Unsupported
from mapyard.routing.engine import Engine
from mapyard.routing.matrix import compute_matrix
from mapyard.routing.modes import MODES, Mode
from mapyard.routing.polyline import encode_polyline
from mapyard.routing.route import find_routes
from mapyard.routing.snapping import DEFAULT_RADIUS_M
from mapyard.routing.tours.shape import check_types
from mapyard.routing.tours.vroom_child import REFUSED

MAX_STOPS: Final = 1_000
MAX_VEHICLES: Final = 200
#: Seconds of a pair without a way, and the most that a vehicle may travel: so no route uses one.
NO_WAY_S: Final = 10**7
_MOST_TRAVEL_S: Final = NO_WAY_S - 1
#: Effort of the search, 0 to 5, by number of stops.
_EFFORTS: Final = ((50, 5), (200, 3), (MAX_STOPS, 1))
_POLL_S: Final = 0.05
_STOPS_PER_ROUTE: Final = 26

_STEP: Final = frozenset(("type", "id", "service_at", "service_after", "service_before"))
_BREAK: Final = frozenset(("id", "time_windows", "service", "description", "max_load"))
_COSTS: Final = frozenset(("fixed", "per_hour", "per_km", "per_task_hour"))
_VEHICLE: Final = frozenset(
    (
        "id", "profile", "description", "start", "start_index", "end", "end_index", "capacity",
        "costs", "skills", "type", "time_window", "breaks", "speed_factor", "max_tasks",
        "max_travel_time", "max_distance", "steps",
    )
)  # fmt: skip
_PLACE: Final = frozenset(
    (
        "id", "description", "location", "location_index", "setup", "service", "setup_per_type",
        "service_per_type", "time_windows",
    )
)  # fmt: skip
_JOB: Final = _PLACE | {"delivery", "pickup", "skills", "priority"}
_SHIPMENT: Final = frozenset(("pickup", "delivery", "amount", "skills", "priority"))
_MATRIX: Final = frozenset(("durations", "distances", "costs"))
_OPTIONS: Final = frozenset(("g", "c"))
_TOP: Final = frozenset(("vehicles", "jobs", "shipments", "matrices", "options"))

#: Profiles under the names of other services.
_PROFILES: Final[dict[str, Mode]] = {
    **{mode: mode for mode in MODES},
    "car": "auto", "driving": "auto", "driving-car": "auto", "driving-hgv": "truck",
    "hgv": "truck", "bike": "bicycle", "cycling": "bicycle", "cycling-regular": "bicycle",
    "walking": "foot", "foot-walking": "foot", "pedestrian": "foot",
}  # fmt: skip

type Problem = dict[str, Any]


def check_problem(problem: Problem) -> None:
    """Raise `Unsupported` naming members that VROOM does not know, `InvalidRequest`, `TooLarge`."""
    unknown = list(_find_unknown(problem))
    if unknown:
        raise Unsupported(
            f"{', '.join(unknown[:20])}: not understood, so the tours would not be those that you "
            "ask for",
            details={name: ["is not understood"] for name in unknown[:20]},
        )
    if not problem.get("vehicles"):
        raise InvalidRequest.of("vehicles", "needs one or more")
    check_types(problem)
    tasks = list(_iter_places(problem))
    for name, count, limit in (
        ("vehicles", len(problem.get("vehicles") or ()), MAX_VEHICLES),
        ("jobs", len(tasks), MAX_STOPS),
    ):
        if count > limit:
            raise TooLarge(
                f"{name}: {count}, at most {limit}",
                details={"parameter": name, "limit": limit, "count": count},
            )
    if not tasks:
        raise InvalidRequest.of("jobs", "needs one job or shipment, or more")


def _find_unknown(problem: Problem) -> Iterator[str]:
    yield from _unknown("", problem, _TOP)
    yield from _unknown("options.", problem.get("options") or {}, _OPTIONS)
    matrices = problem.get("matrices")
    for name, matrix in matrices.items() if isinstance(matrices, dict) else ():
        yield from _unknown(f"matrices.{name}.", matrix, _MATRIX)
    for index, vehicle in enumerate(_list(problem, "vehicles")):
        at = f"vehicles[{index}]."
        yield from _unknown(at, vehicle, _VEHICLE)
        yield from _unknown(f"{at}costs.", vehicle.get("costs") or {}, _COSTS)
        for number, one in enumerate(_list(vehicle, "breaks")):
            yield from _unknown(f"{at}breaks[{number}].", one, _BREAK)
        for number, one in enumerate(_list(vehicle, "steps")):
            yield from _unknown(f"{at}steps[{number}].", one, _STEP)
    for index, job in enumerate(_list(problem, "jobs")):
        yield from _unknown(f"jobs[{index}].", job, _JOB)
    for index, shipment in enumerate(_list(problem, "shipments")):
        yield from _unknown(f"shipments[{index}].", shipment, _SHIPMENT)
        for end in ("pickup", "delivery"):
            yield from _unknown(f"shipments[{index}].{end}.", shipment.get(end) or {}, _PLACE)


def _list(found: dict[str, Any], name: str) -> list[Any]:
    """Return a member that has to be a list, nothing where it is none: `check_types` says so."""
    value = found.get(name)
    return value if isinstance(value, list) else []


def _unknown(at: str, found: Any, known: frozenset[str]) -> Iterator[str]:
    if not isinstance(found, dict):
        raise InvalidRequest(f"{at.removesuffix('.') or 'the problem'}: must be an object")
    yield from (f"{at}{name}"[:80] for name in found if name not in known)


def _iter_places(problem: Problem) -> Iterator[dict[str, Any]]:
    yield from problem.get("jobs") or ()
    for shipment in problem.get("shipments") or ():
        for end in ("pickup", "delivery"):
            yield shipment[end]


def plan_tours(
    engine: Engine,
    problem: Problem,
    *,
    radius_m: float = DEFAULT_RADIUS_M,
    deadline: Deadline | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
    on_progress: Callable[[str], None] = lambda what: None,
) -> dict[str, Any]:
    """Return VROOM's solution, with distances, and with the reasons of what is left out.

    With `options.g` the routes have their geometry, with `options.c` (plan mode) the vehicles'
    `steps` are kept as they are and only timed. Raises `NoRoad` with the index of a location in
    order of first mention, `Timeout`, and what `check_problem` does.
    """
    check_problem(problem)
    deadline = deadline or no_deadline()
    options = problem.get("options") or {}
    filled = {name: value for name, value in problem.items() if name != "options"}
    on_progress("matrices")
    places = _fill_matrices(engine, filled, radius_m, deadline)
    on_progress("tours")
    count = sum(1 for _ in _iter_places(problem))
    effort = next(effort for limit, effort in _EFFORTS if count <= limit)
    solution = solve(filled, effort=effort, plan=bool(options.get("c")), deadline=deadline,
                     is_stopped=is_stopped)  # fmt: skip
    on_progress("answer")
    solution["summary"].pop("computing_times", None)  # an answer is the same each time
    _add_places(solution, filled, places)
    for left in solution.get("unassigned", ()):
        left["reason"] = _find_reason(left, filled)
    if options.get("g"):
        _add_lines(engine, solution, filled, places, radius_m, deadline)
    return solution


def _fill_matrices(
    engine: Engine, problem: Problem, radius_m: float, deadline: Deadline
) -> NDArray[np.float64] | None:
    """Give the problem location indexes and matrices; return the locations, None if it has its own.

    Matrices that the problem brings along are used as they are.
    """
    profiles = {str(vehicle.get("profile", "car")) for vehicle in problem["vehicles"]}
    own = problem.get("matrices") or {}
    if own:
        missing = sorted(profiles - own.keys())
        if missing:
            raise InvalidRequest.of("matrices", f"profile {missing[0]} of a vehicle has no matrix")
        return None
    indexes: dict[tuple[float, float], int] = {}

    def index_of(name: str, location: Any) -> int:
        if not (
            isinstance(location, (list, tuple))
            and len(location) == 2
            and all(isinstance(value, (int, float)) for value in location)
        ):
            raise InvalidRequest(f"{name}: must be [longitude, latitude]")
        return indexes.setdefault((float(location[0]), float(location[1])), len(indexes))

    problem["vehicles"] = [
        vehicle
        | {
            f"{end}_index": index_of(f"vehicles[{number}].{end}", vehicle[end])
            for end in ("start", "end")
            if end in vehicle
        }
        | {"max_travel_time": min(vehicle.get("max_travel_time") or _MOST_TRAVEL_S, _MOST_TRAVEL_S)}
        for number, vehicle in enumerate(problem["vehicles"])
    ]
    problem["jobs"] = [
        job | {"location_index": index_of(f"jobs[{number}].location", job.get("location"))}
        for number, job in enumerate(problem.get("jobs") or ())
    ]
    problem["shipments"] = [
        shipment
        | {
            end: shipment[end]
            | {
                "location_index": index_of(
                    f"shipments[{number}].{end}.location", shipment[end].get("location")
                )
            }
            for end in ("pickup", "delivery")
        }
        for number, shipment in enumerate(problem.get("shipments") or ())
    ]
    places = np.array(list(indexes))
    matrices = {}
    for profile in sorted(profiles):
        mode = _PROFILES.get(profile)
        if mode is None:
            known = ", ".join(MODES)
            raise Unsupported(
                f"vehicles: profile {profile[:40]} is not served; take one of {known}, or bring "
                "your matrices",
                details={"vehicles": [f"profile {profile[:40]} is not served"]},
            )
        found = compute_matrix(
            engine, places, places, mode, radius_m=radius_m, max_pairs=len(places) ** 2,
            deadline=deadline,
        )  # fmt: skip
        lost = np.isnan(found.durations_s)
        matrices[profile] = {
            "durations": np.where(lost, NO_WAY_S, found.durations_s).astype(np.int64),
            "distances": np.where(lost, NO_WAY_S, found.distances_m).round().astype(np.int64),
        }
    problem["matrices"] = matrices
    return places


def solve(
    problem: Problem,
    *,
    effort: int,
    plan: bool = False,
    threads: int = 1,
    deadline: Deadline | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Return VROOM's solution of a problem with matrices, from a child process.

    The child is killed at the deadline and when `is_stopped` says so. Raises `InvalidRequest` with
    VROOM's own words where it refuses the problem.
    """
    deadline = deadline or no_deadline()
    with tempfile.TemporaryDirectory(prefix="mapyard-vroom-") as folder:
        asked, answered = Path(folder) / "problem.json", Path(folder) / "solution.json"
        asked.write_bytes(orjson.dumps(problem, option=orjson.OPT_SERIALIZE_NUMPY))
        command = [
            sys.executable, "-m", "mapyard.routing.tours.vroom_child", str(asked), str(answered),
            str(effort), str(threads), "check" if plan else "solve",
        ]  # fmt: skip
        with subprocess.Popen(  # noqa: S603 - our own module, paths are ours
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as child:
            try:
                while child.poll() is None:
                    deadline.check()
                    if is_stopped():
                        raise Stopped("the tours were not worked out: they are not wanted any more")
                    try:
                        child.wait(_POLL_S)
                    except subprocess.TimeoutExpired:
                        continue
            finally:
                child.kill()
            assert child.stderr is not None
            words = child.stderr.read().decode(errors="replace").strip().splitlines()
        if child.returncode == REFUSED:
            raise InvalidRequest(
                f"VROOM refuses the problem: {orjson.loads(answered.read_bytes())}"
            )
        if child.returncode != 0:
            raise MapyardError(f"VROOM failed: {words[-1] if words else child.returncode}")
        solution: dict[str, Any] = orjson.loads(answered.read_bytes())
    return solution


class Stopped(MapyardError):  # noqa: N818 - says what happened
    """The work was given up because nobody wants it any more."""

    status, code = 409, "cancelled"


def _add_places(
    solution: dict[str, Any], problem: Problem, places: NDArray[np.float64] | None
) -> None:
    """Add distances to routes and the summary, and locations to steps."""
    profiles = {v["id"]: str(v.get("profile", "car")) for v in problem["vehicles"]}
    total_m = 0
    for route in solution.get("routes", ()):
        distances = problem["matrices"][profiles[route["vehicle"]]].get("distances")
        steps = [step for step in route["steps"] if "location_index" in step]
        along_m = 0
        for before, step in zip([None, *steps[:-1]], steps, strict=True):
            at = step["location_index"]
            if places is not None:
                step["location"] = places[at].tolist()
            if distances is not None:
                if before is not None:
                    along_m += int(distances[before["location_index"]][at])
                step["distance"] = along_m
        if distances is not None:
            route["distance"] = along_m
            total_m += along_m
    if all("distance" in route for route in solution.get("routes", ())):
        solution["summary"]["distance"] = total_m
    if places is not None:
        for left in solution.get("unassigned", ()):
            left["location"] = places[left["location_index"]].tolist()


def _find_reason(left: dict[str, Any], problem: Problem) -> str:
    """Return why a task is in no route, as far as it can be told for the task alone."""
    task = _find_task(left, problem)
    skills = set(task.get("skills") or ())
    vehicles = [v for v in problem["vehicles"] if skills <= set(v.get("skills") or ())]
    if not vehicles:
        return f"no vehicle has the skills {sorted(skills)}"
    amounts = [task.get(name) or [] for name in ("delivery", "pickup", "amount")]
    if task.get("is_shipment"):
        amounts = [task.get("amount") or []]
    vehicles = [v for v in vehicles if all(_fits(amount, v) for amount in amounts)]
    if not vehicles:
        return "it is more than any vehicle that may do it carries"
    at = left["location_index"]
    if not any(_can_reach(v, at, problem) for v in vehicles):
        return "no way leads there from any vehicle that may do it"
    windows = task.get("time_windows") or []
    if windows and not any(_is_in_time(v, at, windows, problem) for v in vehicles):
        return "no vehicle that may do it gets there within its time windows"
    return "no route has room for it besides tasks that matter as much or more"


def _find_task(left: dict[str, Any], problem: Problem) -> dict[str, Any]:
    if left.get("type", "job") == "job":
        return next(job for job in problem["jobs"] if job["id"] == left["id"])
    end = left["type"]
    shipment = next(one for one in problem["shipments"] if one[end].get("id") == left["id"])
    found: dict[str, Any] = {**shipment[end], "is_shipment": True} | {
        name: shipment[name] for name in ("skills", "amount") if name in shipment
    }
    return found


def _fits(amount: list[int], vehicle: dict[str, Any]) -> bool:
    capacity = vehicle.get("capacity") or [0] * len(amount)
    return all(one <= most for one, most in zip(amount, capacity, strict=False))


def _times_of(vehicle: dict[str, Any], problem: Problem) -> Any:
    return problem["matrices"][str(vehicle.get("profile", "car"))]["durations"]


def _can_reach(vehicle: dict[str, Any], at: int, problem: Problem) -> bool:
    times_s = _times_of(vehicle, problem)
    start, end = vehicle.get("start_index"), vehicle.get("end_index")
    return (start is None or times_s[start][at] < NO_WAY_S) and (
        end is None or times_s[at][end] < NO_WAY_S
    )


def _is_in_time(
    vehicle: dict[str, Any], at: int, windows: list[list[int]], problem: Problem
) -> bool:
    opens, closes = vehicle.get("time_window") or (0, NO_WAY_S)
    start = vehicle.get("start_index")
    factor = float(vehicle.get("speed_factor") or 1.0)
    earliest = opens + (0 if start is None else _times_of(vehicle, problem)[start][at] / factor)
    return any(earliest <= last and first <= closes for first, last in windows)


def _add_lines(
    engine: Engine,
    solution: dict[str, Any],
    problem: Problem,
    places: NDArray[np.float64] | None,
    radius_m: float,
    deadline: Deadline,
) -> None:
    if places is None:
        raise InvalidRequest.of("options", "g: routes over your own matrices have no geometry")
    profiles = {v["id"]: str(v.get("profile", "car")) for v in problem["vehicles"]}
    for route in solution.get("routes", ()):
        stops = [step["location_index"] for step in route["steps"] if "location_index" in step]
        stops = [at for index, at in enumerate(stops) if index == 0 or at != stops[index - 1]]
        lines = []
        for first in range(0, len(stops) - 1, _STOPS_PER_ROUTE - 1):
            deadline.check()
            part = places[stops[first : first + _STOPS_PER_ROUTE]]
            mode = _PROFILES[profiles[route["vehicle"]]]
            lines.append(find_routes(engine, part, mode, radius_m=radius_m)[0].positions)
        if lines:
            route["geometry"] = encode_polyline(np.concatenate(lines), 5)
