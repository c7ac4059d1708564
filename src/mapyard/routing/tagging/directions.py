"""In which directions the modes may go: one-ways of all, of some, and against them.

The engine reads `oneway` well, and after it takes `motor_vehicle:backward=no` and its like at their
word; where the one-way leads against the way (`-1`) it swaps both directions at the very end. So
all is written as seen along the one-way.
"""

from __future__ import annotations

from typing import Final

from mapyard.routing.tagging.access import State, is_open_by_kind, read_access
from mapyard.routing.tagging.conditions import choose_value

type Directions = tuple[bool, bool]

_BOTH, _FORWARD, _BACKWARD, _NONE = (True, True), (True, False), (False, True), (False, False)
_VALUES: Final[dict[str, Directions]] = {
    "yes": _FORWARD, "true": _FORWARD, "1": _FORWARD, "forward": _FORWARD,
    "-1": _BACKWARD, "reverse": _BACKWARD, "backward": _BACKWARD,
    "no": _BOTH, "false": _BOTH, "0": _BOTH, "alternating": _BOTH, "reversible": _NONE,
}  # fmt: skip
_ROUND: Final = ("roundabout", "circular")
#: Cycle lanes that lead against the one-way.
_OPPOSITE: Final = frozenset(
    ("opposite", "opposite_lane", "opposite_track", "opposite_share_busway")
)
_LANES: Final = frozenset(("lane", "track", "shared_lane", "share_busway", "separate", "yes"))
#: Ways for walkers, whose one-way holds for riders.
FOOT_WAYS: Final = frozenset(
    ("footway", "pedestrian", "steps", "path", "corridor", "platform", "track", "bridleway")
)
_MODES: Final = {"motor": "motorcar", "bicycle": "bicycle", "foot": "foot"}

#: The keys that this module takes out.
KEYS: Final = frozenset(
    (
        "oneway", "oneway:conditional", "oneway:motor_vehicle", "oneway:motorcar", "oneway:vehicle",
        "oneway:bicycle", "oneway:foot", "conveying",
        *(
            f"{key}:{way}"
            for key in ("access", "vehicle", "motor_vehicle", "motorcar", "bicycle", "foot")
            for way in ("forward", "backward")
        ),
        *(f"cycleway:{side}:oneway" for side in ("left", "right", "both")),
    )
)  # fmt: skip


def tag_directions(
    tags: dict[str, str], states: dict[str, State], highway: str | None
) -> dict[str, str]:
    """Return the tags that say the directions to the engine, in place of those of `KEYS`.

    A mode that may go nowhere is closed in `states`.
    """
    motor, bicycle, foot = _find_motor(tags), _find_bicycle(tags), _find_foot(tags)
    motor = _restrict(tags, "motorcar", motor)
    bicycle = _restrict(tags, "bicycle", bicycle)
    foot = _restrict(tags, "foot", foot)
    for mode, directions in (("motorcar", motor), ("bicycle", bicycle), ("foot", foot)):
        if directions == _NONE:
            states[mode] = "closed"
    if motor == _NONE:
        states |= dict.fromkeys(("hgv", "moped", "motorcycle"), "closed")
        motor = _BOTH
    written: dict[str, str] = {}
    is_round = tags.get("junction") in _ROUND
    if motor == _BACKWARD:
        written["oneway"] = "-1"
        bicycle, foot = bicycle[::-1], foot[::-1]
        motor = _FORWARD
    elif motor == _FORWARD and not is_round:
        written["oneway"] = "yes"
    elif tags.get("oneway") in ("no", "alternating", "0", "false"):
        written["oneway"] = "no"
    if bicycle not in (motor, _NONE) and _is_for(states, "bicycle", highway):
        if motor == _FORWARD and bicycle == _BOTH:
            written["oneway:bicycle"] = "no"
        written |= _spell("bicycle", bicycle)
    if foot != _NONE and _is_for(states, "foot", highway):
        by_itself = motor if highway in FOOT_WAYS else _BOTH
        if foot != by_itself:
            written |= _spell("foot", foot)
    return written


def _is_for(states: dict[str, State], mode: str, highway: str | None) -> bool:
    if mode in states:
        return states[mode] != "closed"
    return is_open_by_kind(mode, highway)


def _spell(mode: str, directions: Directions) -> dict[str, str]:
    forward, backward = ("yes" if open_ else "no" for open_ in directions)
    return {f"{mode}:forward": forward, f"{mode}:backward": backward}


def _read(tags: dict[str, str], *keys: str) -> Directions | None:
    for key in keys:
        found = _VALUES.get(tags.get(key, ""))
        if found is not None:
            return found
    return None


def _find_oneway(tags: dict[str, str]) -> Directions | None:
    conditional = tags.get("oneway:conditional")
    value = None if conditional is None else choose_value(conditional)
    return _VALUES.get(value or "") or _read(tags, "oneway")


def _find_motor(tags: dict[str, str]) -> Directions:
    own = _read(tags, "oneway:motorcar", "oneway:motor_vehicle", "oneway:vehicle")
    found = own or _find_oneway(tags)
    if found is not None:
        return found
    if tags.get("junction") in _ROUND or tags.get("highway") == "motorway":
        return _FORWARD
    return _BOTH


def _find_bicycle(tags: dict[str, str]) -> Directions:
    own = _read(tags, "oneway:bicycle", "oneway:vehicle")
    if own is not None:
        return own
    found = _find_oneway(tags)
    if found is None:
        found = _FORWARD if tags.get("junction") in _ROUND else _BOTH
    against = found[::-1]
    if found not in (_FORWARD, _BACKWARD):
        return found
    values = {side: tags.get(f"cycleway{side}", "") for side in ("", ":left", ":right", ":both")}
    if _OPPOSITE & set(values.values()):
        return _BOTH
    for side in (":left", ":right", ":both"):
        lane = _VALUES.get(tags.get(f"cycleway{side}:oneway", ""))
        if values[side] in _LANES and lane in (_BOTH, against):
            return _BOTH
    return found


def _find_foot(tags: dict[str, str]) -> Directions:
    own = _read(tags, "oneway:foot")
    if own is not None:
        return own
    conveying = tags.get("conveying")
    if conveying in ("forward", "backward"):
        return _VALUES[conveying]
    if conveying == "yes":
        return _read(tags, "oneway") or _BOTH
    return _BOTH


def _restrict(tags: dict[str, str], mode: str, directions: Directions) -> Directions:
    """Close and open directions by keys such as `vehicle:backward`."""
    open_ = list(directions)
    for at, suffix in enumerate((":forward", ":backward")):
        state, _ = read_access(tags, mode, suffix)
        if state is not None:
            # What serves ends only in one direction, through traffic does not use in it.
            open_[at] = state == "open" or (state == "ends" and mode != "motorcar")
    return open_[0], open_[1]
