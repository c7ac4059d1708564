"""Speed limits in km/h, in all the ways that mappers write them.

The limits by country are facts of OpenStreetMap's wiki, page "Default speed limits" (and
"Key:source:maxspeed" for the names of zones), as of 2026: inside towns, outside of them, on
motorways, in living streets. None is no limit, or none that is known.
"""

from __future__ import annotations

import re
from typing import Final

KMH_PER_MILE: Final = 1.609344
KMH_PER_KNOT: Final = 1.852
WALKING_KMH: Final = 5.0
#: No limit at all.
UNLIMITED: Final = float("inf")

_NUMBER: Final = re.compile(r"(\d+(?:[.,]\d+)?)\s*(km/?h|kph|kmph|mph|mi/h|knots?|kn|kt)?", re.I)
_ZONE: Final = re.compile(r"(?:([A-Za-z]{2}(?:-[A-Za-z0-9]{1,3})?):)?(?:zone:?)?(\d+)", re.I)
_NAMED: Final = re.compile(r"(?:([A-Za-z]{2}(?:-[A-Za-z0-9]{1,3})?):)?([a-z_]+)", re.I)

#: urban, rural, motorway, living street, and where it differs: trunk.
_BY_COUNTRY: Final[dict[str, tuple[float | None, ...]]] = {
    "AD": (50, 90, None, 20), "AL": (40, 80, 110, 20), "AM": (60, 90, 110, 20),
    "AR": (40, 110, 130, 20), "AT": (50, 100, 130, 5), "AU": (50, 100, 100, 10),
    "AZ": (60, 90, 110, 20), "BA": (50, 80, 130, 10), "BE": (50, 90, 120, 20, 120),
    "BE-BRU": (30, 70, 120, 20), "BE-VLG": (50, 70, 120, 20, 120),
    "BE-WAL": (50, 90, 120, 20, 120), "BG": (50, 90, 140, 20, 120), "BR": (60, 60, 110, 20),
    "BY": (60, 90, 110, 20), "CA": (50, 80, 100, None), "CH": (50, 80, 120, 20, 100),
    "CL": (50, 100, 120, None), "CN": (40, 70, 120, None), "CY": (50, 80, 100, 20),
    "CZ": (50, 90, 130, 20, 110), "DE": (50, 100, UNLIMITED, 5), "DK": (50, 80, 130, 15),
    "EE": (50, 90, 120, 20), "ES": (50, 90, 120, 20, 100), "FI": (50, 80, 120, 20),
    "FO": (50, 80, None, 20), "FR": (50, 80, 130, 20, 110), "GB": (48, 97, 113, 16, 113),
    "GE": (60, 90, 110, 20), "GI": (50, 50, None, None), "GR": (50, 90, 130, 20, 110),
    "HR": (50, 90, 130, 5, 110), "HU": (50, 90, 130, 20, 110), "IE": (50, 80, 120, 20),
    "IL": (50, 80, 110, 30), "IN": (70, 70, 120, None), "IS": (50, 90, None, 15),
    "IT": (50, 90, 130, 20, 110), "JP": (60, 60, 100, None), "KZ": (60, 100, 140, 20, 110),
    "LI": (50, 80, None, 20), "LT": (50, 90, 130, 20, 120), "LU": (50, 90, 130, 20),
    "LV": (50, 90, 130, 20), "MC": (50, 50, None, 20), "MD": (50, 90, 110, 20),
    "ME": (50, 80, 130, 10), "MK": (50, 80, 130, 10), "MT": (50, 80, None, 10),
    "MX": (50, 80, 110, None), "NL": (50, 80, 130, 15, 100), "NO": (50, 80, 110, 5),
    "NZ": (50, 100, 100, 10), "PL": (50, 90, 140, 20, 100), "PT": (50, 90, 120, 20, 100),
    "RO": (50, 90, 130, 20, 100), "RS": (50, 80, 130, 10, 100), "RU": (60, 90, 110, 20),
    "SE": (50, 70, 110, 5), "SG": (50, 70, 90, 40), "SI": (50, 90, 130, 10, 110),
    "SK": (50, 90, 130, 20), "SM": (50, 70, None, 20), "TH": (80, 90, 120, None),
    "TR": (50, 90, 130, 20, 110), "TW": (50, 60, 90, None), "UA": (50, 90, 130, 20, 110),
    "UZ": (60, 100, 100, 30), "VA": (30, 30, None, None), "XK": (50, 80, 130, 10),
    "ZA": (60, 100, 120, None),
}  # fmt: skip
_PLACES: Final = {
    "urban": 0, "rural": 1, "motorway": 2, "living_street": 3, "trunk": 4, "expressway": 4,
    "nsl_restricted": 0, "nsl_single": 1, "nsl_dual": 4,
}  # fmt: skip
#: Names that mean the same nearly everywhere.
_NAMES: Final = {
    "walk": WALKING_KMH, "none": UNLIMITED, "unlimited": UNLIMITED, "bicycle_road": 30.0,
    "cyclestreet": 30.0, "pedestrian_zone": WALKING_KMH, "pedestrian": WALKING_KMH,
    "footway": WALKING_KMH, "zone": 30.0,
}  # fmt: skip
_NO_COUNTRY: Final = (50.0, None, None, WALKING_KMH)

#: What may hold a limit, the most certain one first.
SOURCES: Final = (
    "maxspeed", "maxspeed:type", "source:maxspeed", "zone:maxspeed", "maxspeed:source",
    "maxspeed:zone", "zone:traffic", "traffic_zone",
)  # fmt: skip


def read_limit(value: str) -> float | None:
    """Return the limit that a value says, the lowest of several; None where it says none."""
    parts = [_read_one(part.strip()) for part in re.split(r"[;|]", value)]
    known = [part for part in parts if part is not None]
    return min(known) if known else None


def _read_one(text: str) -> float | None:
    number = _NUMBER.fullmatch(text)
    if number:
        speed = float(number[1].replace(",", "."))
        unit = (number[2] or "").lower()
        if unit in ("mph", "mi/h"):
            return speed * KMH_PER_MILE
        return speed * KMH_PER_KNOT if unit in ("knot", "knots", "kn", "kt") else speed
    if text.lower() in _NAMES:
        return _NAMES[text.lower()]
    zone = _ZONE.fullmatch(text)
    if zone:
        speed = float(zone[2])
        return speed * KMH_PER_MILE if (zone[1] or "").upper() in ("GB", "US") else speed
    named = _NAMED.fullmatch(text)
    return None if named is None else find_default(named[1], named[2].lower())


def find_default(country: str | None, name: str) -> float | None:
    """Return the limit of a named kind of road ("urban", "rural", …) in a country."""
    name = re.sub(r"\d+$", "", name)
    if name in _NAMES:
        return _NAMES[name]
    place = _PLACES.get(name)
    if place is None:
        return None
    code = (country or "").upper()
    limits = _BY_COUNTRY.get(code) or _BY_COUNTRY.get(code.partition("-")[0], _NO_COUNTRY)
    if place >= len(limits):  # a trunk road is like any other there
        place = 1
    return limits[place]


def find_limit(tags: dict[str, str]) -> float | None:
    """Return the limit of a way, both directions alike."""
    for key in ("maxspeed:motorcar", "maxspeed:motor_vehicle", *SOURCES):
        value = tags.get(key)
        limit = None if value is None else read_limit(value)
        if limit is not None and (key in ("maxspeed", "maxspeed:motorcar") or limit != 0):
            return limit
    lanes = tags.get("maxspeed:lanes")
    if lanes is not None:
        known = [limit for limit in map(_read_one, lanes.split("|")) if limit is not None]
        return max(known, default=None)
    return None
