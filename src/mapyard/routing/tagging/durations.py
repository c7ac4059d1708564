"""How long a ferry takes: `20`, `0:20`, `00:20:00`, `PT20M`, `P1DT2H`, `20 min`."""

from __future__ import annotations

import re
from typing import Final

_CLOCK: Final = re.compile(r"(\d+):(\d{1,2})(?::(\d{1,2}))?")
_MINUTES: Final = re.compile(r"(\d+)\s*(?:min|minutes|mins|m)?")
_PERIOD: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE)


def read_duration_s(text: str) -> int | None:
    """Return seconds; None for what is no duration, or none at all."""
    text = text.strip()
    if match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds or None
    if match := _MINUTES.fullmatch(text):
        return int(match[1]) * 60 or None
    if match := _PERIOD.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds or None
    return None


def tag_duration(tags: dict[str, str]) -> dict[str, str]:
    """Return the duration as the engine reads it, which is by the clock only."""
    duration_s = read_duration_s(tags["duration"]) if "duration" in tags else None
    if duration_s is None:
        return {}
    minutes, seconds = divmod(duration_s, 60)
    return {"duration": f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"}
