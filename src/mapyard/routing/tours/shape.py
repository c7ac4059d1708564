"""The members of VROOM's problems and their types: what is of another one is refused with its path.

Members that a struct does not name are looked for elsewhere (`problem.check_problem`), and what
values mean is VROOM's to say.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mapyard.errors import InvalidRequest

type _Number = int | float
type _Amount = list[int]
type _Window = Annotated[list[_Number], Meta(min_length=2, max_length=2)]
type _PerType = dict[str, _Number]


class _Break(msgspec.Struct):
    id: int
    time_windows: list[_Window] | None = None
    service: _Number | None = None
    description: str | None = None
    max_load: _Amount | None = None


class _Step(msgspec.Struct):
    type: str
    id: int | None = None
    service_at: _Number | None = None
    service_after: _Number | None = None
    service_before: _Number | None = None


class _Vehicle(msgspec.Struct):
    id: int
    profile: str = "car"
    description: str | None = None
    start: Any = None
    start_index: int | None = None
    end: Any = None
    end_index: int | None = None
    capacity: _Amount | None = None
    costs: dict[str, _Number] | None = None
    skills: list[int] | None = None
    type: str | None = None
    time_window: _Window | None = None
    breaks: list[_Break] | None = None
    speed_factor: _Number | None = None
    max_tasks: int | None = None
    max_travel_time: _Number | None = None
    max_distance: _Number | None = None
    steps: list[_Step] | None = None


class _Place(msgspec.Struct, kw_only=True):
    id: int
    description: str | None = None
    location: Any = None
    location_index: int | None = None
    setup: _Number | None = None
    service: _Number | None = None
    setup_per_type: _PerType | None = None
    service_per_type: _PerType | None = None
    time_windows: list[_Window] | None = None


class _Job(_Place, kw_only=True):
    delivery: _Amount | None = None
    pickup: _Amount | None = None
    skills: list[int] | None = None
    priority: int | None = None


class _Shipment(msgspec.Struct):
    pickup: _Place
    delivery: _Place
    amount: _Amount | None = None
    skills: list[int] | None = None
    priority: int | None = None


class _Options(msgspec.Struct):
    g: bool | None = None
    c: bool | None = None


class _Problem(msgspec.Struct):
    vehicles: list[_Vehicle]
    jobs: list[_Job] | None = None
    shipments: list[_Shipment] | None = None
    matrices: dict[str, dict[str, list[list[_Number]]]] | None = None
    options: _Options | None = None


def check_types(problem: dict[str, Any]) -> None:
    """Raise `InvalidRequest` with the path of the first member of another type than VROOM's."""
    try:
        msgspec.convert(problem, _Problem, strict=True)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        at = path.rstrip("`").removeprefix(".") or "the problem"
        raise InvalidRequest(f"{at}: {what[:1].lower()}{what[1:]}") from None
