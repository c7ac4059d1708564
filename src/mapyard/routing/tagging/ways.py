"""The tags of a way as the engine is to read them."""

from __future__ import annotations

from typing import Final

from mapyard.routing.tagging import access, directions, speeds
from mapyard.routing.tagging.access import State, is_open_by_kind, read_access, read_states
from mapyard.routing.tagging.areas import WALKED
from mapyard.routing.tagging.conditions import is_about_time, split_conditional, split_hours
from mapyard.routing.tagging.durations import tag_duration

#: Keys that make a way one to travel on.
ROAD_KEYS: Final = ("highway", "route", "railway", "public_transport", "man_made")
#: Kinds of ways of which most need no change.
_PLAIN: Final = frozenset(
    road + link
    for road in ("motorway", "trunk", "primary", "secondary", "tertiary")
    for link in ("", "_link")
    if road + link != "motorway"
) | {"residential", "unclassified", "service", "footway", "path", "cycleway", "steps", "road"}
_READ: Final = (
    access.KEYS
    | directions.KEYS
    | speeds.KEYS
    | {"motorroad", "service", "surface", "area", "emergency", "opening_hours"}
)
#: What the engine reads as it is meant, on plain ways.
_CLEAR: Final = {
    "maxspeed": frozenset(str(speed) for speed in range(10, 131)),
    "oneway": frozenset(("no",)),
    "foot": frozenset(("yes", "designated", "no")),
    "bicycle": frozenset(("yes", "designated", "no")),
    "service": frozenset(("parking_aisle", "spur", "siding", "yard")),
    "smoothness": frozenset(("excellent", "good", "intermediate")),
}
#: What the engine takes for worse than it is: to it, all gravel is coarse.
_SURFACES: Final = {"fine_gravel": "compacted"}
#: Ways along which people walk though nothing calls them a way, but as walls and such.
_PLATFORMS: Final = (
    ("railway", "platform"),
    ("public_transport", "platform"),
    ("man_made", "pier"),
)
_SERVICES_KMH: Final = {"parking_aisle": "15", "driveway": "10", "drive-through": "10"}


def tag_way(tags: dict[str, str]) -> dict[str, str] | None:
    """Return the tags, the same object where nothing changes; None for what nobody travels on."""
    highway = tags.get("highway")
    if highway is None:
        if tags.get("route") in ("ferry", "shuttle_train"):
            return _rewrite(tags, None) | tag_duration(tags)
        if any(tags.get(key) == value for key, value in _PLATFORMS):
            return _rewrite({**tags, "highway": "footway"}, "footway")
        return None
    if highway in _PLAIN and all(_says_enough(highway, *tag) for tag in tags.items()):
        return tags
    if highway == "platform":
        return _rewrite({**tags, "highway": "footway"}, "footway")
    return _rewrite(tags, highway)


def _says_enough(highway: str, key: str, value: str) -> bool:
    """Return whether the engine reads a tag of a plain way as it is meant."""
    if key in _READ:
        return value in _CLEAR.get(key, ()) or (
            (key == "surface" and value not in speeds.SURFACES_KMH and value not in _SURFACES)
            or (key == "oneway" and value == "yes" and highway not in directions.FOOT_WAYS)
        )
    return not key.endswith(":conditional")


def _rewrite(tags: dict[str, str], highway: str | None) -> dict[str, str]:
    states = read_states(tags, highway)
    timed = _read_timed(tags, states, highway)
    written = tag_directions_and_access(tags, states, highway)
    kept = {
        key: value
        for key, value in tags.items()
        if key not in access.KEYS
        and key not in directions.KEYS
        and key not in speeds.KEYS
        and not key.endswith(":conditional")
    }
    kept |= written | speeds.tag_speeds(tags) | timed
    if highway == "steps":
        kept.setdefault("wheelchair", "no")  # else opening it to walkers opens it to all of them
    if highway in WALKED:
        kept.pop("area", None)  # its rim is a way, and `areas` draws lines across it
    if kept.get("surface") in _SURFACES:
        kept["surface"] = _SURFACES[kept["surface"]]
    service = tags.get("service")
    if states.get("foot") == "ends" and highway is not None:
        _make_alley(kept, highway, service)
    elif service == "alley":
        del kept["service"]
    elif service == "driveway":
        kept["access"] = "yes"  # else the engine opens driveways to all, whatever is said of modes
    elif service == "emergency_access":
        del kept["service"]
    return kept


def tag_directions_and_access(
    tags: dict[str, str], states: dict[str, State], highway: str | None
) -> dict[str, str]:
    """Return the tags of who may go in which direction."""
    written = directions.tag_directions(tags, states, highway)
    return written | access.write_states(states)


def _make_alley(kept: dict[str, str], highway: str, service: str | None) -> None:
    """Make a way an alley: in the engine's words, one that through traffic shuns."""
    kept["service"] = "alley"
    if service in _SERVICES_KMH:
        kept.setdefault("maxspeed:practical", _SERVICES_KMH[service])
    if highway in (
        "track",
        "footway",
        "path",
        "cycleway",
        "pedestrian",
        "living_street",
        "bridleway",
    ):
        # Only roads can be alleys, so it becomes one, for whom it was.
        for mode in access.MODES:
            if mode not in kept and not is_open_by_kind(mode, highway):
                kept[mode] = "no"
        kept["highway"] = "service"
        if highway in ("track", "path", "bridleway"):
            kept.setdefault("surface", "dirt")


#: How the engine names who a timed rule is for.
_TIMED: Final = {
    "access": ("access",),
    "vehicle": ("motor_vehicle", "bicycle"),
    "motor_vehicle": ("motor_vehicle",),
    "motorcar": ("motorcar",),
    "bicycle": ("bicycle",),
    "foot": ("foot",),
    "hgv": ("hgv",),
    "bus": ("bus",),
    "psv": ("psv",),
    "taxi": ("taxi",),
    "motorcycle": ("motorcycle",),
    "moped": ("moped",),
}
#: What is closed but at opening hours.
_WHEN_OPEN: Final = ("motor_vehicle", "bicycle", "foot")
_MODES_OF: Final = {
    key: tuple(mode for mode, keys in access.MODES.items() if key in keys) for key in _TIMED
}


def _read_timed(
    tags: dict[str, str], states: dict[str, State], highway: str | None
) -> dict[str, str]:
    """Return the rules that hold at certain hours, which the engine applies to the time asked for.

    Where a way is closed but at these hours, `states` opens it, and the rule closes the others.
    """
    timed: dict[str, str] = {}
    open_at = split_hours(tags["opening_hours"]) if "opening_hours" in tags else []
    if open_at:
        for name in _WHEN_OPEN:
            _add_clause(timed, name, "yes", ";".join(open_at))
    if not any(key.endswith(":conditional") for key in tags):
        return timed
    for key, names in _TIMED.items():
        for value, condition in split_conditional(tags.get(f"{key}:conditional", "")):
            state = access.read_value(value)
            if state is None or not is_about_time(condition):
                continue
            modes = [mode for mode in _MODES_OF[key] if _decides(tags, mode, key)]
            closed = [mode for mode in modes if states.get(mode) == "closed"]
            if state == "open" and closed:
                states |= dict.fromkeys(closed, "open")
                word = "yes"
            elif state == "closed":
                word = "no"
            elif state == "ends" and not closed:
                word = "destination"
            else:
                continue
            for name in names:
                if key != "access" or len(modes) == len(_MODES_OF[key]):
                    _add_clause(timed, name, word, condition)
                    continue
                for mode in modes:
                    _add_clause(timed, mode, word, condition)
    return timed


def _add_clause(timed: dict[str, str], name: str, word: str, condition: str) -> None:
    """Add a rule; the engine reads one word per key only, with several conditions."""
    before = timed.get(f"{name}:conditional", "")
    if before.startswith(f"{word} @ ("):
        condition = f"{before.removeprefix(f'{word} @ (').removesuffix(')')};{condition}"
    timed[f"{name}:conditional"] = f"{word} @ ({condition})"


def _decides(tags: dict[str, str], mode: str, key: str) -> bool:
    """Return whether a key is what decides for a mode: nothing more special is tagged."""
    found, by = read_access(tags, mode)
    keys = access.MODES[mode]
    return found is None or by is None or keys.index(by) >= keys.index(key)
