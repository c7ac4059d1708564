"""Turn restrictions, as the engine is to read them."""

from __future__ import annotations

from typing import Final

from mapyard.routing.tagging.conditions import is_about_time, split_conditional

type Member = tuple[str, int, str]

_VEHICLES: Final = ("motorcar", "hgv", "bus", "motorcycle", "taxi", "emergency")
_KNOWN: Final = frozenset((*_VEHICLES, "bicycle", "foot", "hazmat"))
#: Groups of vehicles, and whom of the others they leave out.
_GROUPS: Final = {"motor_vehicle": ("bicycle",), "vehicle": (), "motorcar": None}


def tag_turn(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags of a restriction as the engine is to read them, the same where they are."""
    changed = dict(tags)
    for group in ("motor_vehicle", "vehicle"):
        for suffix in ("", ":conditional"):
            value = changed.pop(f"restriction:{group}{suffix}", None)
            if value is not None and f"restriction{suffix}" not in changed:
                changed[f"restriction{suffix}"] = value
                for mode in _GROUPS[group] or ():
                    _except(changed, mode)
    for mode in sorted(_KNOWN):
        if changed.get(f"restriction:{mode}") in ("none", "no"):
            del changed[f"restriction:{mode}"]
            _except(changed, "motorcar" if mode == "motorcar" else mode)
        value = changed.pop(f"restriction:{mode}:conditional", None)
        if value is not None and not any(key.startswith("restriction") for key in changed):
            # The engine knows conditions for all, and exceptions from them.
            changed["restriction:conditional"] = value
            for other in (*_VEHICLES, "bicycle"):
                if other != mode:
                    _except(changed, other)
    conditional = changed.get("restriction:conditional")
    if conditional is not None:
        timed = [
            f"{value} @ ({condition})"
            for value, condition in split_conditional(conditional)
            if is_about_time(condition)
        ]
        if timed:
            changed["restriction:conditional"] = timed[0]
        else:
            del changed["restriction:conditional"]
    return tags if changed == tags else changed


def _except(tags: dict[str, str], mode: str) -> None:
    given = [name for name in tags.get("except", "").split(";") if name]
    if mode not in given:
        tags["except"] = ";".join([*given, mode])


def split_members(members: list[Member]) -> list[list[Member]]:
    """Return the restriction with one start and one end each: `no_entry` has several starts."""
    starts = [member for member in members if member[2] == "from"]
    ends = [member for member in members if member[2] == "to"]
    rest = [member for member in members if member[2] not in ("from", "to")]
    return [[start, *rest, end] for start in starts for end in ends]
