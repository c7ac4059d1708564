"""Positions in the grids of topographic maps: MGRS (32T NT 4500 2100), UTM (32T 545000 5221000).

The inverse of the transverse Mercator projection on WGS 84 by Krüger's series, to a millimeter:
https://en.wikipedia.org/wiki/Universal_Transverse_Mercator_coordinate_system
"""

from __future__ import annotations

import math
import re
from typing import Final

_MGRS = re.compile(
    r"(?<!\w)(?P<zone>\d{1,2})\s*(?P<band>[C-HJ-NP-X])\s*(?P<square>[A-HJ-NP-Z][A-HJ-NP-V])\s*"
    r"(?P<digits>\d{2,5}\s+\d{2,5}|\d{4,10})(?!\w)",
    re.IGNORECASE,
)
_UTM = re.compile(
    r"(?<!\w)(?:utm\s*)?(?:zone\s*)?(?P<zone>\d{1,2})\s*(?P<band>[C-HJ-NP-X])[\s,]+"
    r"(?P<east>\d{6}(?:\.\d+)?)\s*m?\s*e?[\s,]+(?P<north>\d{1,7}(?:\.\d+)?)\s*m?\s*n?(?!\w)",
    re.IGNORECASE,
)
_BANDS: Final = "CDEFGHJKLMNPQRSTUVWX"
_ROWS: Final = "ABCDEFGHJKLMNPQRSTUV"
_COLUMNS: Final = ("ABCDEFGH", "JKLMNPQR", "STUVWXYZ")

# WGS 84.
_A: Final = 6_378_137.0
_N: Final = (1 / 298.257223563) / (2 - 1 / 298.257223563)
_SCALE: Final = 0.9996
_RADIUS: Final = _A / (1 + _N) * (1 + _N**2 / 4 + _N**4 / 64)
_BETA: Final = (
    _N / 2 - 2 * _N**2 / 3 + 37 * _N**3 / 96,
    _N**2 / 48 + _N**3 / 15,
    17 * _N**3 / 480,
)
_DELTA: Final = (2 * _N - 2 * _N**2 / 3 - 2 * _N**3, 7 * _N**2 / 3 - 8 * _N**3 / 5, 56 * _N**3 / 15)


def find_grid_position(text: str) -> tuple[float, float, str] | None:
    """Return (lon, lat, rest of the text) of a grid reference in a text, or None."""
    if match := _MGRS.search(text):
        found = _read_mgrs(match)
    elif match := _UTM.search(text):
        is_north = match["band"].upper() >= "N"
        found = unproject(int(match["zone"]), float(match["east"]), float(match["north"]), is_north)
    else:
        return None
    if found is None:
        return None
    rest = f"{text[: match.start()].strip(' ,;')} {text[match.end() :].strip(' ,;')}".strip()
    return (*found, rest)


def _read_mgrs(match: re.Match[str]) -> tuple[float, float] | None:
    zone, band, square = int(match["zone"]), match["band"].upper(), match["square"].upper()
    digits = match["digits"].split()
    if len(digits) == 1:
        half, odd = divmod(len(digits[0]), 2)
        digits = [digits[0][:half], digits[0][half:]]
        if odd:
            return None
    if len(digits[0]) != len(digits[1]):
        return None
    size_m = 10.0 ** (5 - len(digits[0]))
    columns = _COLUMNS[(zone - 1) % 3]
    if square[0] not in columns:
        return None
    east_m = (columns.index(square[0]) + 1) * 100_000 + (int(digits[0]) + 0.5) * size_m
    row = (_ROWS.index(square[1]) - (5 if zone % 2 == 0 else 0)) % 20
    north_m = row * 100_000 + (int(digits[1]) + 0.5) * size_m
    # Rows repeat every 2,000 km: the one that lies in the band.
    is_north = band >= "N"
    south_deg = -80 + 8 * _BANDS.index(band)
    for turns in range(6):
        found = unproject(zone, east_m, north_m + turns * 2_000_000, is_north)
        if found is not None and south_deg - 1 <= found[1] <= south_deg + (
            13 if band == "X" else 9
        ):
            return found
    return None


def unproject(
    zone: int, east_m: float, north_m: float, is_north: bool
) -> tuple[float, float] | None:
    """Return lon, lat in degrees of a position in a zone of UTM, None where there is none."""
    if not 1 <= zone <= 60 or not 100_000 <= east_m < 1_000_000 or not 0 <= north_m <= 10_000_000:
        return None
    xi = (north_m - (0 if is_north else 10_000_000)) / (_SCALE * _RADIUS)
    eta = (east_m - 500_000) / (_SCALE * _RADIUS)
    xi_, eta_ = xi, eta
    for j, beta in enumerate(_BETA, start=1):
        xi_ -= beta * math.sin(2 * j * xi) * math.cosh(2 * j * eta)
        eta_ -= beta * math.cos(2 * j * xi) * math.sinh(2 * j * eta)
    chi = math.asin(math.sin(xi_) / math.cosh(eta_))
    lat = chi + sum(d * math.sin(2 * j * chi) for j, d in enumerate(_DELTA, start=1))
    lon = math.radians(6 * zone - 183) + math.atan2(math.sinh(eta_), math.cos(xi_))
    return math.degrees(lon), math.degrees(lat)
