"""When a way is travelled: rules of hours are applied to the local time of each place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

from mapyard.errors import InvalidRequest
from mapyard.routing.zones import open_zones


@dataclass(frozen=True, slots=True)
class Travel:
    """A local time, of the departure or of the arrival."""

    at: datetime
    what: Literal["depart_at", "arrive_by"] = "depart_at"

    def write(self) -> dict[str, Any]:
        """Return the engine's member of a request."""
        kind = 1 if self.what == "depart_at" else 2
        return {"date_time": {"type": kind, "value": self.at.strftime("%Y-%m-%dT%H:%M")}}


def read_travel(
    depart_at: str | None,
    arrive_by: str | None,
    start: tuple[float, float] | None = None,
    end: tuple[float, float] | None = None,
) -> Travel | None:
    """Return the time that is asked for; raise InvalidRequest for texts that are none.

    A time with an offset, or with Z, becomes the local one of where it is meant: of `start`, or of
    `end` for an arrival; lon and lat. Without them, it is refused.
    """
    if depart_at is not None and arrive_by is not None:
        raise InvalidRequest.of("arrive_by", "depart_at and arrive_by exclude each other")
    for name, text in (("depart_at", depart_at), ("arrive_by", arrive_by)):
        if text is None:
            continue
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise InvalidRequest.of(
                name, f"{text[:40]!r} is not a time; write it as 2026-06-17T08:30"
            ) from None
        if not 1970 <= at.year < 2100:
            raise InvalidRequest.of(name, "is out of range")
        if at.tzinfo is not None:
            place = start if name == "depart_at" or end is None else end
            if place is None:
                raise InvalidRequest.of(name, "takes the local time: leave the offset (or Z) out")
            at = at.astimezone(find_zone(*place)).replace(tzinfo=None)
        return Travel(at, "depart_at" if name == "depart_at" else "arrive_by")
    return None


def find_zone(lon: float, lat: float) -> tzinfo:
    """Return the time zone of a place; at sea that of the meridian."""
    return ZoneInfo(open_zones().find(lon, lat) or "UTC")
