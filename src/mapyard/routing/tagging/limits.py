"""Speed limits in km/h, in all the ways that mappers write them.

The limits by country are facts of OpenStreetMap's wiki, page "Default speed limits" (and
"Key:source:maxspeed" for the names of zones): inside towns, outside of them, on motorways, in
living streets. They were compared with the page of April 2023 as osm-legal-default-speeds reads it
(wiki: CC BY-SA 2.0); newer laws win (RS, TR, UZ), and FI and CY have what their laws say. None is
no limit, or none that is known.
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
    "AD": (50, 90, None, 20), "AG": (32, 64, None, None), "AL": (40, 80, 110, 20),
    "AM": (60, 90, 110, 20), "AO": (60, 90, 120, None, 100), "AR": (40, 110, 130, 20),
    "AS": (24, 40, None, None), "AT": (50, 100, 130, 5, 100), "AU": (50, 100, 100, 10),
    "AW": (50, 80, None, None), "AZ": (60, 90, 110, 20), "BA": (50, 80, 130, 5, 100),
    "BE": (50, 90, 120, 20, 120), "BE-BRU": (30, 70, 120, 20), "BE-VLG": (50, 70, 120, 20, 120),
    "BE-WAL": (50, 90, 120, 20, 120), "BF": (50, 90, None, None), "BG": (50, 90, 140, 20, 120),
    "BH": (60, 100, None, None), "BI": (50, 80, None, None), "BR": (60, 60, 110, 20),
    "BS": (40, 48, None, None), "BT": (30, 50, None, None), "BW": (60, 100, None, 30),
    "BY": (60, 90, 110, 20), "CA": (50, 80, 100, None), "CD": (60, 90, 120, None),
    "CF": (60, 110, None, None), "CG": (60, 110, None, None), "CH": (50, 80, 120, 20, 100),
    "CI": (60, 110, 120, None), "CL": (50, 100, 120, None), "CM": (60, 110, None, None),
    "CN": (50, 70, 120, None), "CO": (50, 90, 120, None), "CR": (50, 60, None, None),
    "CU": (50, 90, 100, None), "CV": (50, 90, 120, None, 100), "CW": (40, 60, None, None, 80),
    "CY": (50, 80, 100, 20), "CZ": (50, 90, 130, 20, 110), "DE": (50, 100, UNLIMITED, 5),
    "DK": (50, 80, 130, 15, 80), "DO": (35, 60, None, None), "EC": (50, 100, None, None),
    "EE": (50, 90, 120, 20), "ES": (30, 90, 120, 20, 100), "FI": (50, 80, 120, 20),
    "FJ": (50, 80, None, None), "FO": (50, 80, None, 20), "FR": (50, 80, 130, 20, 110),
    "GA": (60, 110, None, None), "GB": (48, 97, 113, 16, 113), "GD": (32, 64, None, None),
    "GE": (60, 90, 110, 20), "GH": (50, 90, 100, None), "GI": (50, 50, None, None),
    "GQ": (60, 110, None, None), "GR": (50, 90, 130, 20, 110), "GY": (48, 64, None, None),
    "HR": (50, 90, 130, 5, 110), "HU": (50, 90, 130, 20, 110), "IE": (50, 80, 120, 20),
    "IL": (50, 80, 110, 30), "IM": (48, 97, None, 32), "IN": (70, 70, 120, None),
    "IS": (50, 90, None, 10), "IT": (50, 90, 130, 20, 110), "JP": (60, 60, 100, None),
    "KE": (50, 100, None, None), "KG": (60, 90, 110, None), "KH": (60, 100, None, None),
    "KI": (40, 60, None, None), "KN": (32, 64, None, None), "KR": (50, 60, 80, None, 80),
    "KZ": (60, 110, 140, 20, 110), "LI": (50, 80, None, 20), "LR": (40, 72, None, None),
    "LS": (60, 100, 120, None), "LT": (50, 90, 130, 20, 120), "LU": (50, 90, 130, 20),
    "LV": (50, 90, 130, 20, 110), "MC": (50, 50, None, 20), "MD": (50, 90, 110, 20, 110),
    "ME": (50, 80, 130, 10), "MH": (40, 64, None, None), "MK": (50, 90, 130, 10, 110),
    "MM": (48, 80, None, None), "MN": (60, 80, None, 20), "MS": (32, 64, None, None),
    "MT": (50, 80, None, 10), "MW": (50, 80, None, None), "MX": (50, 100, 110, None),
    "MZ": (60, 120, None, None), "NA": (60, 100, 120, None), "NG": (50, 80, 100, None),
    "NI": (45, 60, None, None), "NL": (50, 80, 130, 15, 100), "NO": (50, 80, 110, 5),
    "NP": (40, 80, None, None), "NZ": (50, 100, 100, 10), "PA": (40, 100, 120, None),
    "PE": (40, 60, None, None), "PG": (60, 100, None, None), "PK": (55, 70, 130, None),
    "PL": (50, 90, 140, 20, 100), "PR": (40, 72, 105, None), "PS": (50, 80, 110, None),
    "PT": (50, 90, 120, 20, 100), "PY": (50, 110, None, None), "RO": (50, 90, 130, 20, 100),
    "RS": (50, 80, 130, 10, 100), "RU": (60, 90, 110, 20), "RW": (40, 80, None, None),
    "SA": (50, 120, None, None), "SE": (50, 70, 110, 5), "SG": (50, 70, 90, 40),
    "SI": (50, 90, 130, 10, 110), "SK": (50, 90, 130, 20, 130), "SM": (50, 70, None, 20),
    "SV": (50, 90, None, None), "TD": (60, 110, None, None), "TH": (80, 90, 120, None),
    "TL": (50, 90, 120, None, 100), "TN": (50, 90, 110, None), "TR": (50, 90, 130, 20, 110),
    "TT": (50, 80, None, None), "TW": (50, 60, 90, None), "TZ": (50, 110, None, None),
    "UA": (50, 90, 130, 20, 110), "UG": (50, 80, None, None), "UY": (45, 90, None, None),
    "UZ": (60, 100, 100, 30), "VA": (30, 30, None, None), "VE": (40, 70, 90, None),
    "VI": (32, 56, None, None), "WS": (40, 56, None, None), "XK": (50, 80, 130, 10, 110),
    "ZA": (60, 100, 120, None), "ZM": (40, 100, None, None),
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
        country = (zone[1] or "").upper().partition("-")[0]
        return speed * KMH_PER_MILE if country in ("GB", "US") else speed
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
