"""Who passes a node: gates, bollards, walls, stiles, and what is written on them."""

from __future__ import annotations

from typing import Final

from mapyard.routing.tagging.access import KEYS, MODES, MOTOR_MODES, State, read_access
from mapyard.routing.tagging.conditions import choose_value, is_open, split_hours

_ALL: Final = tuple(MODES)
_WHEELS: Final = (*MOTOR_MODES, "bicycle")
_CARS: Final = ("motorcar", "hgv", "bus", "taxi")
#: What is too low, narrow, weak or short for some vehicles, at a node as on a way.
LIMITS: Final = ("maxheight", "maxwidth", "maxweight", "maxlength", "maxaxleload")

#: What can be opened, and takes time.
GATES: Final = frozenset(
    (
        "gate", "lift_gate", "swing_gate", "sliding_gate", "sliding_beam", "hampshire_gate",
        "bump_gate", "rising_bollard", "border_control", "door", "horse_jump",
    )
)  # fmt: skip
#: Whom a barrier stops unless its tags say otherwise.
_STOPPED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (
            "wall", "fence", "hedge", "retaining_wall", "city_wall", "barrier_board",
            "cable_barrier", "wire_fence", "wood_fence", "handrail_fence",
        ),
        _ALL,
    ),
    **dict.fromkeys(
        (
            "ditch", "guard_rail", "jersey_barrier", "log", "tyres", "spikes", "stile", "turnstile",
            "full-height_turnstile", "horse_stile", "kissing_gate", "wicket_gate", "v_stile",
            "squeeze_stile", "step_over", "step", "hump", "tank_trap", "debris", "rope",
            "handrail", "sally_port_closed", "rubble", "earth_bank", "embankment", "boulder",
        ),
        _WHEELS,
    ),
    **dict.fromkeys(
        (
            "bollard", "block", "cycle_barrier", "motorcycle_barrier", "chain", "bar", "planter",
            "yes", "barrier", "chicane", "flower_pot", "stone", "concrete", "delineator", "cone",
        ),
        MOTOR_MODES,
    ),
    "bus_trap": ("motorcar", "taxi"),
    "sump_buster": ("motorcar", "taxi"),
}  # fmt: skip


def tag_node(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags of a node as the engine is to read them."""
    barrier = tags.get("barrier")
    states = _read_states(tags, barrier)
    stops_wheelchairs = _stops_wheelchairs(tags, barrier)
    if barrier is None and not states and not stops_wheelchairs:
        return tags
    kept = {
        key: value
        for key, value in tags.items()
        if key not in KEYS and key != "barrier" and not key.endswith(":conditional")
    }
    if barrier in ("toll_booth", "border_control"):
        kept["barrier"] = barrier
    if not states and not stops_wheelchairs:
        if barrier in GATES or (barrier == "bollard" and tags.get("bollard") == "rising"):
            kept["barrier"] = "gate"
        return kept
    stopped = {mode for mode, state in states.items() if state == "closed"}
    ends = {mode for mode, state in states.items() if state == "ends"}
    kept |= {mode: "no" if mode in stopped else "yes" for mode in MODES}
    kept["wheelchair"] = "no" if stops_wheelchairs else kept["foot"]
    if "foot" in ends:
        # To everybody but those behind it, it is closed; a rider cannot be told so otherwise.
        kept |= {"barrier": "gate", "access": "private"}
        if states.get("bicycle") == "ends":
            kept["bicycle"] = "no"
    else:
        # The engine splits a way at a bollard, and takes the tags of modes from there.
        kept.setdefault("barrier", "bollard")
        if ends & set(_CARS):
            # Through traffic by car shuns a private bollard, and walkers do not mind it.
            kept["motor_vehicle"] = "private"
    return kept


def _stops_wheelchairs(tags: dict[str, str], barrier: str | None) -> bool:
    """Return whether walkers get over, or squeeze through, and wheelchairs do not."""
    said = tags.get("wheelchair")
    if said in ("yes", "designated", "limited", "no"):
        return said == "no" and barrier is not None
    if tags.get("kerb") == "raised" and tags.get("highway") is None:
        return True
    return _STOPPED.get(barrier or "") == _WHEELS


def read_limits(tags: dict[str, str]) -> dict[str, str]:
    """Return what is too high, wide, heavy or long for a node, such as a bar over a road."""
    if "traffic_sign" in tags or tags.get("highway") == "traffic_sign":
        return {}  # it speaks of the way behind it
    return {key: tags[key] for key in LIMITS if key in tags}


def read_hours(tags: dict[str, str]) -> str | None:
    """Return when a node lets anybody pass, where it does so at certain hours."""
    hours = tags.get("opening_hours")
    return hours if "barrier" in tags and hours is not None and split_hours(hours) else None


def _read_states(tags: dict[str, str], barrier: str | None) -> dict[str, State]:
    """Return per mode what holds at the node, without modes that pass freely."""
    if barrier == "bollard" and tags.get("bollard") == "rising":
        barrier = "gate"
    if tags.get("highway") == "crossing" and barrier is None:
        return {}  # what is said there is said of those who cross
    states: dict[str, State] = dict.fromkeys(_STOPPED.get(barrier or "", ()), "closed")
    if tags.get("locked") == "yes" and barrier in GATES:
        states = dict.fromkeys(_WHEELS, "closed")
    hours = tags.get("opening_hours")
    if barrier is not None and hours is not None and not split_hours(hours) and not is_open(hours):
        states = dict.fromkeys(_ALL, "closed")
    merged = tags | _read_conditionals(tags)
    for mode in MODES:
        state, key = read_access(merged, mode)
        if state is None or (key == "access" and state == "open" and mode in states):
            continue  # `access=yes` makes a stile no wider
        if state == "open":
            states.pop(mode, None)
        else:
            states[mode] = state
    return states


def _read_conditionals(tags: dict[str, str]) -> dict[str, str]:
    chosen = {
        key.removesuffix(":conditional"): choose_value(value)
        for key, value in tags.items()
        if key.endswith(":conditional") and key.removesuffix(":conditional") in KEYS
    }
    return {key: value for key, value in chosen.items() if value is not None}
