"""Options of how a mode moves, under names with units, and as the engine wants them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from mapyard.errors import Unsupported


class CostingOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Options of a mode; those that a mode does not have are refused by name."""

    #: Unknown names are problems: a way that minds no weight limit looks like one that does.
    refuses_unknown: ClassVar[bool] = True

    height_m: Annotated[float | None, Meta(ge=0.5, le=10, description="of the vehicle")] = None
    width_m: Annotated[float | None, Meta(ge=0.3, le=10, description="of the vehicle")] = None
    length_m: Annotated[float | None, Meta(ge=0.5, le=50, description="of the vehicle")] = None
    weight_t: Annotated[float | None, Meta(ge=0.1, le=100, description="metric tons")] = None
    axle_load_t: Annotated[float | None, Meta(ge=0, le=40, description="truck")] = None
    axle_count: Annotated[int | None, Meta(ge=2, le=20, description="truck")] = None
    hazmat: Annotated[bool | None, Meta(description="truck: carries hazardous materials")] = None
    top_speed_kmh: Annotated[
        float | None, Meta(ge=10, le=252, description="motor vehicles: no faster")
    ] = None
    fixed_speed_kmh: Annotated[
        int | None, Meta(ge=1, le=252, description="motor vehicles: this fast everywhere")
    ] = None
    cycling_speed_kmh: Annotated[
        float | None, Meta(ge=5, le=60, description="on flat, smooth roads")
    ] = None
    walking_speed_kmh: Annotated[float | None, Meta(ge=0.5, le=25)] = None
    bicycle_type: Annotated[
        Literal["road", "hybrid", "cross", "mountain", "electric"] | None,
        Meta(description="road keeps to paved roads, mountain minds no surface; hybrid"),
    ] = None
    shortest: Annotated[
        bool | None, Meta(description="the shortest way instead of the quickest")
    ] = None
    use_highways: Annotated[
        float | None, Meta(ge=0, le=1, description="0 avoids motorways where it can")
    ] = None
    use_tolls: Annotated[float | None, Meta(ge=0, le=1, description="0 avoids")] = None
    use_ferry: Annotated[float | None, Meta(ge=0, le=1, description="0 avoids")] = None
    use_tracks: Annotated[float | None, Meta(ge=0, le=1, description="0 avoids")] = None
    use_living_streets: Annotated[float | None, Meta(ge=0, le=1, description="0 avoids")] = None
    use_roads: Annotated[
        float | None, Meta(ge=0, le=1, description="bicycle: 0 keeps to cycleways")
    ] = None
    use_hills: Annotated[float | None, Meta(ge=0, le=1, description="0 avoids climbs")] = None
    use_trails: Annotated[
        float | None, Meta(ge=0, le=1, description="motorcycle: 1 seeks adventure")
    ] = None
    use_lit: Annotated[float | None, Meta(ge=0, le=1, description="foot: 1 prefers")] = None
    use_truck_routes: Annotated[float | None, Meta(ge=0, le=1, description="1 prefers")] = None
    avoid_bad_surfaces: Annotated[
        float | None, Meta(ge=0, le=1, description="bicycle: 1 leaves them out")
    ] = None
    max_hiking_difficulty: Annotated[
        int | None, Meta(ge=0, le=6, description="foot: of sac_scale, 1 is T1")
    ] = None
    max_grade_percent: Annotated[int | None, Meta(ge=0, le=90, description="wheelchair")] = None
    step_penalty_s: Annotated[float | None, Meta(ge=0, le=43_200, description="foot")] = None
    elevator_penalty_s: Annotated[float | None, Meta(ge=0, le=43_200, description="foot")] = None
    walkway_factor: Annotated[float | None, Meta(ge=0.1, le=100, description="foot")] = None
    sidewalk_factor: Annotated[float | None, Meta(ge=0.1, le=100, description="foot")] = None
    driveway_factor: Annotated[float | None, Meta(ge=0.1, le=100, description="foot")] = None
    maneuver_penalty_s: Annotated[
        float | None, Meta(ge=0, le=43_200, description="for changing onto another road")
    ] = None
    gate_cost_s: Annotated[float | None, Meta(ge=0, le=43_200, description="to open it")] = None
    gate_penalty_s: Annotated[float | None, Meta(ge=0, le=43_200)] = None
    private_access_penalty_s: Annotated[float | None, Meta(ge=0, le=43_200)] = None
    destination_only_penalty_s: Annotated[float | None, Meta(ge=0, le=43_200)] = None
    service_penalty_s: Annotated[float | None, Meta(ge=0, le=43_200)] = None
    toll_booth_cost_s: Annotated[float | None, Meta(ge=0, le=43_200)] = None
    toll_booth_penalty_s: Annotated[float | None, Meta(ge=0, le=43_200)] = None
    ferry_cost_s: Annotated[float | None, Meta(ge=0, le=43_200, description="of boarding")] = None
    border_cost_s: Annotated[float | None, Meta(ge=0, le=43_200)] = None
    border_penalty_s: Annotated[float | None, Meta(ge=0, le=43_200)] = None
    hov2: Annotated[bool | None, Meta(description="auto: two people, carpool lanes")] = None
    hov3: Annotated[bool | None, Meta(description="auto: three people, carpool lanes")] = None
    ignore_oneways: Annotated[bool | None, Meta(description="motor vehicles")] = None
    ignore_access: bool | None = None
    ignore_restrictions: Annotated[bool | None, Meta(description="turns and limits")] = None


#: Our name → the engine's, where they differ by more than the unit.
_NAMES: Final = {
    "axle_load_t": "axle_load",
    "use_truck_routes": "use_truck_route",
    "border_cost_s": "country_crossing_cost",
    "border_penalty_s": "country_crossing_penalty",
    "max_grade_percent": "max_grade",
    "hov2": "include_hov2",
    "hov3": "include_hov3",
}
_UNITS: Final = ("_m", "_t", "_kmh", "_s")
_BICYCLES: Final = {"road": "Road", "hybrid": "Hybrid", "cross": "Cross", "mountain": "Mountain"}
#: What an electric bicycle does more than a hybrid one.
_ELECTRIC: Final = {"bicycle_type": "Hybrid", "cycling_speed": 23.0, "use_hills": 0.8}

_ALL: Final = frozenset(
    (
        "shortest", "use_ferry", "use_tracks", "use_living_streets", "maneuver_penalty_s",
        "gate_cost_s", "gate_penalty_s", "private_access_penalty_s", "destination_only_penalty_s",
        "service_penalty_s", "ferry_cost_s", "border_cost_s", "border_penalty_s", "ignore_access",
        "ignore_restrictions",
    )
)  # fmt: skip
_MOTOR: Final = _ALL | {
    "top_speed_kmh", "fixed_speed_kmh", "use_highways", "use_tolls", "toll_booth_cost_s",
    "toll_booth_penalty_s", "ignore_oneways",
}  # fmt: skip
_CAR: Final = _MOTOR | {"height_m", "width_m", "length_m", "weight_t", "hov2", "hov3"}
_FOOT: Final = _ALL | {
    "walking_speed_kmh", "use_hills", "use_lit", "max_hiking_difficulty", "max_grade_percent",
    "step_penalty_s", "elevator_penalty_s", "walkway_factor", "sidewalk_factor", "driveway_factor",
}  # fmt: skip
#: The options of each of the engine's costings.
SERVED: Final = {
    "auto": _CAR,
    "taxi": _CAR,
    "bus": _CAR,
    "truck": _MOTOR
    | {
        "height_m", "width_m", "length_m", "weight_t", "axle_load_t", "axle_count", "hazmat",
        "use_truck_routes",
    },
    "motorcycle": _MOTOR | {"use_trails"},
    "motor_scooter": (_MOTOR - {"use_highways", "use_tolls"}) | {"use_roads", "use_hills"},
    "bicycle": _ALL
    | {"cycling_speed_kmh", "bicycle_type", "use_roads", "use_hills", "avoid_bad_surfaces"},
    "pedestrian": _FOOT,
}  # fmt: skip


def write_options(costing: str, mode: str, options: CostingOptions) -> dict[str, Any]:
    """Return the engine's options; raise Unsupported naming those that the mode does not have."""
    given = {
        name: value
        for name in options.__struct_fields__
        if (value := getattr(options, name)) is not None
    }
    foreign = [name for name in given if name not in SERVED[costing]]
    if foreign:
        known = ", ".join(sorted(SERVED[costing]))
        raise Unsupported(
            f"costing: mode {mode} has no {', '.join(foreign)}; it has {known}",
            details={f"costing[{name}]": [f"mode {mode} has none"] for name in foreign},
        )
    written: dict[str, Any] = {}
    for name, value in given.items():
        if name == "bicycle_type":
            written |= _ELECTRIC if value == "electric" else {name: _BICYCLES[value]}
        else:
            written[_name_of(name)] = value
    return written


def check_slopes(options: CostingOptions | None, *, has_slopes: bool) -> None:
    """Raise Unsupported for options about slopes where roads have none: they would do nothing."""
    if options is None or has_slopes:
        return
    for name in ("use_hills", "max_grade_percent"):
        if getattr(options, name) is not None:
            why = (
                "needs heights at build: put rasters into elevation/ of the data folder, build anew"
            )
            raise Unsupported(f"costing: {name} {why}", details={f"costing[{name}]": [why]})


def _name_of(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    for unit in _UNITS:
        if name.endswith(unit):
            return name.removesuffix(unit)
    return name
