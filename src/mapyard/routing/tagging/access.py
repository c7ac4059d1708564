"""Who may use a way: the hierarchy access → vehicle → motor_vehicle → …, per mode.

`motor_vehicle=destination` says nothing of riders and walkers; `access=no` with `bicycle=yes` lets
riders in and nobody else. The engine has one mark for roads that serve their ends only, for all
modes. So it is kept for cars, and roads whose ends only walkers may go to become alleys, which no
mode but walkers and riders shuns (`modes.COSTING_DEFAULTS`).
"""

from __future__ import annotations

from typing import Final, Literal

#: None: nothing is said, and the kind of road and its country decide.
State = Literal["open", "ends", "closed"]

#: The keys that speak of a mode, the most special one first.
MODES: Final = {
    "foot": ("foot", "access"),
    "bicycle": ("bicycle", "vehicle", "access"),
    "motorcar": ("motorcar", "motor_vehicle", "vehicle", "access"),
    "hgv": ("hgv", "goods", "motor_vehicle", "vehicle", "access"),
    "bus": ("bus", "psv", "motor_vehicle", "vehicle", "access"),
    "taxi": ("taxi", "psv", "motor_vehicle", "vehicle", "access"),
    "moped": ("moped", "mofa", "motor_vehicle", "vehicle", "access"),
    "motorcycle": ("motorcycle", "motor_vehicle", "vehicle", "access"),
}
KEYS: Final = frozenset(key for keys in MODES.values() for key in keys)
MOTOR_MODES: Final = ("motorcar", "hgv", "bus", "taxi", "moped", "motorcycle")
#: How the engine spells that a mode may go to the ends of a road.
_ENDS: Final = {"bus": "destination", "taxi": "destination"}

_STATES: Final[dict[str, State]] = {
    **dict.fromkeys(
        (
            "yes", "designated", "permissive", "official", "public", "allowed", "dismount", "1",
            "restricted", "discouraged", "unsuitable", "lane", "track", "shared", "shared_lane",
            "local", "sidewalk", "passable", "unknown", "variable",
        ),
        "open",
    ),
    **dict.fromkeys(
        (
            "private", "destination", "customers", "delivery", "residents", "permit", "visitors",
            "employees", "members", "tenants", "students", "guests", "permission", "owner",
        ),
        "ends",
    ),
    **dict.fromkeys(
        (
            "no", "none", "agricultural", "forestry", "military", "emergency", "use_sidepath",
            "separate", "hov", "psv", "bus", "taxi", "closed", "disabled", "government", "foresty",
            "official_only", "service", "staff",
        ),
        "closed",
    ),
}  # fmt: skip

_ROADS: Final = frozenset(
    road + link
    for road in ("trunk", "primary", "secondary", "tertiary", "residential")
    for link in ("", "_link")
) | {"unclassified", "service", "road", "living_street", "track"}
#: Ways on which motor vehicles, walkers, riders go unless something is said.
OPEN_TO: Final = {
    "motor": _ROADS | {"motorway", "motorway_link"},
    "foot": _ROADS
    | {"footway", "path", "pedestrian", "steps", "bridleway", "corridor", "elevator", "platform"},
    "bicycle": _ROADS | {"cycleway", "path"},
}


def read_value(value: str) -> State | None:
    """Return what a value of an access key says; of several, the kindest; None for unknown ones."""
    if value in _STATES:
        return _STATES[value]
    states = {_STATES.get(part.strip().lower()) for part in value.replace(",", ";").split(";")}
    for state in ("open", "ends", "closed"):
        if state in states:
            return state
    return None


def read_access(
    tags: dict[str, str], mode: str, suffix: str = "", *, skip: frozenset[str] = frozenset()
) -> tuple[State | None, str | None]:
    """Return what tags say of a mode, and the key that says it.

    With a `suffix` such as ":forward", only the keys that end so are asked.
    """
    for key in MODES[mode]:
        value = tags.get(key + suffix)
        if value is not None and key not in skip:
            if key == "access" and value in ("psv", "bus", "taxi") and mode in (value, *_PSV):
                return "open", key
            state = read_value(value)
            if state is not None:
                return state, key
    return None, None


_PSV: Final = ("bus", "taxi")


def is_open_by_kind(mode: str, highway: str | None) -> bool:
    """Return whether a kind of way is for a mode, as long as nothing is said."""
    kinds = OPEN_TO["motor" if mode in MOTOR_MODES else mode]
    return highway in kinds or highway is None


def read_states(tags: dict[str, str], highway: str | None) -> dict[str, State]:
    """Return what is said of each mode, without those of which nothing is."""
    states: dict[str, State] = {}
    for mode in MODES:
        state, key = read_access(tags, mode)
        # `access=yes` on a footway opens it to walkers, not to cars.
        if state is None or (
            key == "access"
            and (state == "open" or (state == "ends" and not is_open_by_kind(mode, highway)))
        ):
            continue
        states[mode] = state
    if tags.get("motorroad") == "yes":
        for mode, own in (("foot", "foot"), ("bicycle", "bicycle"), ("moped", "moped")):
            if own not in tags:
                states[mode] = "closed"
    if tags.get("service") == "emergency_access" and tags.get("emergency") != "no":
        for mode in (*MOTOR_MODES, "bicycle"):
            states.setdefault(mode, "closed")
    return states


def write_states(states: dict[str, State]) -> dict[str, str]:
    """Return the tags that say so to the engine."""
    spelled = {"open": "yes", "closed": "no"}
    written = {
        mode: spelled.get(state) or _ENDS.get(mode, "private") for mode, state in states.items()
    }
    # Walkers and riders are kept from through traffic by other means.
    for mode in ("foot", "bicycle"):
        if states.get(mode) == "ends":
            written[mode] = "yes"
    if states.get("bicycle") == "ends" and states.get("foot") != "ends":
        # Where walkers go freely, riders may push their bicycles through.
        written["bicycle"] = "dismount"
    return written
