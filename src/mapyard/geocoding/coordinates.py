"""Positions written in a query: decimal degrees, degrees with minutes and seconds, plus codes.

Plus codes follow the Open Location Code specification,
https://github.com/google/open-location-code/blob/main/Documentation/Specification/specification.md
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: Longer texts are no position; it also bounds the work of the patterns.
MAX_LETTERS: Final = 150
_DIGITS = re.compile(r"\d")
_DECIMAL = re.compile(r"^\s*\(?\s*([+-]?\d{1,3}\.\d+)\s*[,;\s]\s*([+-]?\d{1,3}\.\d+)\s*\)?\s*$")
_WHOLE = re.compile(r"^\s*([+-]?\d{1,3}(?:\.\d+)?)\s*[,;]\s*([+-]?\d{1,3}(?:\.\d+)?)\s*$")
_GEO = re.compile(r"^\s*geo:([+-]?\d{1,3}(?:\.\d+)?),([+-]?\d{1,3}(?:\.\d+)?)", re.IGNORECASE)
_TRAILING = re.compile(
    r"^(?P<text>.*?[^\W\d].*?)[,;\s]+(?P<lat>[+-]?\d{1,3}\.\d+)\s*[,;\s]\s*(?P<lon>[+-]?\d{1,3}\.\d+)\s*$"
)
_ANGLE: Final = (
    r"(?P<d{0}>\d{{1,3}}(?:[.,]\d+)?)\s*(?:°|º|deg)?\s*"
    r"(?:(?P<m{0}>\d{{1,2}}(?:[.,]\d+)?)\s*(?:'|′|’|min)\s*)?"
    r"(?:(?P<s{0}>\d{{1,2}}(?:[.,]\d+)?)\s*(?:\"|″|”|''|sec)\s*)?"
)
_BEFORE = re.compile(
    rf"^\s*(?P<l0>[NSEWO])\s*{_ANGLE.format(0)}[,;\s]*(?P<l1>[NSEWO])\s*{_ANGLE.format(1)}\s*$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"^\s*{_ANGLE.format(0)}\s*(?P<l0>[NSEWO])[,;\s]*{_ANGLE.format(1)}\s*(?P<l1>[NSEWO])\s*$",
    re.IGNORECASE,
)
_ALPHABET: Final = "23456789CFGHJMPQRVWX"
_PLUS_CODE = re.compile(
    rf"^\s*(?P<code>[{_ALPHABET}]{{2,8}}0*\+[{_ALPHABET}]{{0,7}})(?:[,\s]+(?P<rest>\S.*))?$",
    re.IGNORECASE,
)


class Coordinates(NamedTuple):
    """A position in degrees, and what else was in the text."""

    lon: float
    lat: float
    rest: str = ""


class PlusCode(NamedTuple):
    """A plus code, short when it needs a place as reference, and what else was in the text."""

    code: str
    is_short: bool
    rest: str


def find_coordinates(text: str) -> Coordinates | None:
    """Return the position that a text consists of or ends with, latitude first, or None."""
    if len(text) > MAX_LETTERS or not _DIGITS.search(text):
        return None
    for pattern in (_GEO, _DECIMAL, _WHOLE):
        match = pattern.match(text)
        if match:
            return _make(float(match[1]), float(match[2]))
    match = _BEFORE.match(text) or _AFTER.match(text)
    if match:
        found = _read_hemispheres(match)
        if found is not None:
            return found
    match = _TRAILING.match(text)
    if match:
        return _make(float(match["lat"]), float(match["lon"]), match["text"].strip(" ,;"))
    return None


def _make(lat: float, lon: float, rest: str = "") -> Coordinates | None:
    return Coordinates(lon, lat, rest) if abs(lat) <= 90 and abs(lon) <= 180 else None


def _read_hemispheres(match: re.Match[str]) -> Coordinates | None:
    values: dict[str, float] = {}
    for part in ("0", "1"):
        letter = match["l" + part].upper()
        degrees, minutes, seconds = (
            float((match[unit + part] or "0").replace(",", ".")) for unit in "dms"
        )
        if minutes >= 60 or seconds >= 60:
            return None
        value = degrees + minutes / 60 + seconds / 3600
        # West is O in French, Italian and Spanish; east is O in German, but rarely with N or S.
        axis = "lat" if letter in "NS" else "lon"
        values[axis] = -value if letter in "SWO" else value
    if len(values) < 2:
        return None
    return _make(values["lat"], values["lon"])


def find_plus_code(text: str) -> PlusCode | None:
    """Return the plus code at the start of a text, or None."""
    if len(text) > MAX_LETTERS or "+" not in text:
        return None
    match = _PLUS_CODE.match(text)
    if match is None:
        return None
    code = match["code"].upper()
    before = code.index("+")
    if len(code) - before - 1 == 1 or before % 2:
        return None
    return PlusCode(code, before < 8, (match["rest"] or "").strip())


def decode_plus_code(code: str, reference: tuple[float, float] | None = None) -> Coordinates | None:
    """Return the middle of a plus code's area; a short code needs a reference (lon, lat)."""
    before = code.index("+")
    digits = code.replace("+", "").rstrip("0")
    if before < 8:
        if reference is None:
            return None
        return _recover(code, reference)
    lat, lon, size_lat, size_lon = _decode_digits(digits)
    return _make(lat + size_lat / 2, lon + size_lon / 2)


def _decode_digits(digits: str) -> tuple[float, float, float, float]:
    lat, lon = -90.0, -180.0
    size_lat = size_lon = 400.0
    for i in range(0, min(len(digits), 10), 2):
        size_lat, size_lon = size_lat / 20, size_lon / 20
        lat += _ALPHABET.index(digits[i]) * size_lat
        if i + 1 < len(digits):
            lon += _ALPHABET.index(digits[i + 1]) * size_lon
    for digit in digits[10:]:
        size_lat, size_lon = size_lat / 5, size_lon / 4
        row, column = divmod(_ALPHABET.index(digit), 4)
        lat += row * size_lat
        lon += column * size_lon
    return lat, lon, size_lat, size_lon


def encode_plus_code(lon: float, lat: float, length: int = 10) -> str:
    """Return the plus code of a position with an even number of digits up to 10."""
    lat, lon = min(lat + 90.0, 180.0 - 1e-9), (lon + 180.0) % 360.0
    size = 400.0
    digits = ""
    for _ in range(length // 2):
        size /= 20
        row, column = min(int(lat / size), 19), min(int(lon / size), 19)
        digits += _ALPHABET[row] + _ALPHABET[column]
        lat -= row * size
        lon -= column * size
    return f"{digits[:8]}+{digits[8:]}"


def _recover(code: str, reference: tuple[float, float]) -> Coordinates | None:
    """Return the nearest position to the reference whose code ends like a short one."""
    lon, lat = reference
    missing = 8 - code.index("+")
    full = encode_plus_code(lon, lat)[:missing] + code
    found = decode_plus_code(full)
    if found is None:
        return None
    size = 20.0 ** (2 - missing // 2)
    best_lat, best_lon = found.lat, found.lon
    if lat < best_lat - size / 2 and best_lat - size > -90:
        best_lat -= size
    elif lat > best_lat + size / 2 and best_lat + size < 90:
        best_lat += size
    if lon < best_lon - size / 2:
        best_lon -= size
    elif lon > best_lon + size / 2:
        best_lon += size
    return _make(best_lat, (best_lon + 180) % 360 - 180)
