"""Travel modes and what may be excluded, in the engine's words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal, get_args

from mapyard.errors import Unsupported
from mapyard.routing.config import COSTINGS
from mapyard.routing.costing import CostingOptions, write_options
from mapyard.routing.tagging.conditions import ASSUMED

Mode = Literal[
    "auto", "truck", "motor_scooter", "motorcycle", "taxi", "bus", "bicycle", "foot", "wheelchair",
    "hike",
]  # fmt: skip
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
#: Modes whose matrices are prepared (contraction/).
TABLE_MODES: Final[tuple[Mode, ...]] = ("auto", "foot", "bicycle")

#: Exclusion → the engine's option.
_EXCLUSIONS: Final = {
    "toll": "exclude_tolls",
    "motorway": "exclude_highways",
    "ferry": "exclude_ferries",
    "unpaved": "exclude_unpaved",
    "tunnel": "exclude_tunnels",
    "bridge": "exclude_bridges",
}

#: A gate takes time to open, and is no reason for a detour. Roads for their ends only are marked as
#: such for motor vehicles, and as alleys for walkers and riders (routing/tagging/access.py).
_MOTOR: Final = {"gate_cost": 10, "gate_penalty": 20, "alley_penalty": 0}
_FOOT: Final = {
    "gate_cost": 10, "gate_penalty": 0, "destination_only_penalty": 0, "alley_penalty": 600,
    "alley_factor": 1,
}  # fmt: skip
#: Costs that differ from the engine's defaults, per mode. What the tables of matrices cost
#: (contraction/) follows these.
COSTING_DEFAULTS: Final[dict[Mode, dict[str, Any]]] = {
    **dict.fromkeys(("auto", "truck", "motor_scooter", "motorcycle", "taxi"), _MOTOR),
    # A city bus; to the engine it is no larger than a car.
    "bus": _MOTOR | {"height": 3.2, "width": 2.55, "length": 12, "weight": 18},
    "bicycle": {
        "gate_cost": 10, "gate_penalty": 20, "private_access_penalty": 0,
        "destination_only_penalty": 0, "alley_penalty": 600,
    },
    "foot": _FOOT,
    "wheelchair": _FOOT | {"type": "wheelchair", "max_hiking_difficulty": 0},
    # On marked paths up to T4, at a pace for a day.
    "hike": _FOOT | {"max_hiking_difficulty": 4, "walking_speed": 4.5},
}  # fmt: skip

#: Without a time, what holds at noon of a working day does: in the local time of each place.
ASSUMED_TIME: Final = {"date_time": {"type": 3, "value": ASSUMED.strftime("%Y-%m-%dT%H:%M")}}
#: The same for areas, for which the engine wants a departure.
ASSUMED_DEPARTURE: Final = {"date_time": ASSUMED_TIME["date_time"] | {"type": 1}}


def make_costing(
    mode: Mode, exclude: Collection[str] = (), options: CostingOptions | None = None
) -> dict[str, Any]:
    """Return the request members `costing` and `costing_options`, and for `Engine` the mode.

    Args:
        mode: how to travel.
        exclude: of toll, motorway, ferry, unpaved (motor vehicles), tunnel, bridge.
        options: how the mode moves, where it differs from the defaults.

    Raises `Unsupported` for exclusions and options that the mode does not have.
    """
    costing = COSTINGS[mode]
    written = dict(COSTING_DEFAULTS[mode])
    if options is not None:
        written |= write_options(costing, mode, options)
    if exclude:
        written |= _read_exclusions(mode, exclude)
    return {"costing": costing, "costing_options": {costing: written}, "mode": mode}


def _read_exclusions(mode: Mode, exclude: Collection[str]) -> dict[str, bool]:
    unknown = [name for name in exclude if name not in _EXCLUSIONS]
    if unknown:
        known = ", ".join(_EXCLUSIONS)
        raise Unsupported(
            f"exclude: {', '.join(unknown)} cannot be excluded; only {known}",
            details={"exclude": [f"{name} cannot be excluded" for name in unknown]},
        )
    if "unpaved" in exclude and COSTINGS[mode] in ("bicycle", "pedestrian"):
        raise Unsupported(
            f"exclude: unpaved is served for motor vehicles only, not for {mode}",
            details={"exclude": ["unpaved is served for motor vehicles only"]},
        )
    return {_EXCLUSIONS[name]: True for name in exclude}
