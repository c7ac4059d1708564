"""How fast cars go: limits as numbers, and what tracks, bad roads and humps allow."""

from __future__ import annotations

import re
from typing import Final

from mapyard.routing.tagging.conditions import choose_value
from mapyard.routing.tagging.limits import (
    SOURCES,
    UNLIMITED,
    WALKING_KMH,
    find_limit,
    read_limit,
)

#: Below this the engine takes no number.
_LEAST_KMH: Final = 10.0
_TRACKS_KMH: Final = {"grade1": 25.0, "grade2": 20.0, "grade3": 15.0, "grade4": 10.0, "grade5": 5.0}
_DIRECTED: Final[tuple[str, ...]] = ("maxspeed:forward", "maxspeed:backward")
_TRACK_KMH: Final = 15.0
_PAVED: Final = frozenset(("asphalt", "paved", "concrete", "chipseal", "paving_stones"))
SURFACES_KMH: Final = {
    "cobblestone": 30.0, "unhewn_cobblestone": 20.0, "sett": 40.0, "cobblestone:flattened": 40.0,
    "sand": 20.0, "mud": 10.0, "rock": 10.0, "grass": 15.0, "ice": 20.0, "snow": 20.0,
    "pebblestone": 25.0, "grass_paver": 20.0,
}  # fmt: skip
_SMOOTHNESS_KMH: Final = {
    "bad": 40.0, "very_bad": 20.0, "horrible": 10.0, "very_horrible": 5.0,
}  # fmt: skip
_CALMING: Final = frozenset(
    ("yes", "hump", "bump", "table", "cushion", "chicane", "choker", "mini_bumps", "dip", "island")
)
_CALMED_KMH: Final = 30.0
#: Ways on which a car goes at the pace of those who walk there.
_WALKED: Final = frozenset(("pedestrian", "footway", "path"))

#: The keys that this module reads or writes.
KEYS: Final = frozenset(
    (
        *SOURCES, "maxspeed:motorcar", "maxspeed:motor_vehicle", "maxspeed:lanes",
        "maxspeed:forward", "maxspeed:backward", "maxspeed:conditional", "maxspeed:advisory",
        "maxspeed:practical", "maxspeed:hgv", "tracktype", "smoothness", "traffic_calming",
    )
)  # fmt: skip


def tag_speeds(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags of speed that the engine is to read, in place of those of `KEYS`."""
    written: dict[str, str] = {key: tags[key] for key in ("tracktype", "smoothness") if key in tags}
    limit = _read_now(tags, find_limit(tags))
    directed = {key: read_limit(tags[key]) for key in _DIRECTED if key in tags}
    if any(value is not None for value in directed.values()):
        for key in _DIRECTED:
            one = directed.get(key)
            one = limit if one is None else one
            if one is not None and one != UNLIMITED:
                written[key] = str(round(max(one, _LEAST_KMH)))
    if limit == UNLIMITED:
        written["maxspeed"] = "none"
    elif limit is not None:
        written["maxspeed"] = _spell(limit)
    for key in ("maxspeed:advisory", "maxspeed:practical", "maxspeed:hgv"):
        if key in tags:
            speed = read_limit(tags[key])
            if speed is not None and _LEAST_KMH <= speed < UNLIMITED:
                written[key] = str(round(speed))
    pace = None if "maxspeed:practical" in written else find_pace(tags, limit)
    if pace is not None:
        if pace < _LEAST_KMH:
            written["maxspeed"] = "walk"
            written.pop("maxspeed:advisory", None)
        else:
            written["maxspeed:practical"] = str(round(pace))
    return written


def _spell(limit: float) -> str:
    return "walk" if limit < (_LEAST_KMH + WALKING_KMH) / 2 else str(round(max(limit, _LEAST_KMH)))


def _read_now(tags: dict[str, str], limit: float | None) -> float | None:
    """Return the limit at the assumed time."""
    conditional = tags.get("maxspeed:conditional")
    value = None if conditional is None else choose_value(conditional)
    now = None if value is None else read_limit(value)
    return limit if now is None else now


def find_pace(tags: dict[str, str], limit: float | None = None) -> float | None:
    """Return how fast a car goes where that is less than the limit, or than roads like it allow."""
    highway = tags.get("highway")
    caps: list[float] = []
    if highway == "track":
        caps.append(_find_track_pace(tags))
    elif (highway == "living_street" and limit is None) or highway in _WALKED:
        caps.append(WALKING_KMH)
    surface = tags.get("surface", "")
    if surface in SURFACES_KMH:
        caps.append(SURFACES_KMH[surface])
    smoothness = tags.get("smoothness", "")
    if smoothness in _SMOOTHNESS_KMH:
        caps.append(_SMOOTHNESS_KMH[smoothness])
    calming = tags.get("traffic_calming")
    if calming is not None and _CALMING & set(re.split(r"[;,]\s*", calming)):
        caps.append(_CALMED_KMH)
    if not caps:
        return None
    pace = min(caps)
    return None if limit is not None and limit <= pace else pace


def _find_track_pace(tags: dict[str, str]) -> float:
    grade = _TRACKS_KMH.get(tags.get("tracktype", ""))
    if grade is not None:
        return grade
    return _TRACKS_KMH["grade1"] if tags.get("surface") in _PAVED else _TRACK_KMH
