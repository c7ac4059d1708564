"""Plus codes: reading, decoding, writing.

They follow the Open Location Code specification,
https://github.com/google/open-location-code/blob/main/Documentation/Specification/specification.md
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mapyard.geocoding.read.coordinates import MAX_LETTERS, Coordinates, make_coordinates

_ALPHABET: Final = "23456789CFGHJMPQRVWX"
_PLUS_CODE = re.compile(
    rf"(?<![^\s,])(?P<code>[{_ALPHABET}]{{2,8}}0*\+[{_ALPHABET}]{{0,7}})(?![^\s,])", re.IGNORECASE
)


class PlusCode(NamedTuple):
    """A plus code, short when it needs a place as reference, and what else was in the text."""

    code: str
    is_short: bool
    rest: str


def find_plus_code(text: str) -> PlusCode | None:
    """Return the plus code in a text, or None; what stands before and behind it is the rest."""
    if len(text) > MAX_LETTERS or "+" not in text:
        return None
    match = _PLUS_CODE.search(text)
    if match is None:
        return None
    code = match["code"].upper()
    before = code.index("+")
    if len(code) - before - 1 == 1 or before % 2:
        return None
    around = (text[: match.start()].strip(" ,"), text[match.end() :].strip(" ,"))
    return PlusCode(code, before < 8, ", ".join(part for part in around if part))


def decode_plus_code(code: str, reference: tuple[float, float] | None = None) -> Coordinates | None:
    """Return the middle of a plus code's area; a short code needs a reference (lon, lat)."""
    before = code.index("+")
    digits = code.replace("+", "").rstrip("0")
    if before < 8:
        if reference is None:
            return None
        return _recover(code, reference)
    lat, lon, size_lat, size_lon = _decode_digits(digits)
    return make_coordinates(lat + size_lat / 2, lon + size_lon / 2)


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
    return make_coordinates(best_lat, (best_lon + 180) % 360 - 180)
