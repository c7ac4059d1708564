"""Positions written in a query, in every notation that people paste.

Decimal degrees with points or commas, degrees with minutes and seconds, with signs, words or
letters for the hemisphere, WKT, GeoJSON, ISO 6709, geo: and addresses of map pages, MGRS and UTM. A
name may stand before or behind what is clearly a position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from mapyard.geocoding.read.grids import find_grid_position

#: Longer texts are no position; it also bounds the work of the patterns.
MAX_LETTERS: Final = 150
#: Addresses of map pages are longer.
MAX_URL_LETTERS: Final = 2_000

_TWO_NUMBERS = re.compile(r"\d\D+\d|\d{10}")
_NUMBER: Final = r"[+-]?\d{1,3}(?:\.\d+)?"
_DECIMAL: Final = r"[+-]?\d{1,3}\.\d+"
# 47.14, 9.52 · (47.14; 9.52) · [47.14 9.52]
_PLAIN = re.compile(rf"^[\s(\[]*({_DECIMAL})\s*[,;/|\s]\s*({_DECIMAL})[\s)\]]*$")
_WHOLE = re.compile(rf"^\s*({_NUMBER})\s*[,;]\s*({_NUMBER})\s*$")
# 47,14 9,52 · 47,14; 9,52 · 47,14, 9,52
_COMMAS = re.compile(r"^[\s(\[]*([+-]?\d{1,3},\d+)(?:\s*[;/|]\s*|,?\s+)([+-]?\d{1,3},\d+)[\s)\]]*$")
_ISO_6709 = re.compile(
    r"^\s*([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)(?:[+-]\d+(?:\.\d+)?)?/?\s*$"
)
_TRAILING = re.compile(
    rf"^(?P<text>.*?[^\W\d].*?)[,;\s(\[]+(?P<lat>{_DECIMAL})\s*[,;\s]\s*(?P<lon>{_DECIMAL})[\s)\]]*$"
)
_WKT = re.compile(
    r"(?:srid\s*=\s*\d+\s*;\s*)?\bpoint\s*(?:z|m|zm)?\s*\(\s*"
    r"([+-]?\d{1,3}(?:\.\d+)?)[\s,]+([+-]?\d{1,3}(?:\.\d+)?)(?:\s+[^)]*)?\)",
    re.IGNORECASE,
)
_GEOJSON = re.compile(
    r"^\s*\{.*\"coordinates\"\s*:\s*\[\s*([+-]?\d{1,3}(?:\.\d+)?)\s*,\s*([+-]?\d{1,3}(?:\.\d+)?)"
)
_LABELLED = re.compile(
    rf"\b(?P<first>lat|lon)\w*\s*[:=]?\s*(?P<one>{_NUMBER})\s*°?[\s,;&]*"
    rf"\b(?P<second>lat|lon|lng)\w*\s*[:=]?\s*(?P<other>{_NUMBER})(?![\d.])\s*°?",
    re.IGNORECASE,
)
_GEO = re.compile(rf"^\s*geo:\s*({_NUMBER})\s*,\s*({_NUMBER})(?P<more>.*)$", re.IGNORECASE)
_GEO_QUESTION = re.compile(rf"[?&]q=\s*({_NUMBER})(?:,|%2c)\s*({_NUMBER})", re.IGNORECASE)

_PAIR: Final = rf"({_NUMBER})(?:,|%2C|~|/|\+|%20)+({_NUMBER})"
#: Where addresses of map pages have the position, the exact place before the middle of the map:
#: pattern, and whether the longitude comes first.
_URLS: Final[tuple[tuple[re.Pattern[str], bool], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), is_lon_first)
    for pattern, is_lon_first in (
        (rf"[?&#]mlat=({_NUMBER})&(?:amp;)?mlon=({_NUMBER})", False),
        (rf"!3d({_NUMBER})!4d({_NUMBER})", False),
        (rf"yandex\.[^?]*\?.*?\b(?:pt|ll|whatshere\[point\])={_PAIR}", True),
        (rf"2gis\.[^?]*/({_NUMBER})(?:,|%2C)({_NUMBER})", True),
        (
            rf"[?&#](?:q|query|ll|sll|daddr|destination|coordinate|center|cp|loc|point|pin)={_PAIR}",
            False,
        ),
        (rf"[?&#]lat(?:itude)?=({_NUMBER})&(?:amp;)?(?:lon|lng|longitude)=({_NUMBER})", False),
        (rf"[?&#]lo?ng?(?:itude)?=({_NUMBER})&(?:amp;)?lat(?:itude)?=({_NUMBER})", True),
        (rf"/(?:place|search|dir/[^/]*)/{_PAIR}(?![\d.])", False),
        (rf"@({_NUMBER}),({_NUMBER})(?:,|$)", False),
        (rf"[#?&]map=\d+(?:\.\d+)?/({_NUMBER})/({_NUMBER})", False),
        (rf"[#?&]map=({_NUMBER}),({_NUMBER})", False),
        (rf"#\d+(?:\.\d+)?/({_NUMBER})/({_NUMBER})", False),
    )
)

# Words and letters for hemispheres and units, put into one form before angles are read.
_WORDS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        (r"с\.?\s*ш\.?", "N"), (r"ю\.?\s*ш\.?", "S"), (r"в\.?\s*д\.?", "E"), (r"з\.?\s*д\.?", "W"),
        (r"(?:北緯|北纬)", "N "), (r"(?:南緯|南纬)", "S "),
        (r"(?:東経|東經|东经)", "E "), (r"(?:西経|西經|西经)", "W "),
        (r"(?<=\d)\s*度\s*", "° "), (r"(?<=\d)\s*分\s*", "' "), (r"(?<=\d)\s*秒\s*", '" '),
        (r"\b(?:north|nord|norte|noord|sever)\b", "N"),
        (r"\b(?:south|süd|sued|sud|sur|sul|zuid)\b", "S"),
        (r"\b(?:east|est|este|oost)\b", "E"), (r"\b(?:west|ouest|oeste|ovest)\b", "W"),
        (r"\bost\b", "E"),
        (r"(?<=\d)\s*(?:degrees?|degrés?|grados?|gradi|grad|deg)\b", "° "),
        (r"(?<=\d)\s*(?:minutes?|minutos?|min)\b", "' "),
        (r"(?<=\d)\s*(?:seconds?|secondes?|segundos?|sek|sec)\b", '" '),
        ("''", '"'), ("[′’‘`´]", "'"), ("[″”“]", '"'), ("[º˚]", "°"),
    )
)  # fmt: skip
_MAYBE_ANGLES = re.compile(
    r"[°º˚度緯纬]|(?<![^\W\d_])[nsewo]\.?\s*\d|\d\s*['\"]?\s*[nsewo](?![^\W\d_])|\d\s*(?:deg|grad)|"
    r"\d\D{0,3}\s*(?:[nN]or|[sS][uü]|[sS]ou|[sS]ev|[zZ]ui|[eE]as|[oO]es|[oO]ost|[oO]st|[wW]es|[eE]st)|"
    r"[шд]\.|^\s*[+-]?\d+[\s:]+\d+[\s:]+\d",
    re.IGNORECASE,
)
# One angle: degrees, then minutes, then seconds, each with its sign or apart by spaces or colons.
_ANGLE: Final = (
    r"(?P<d{0}>[+-]?\d{{1,3}}(?:[.,]\d+)?)\s*(?P<sign{0}>°)?"
    r"(?:(?:(?<=°)\s*|\s*:\s*|\s+|\s*-\s*)(?P<m{0}>\d{{1,2}}(?:[.,]\d+)?)\s*'?"
    r"(?:(?:(?<=')\s*|\s*:\s*|\s+|\s*-\s*)(?P<s{0}>\d{{1,2}}(?:[.,]\d+)?)\s*\"?)?)?"
)
_BEFORE = re.compile(
    rf"(?<![^\W\d_])(?P<l0>[NSEWO])\.?\s*{_ANGLE.format(0)}[,;/\s]*"
    rf"(?<![^\W\d_])(?P<l1>[NSEWO])\.?\s*{_ANGLE.format(1)}(?![\w.])",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"(?<![\w.]){_ANGLE.format(0)}\s*(?P<l0>[NSEWO])(?![^\W\d_])\.?[,;/\s]*"
    rf"{_ANGLE.format(1)}\s*(?P<l1>[NSEWO])(?![^\W\d_])\.?",
    re.IGNORECASE,
)
_SIGNS = re.compile(rf"(?<![\w.]){_ANGLE.format(0)}[,;/\s]\s*{_ANGLE.format(1)}(?![\w.])")
_SEXAGESIMAL = re.compile(
    r"^\s*(?P<d0>[+-]?\d{1,2})[\s:]+(?P<m0>\d{1,2})[\s:]+(?P<s0>\d{1,2}(?:[.,]\d+)?)[\s,;]+"
    r"(?P<d1>[+-]?\d{1,3})[\s:]+(?P<m1>\d{1,2})[\s:]+(?P<s1>\d{1,2}(?:[.,]\d+)?)\s*$"
)

#: Says whether a dataset holds a position; where "O" may be west or east, it decides.
IsInside = Callable[[float, float], bool]


class Coordinates(NamedTuple):
    """A position in degrees, and what else was in the text."""

    lon: float
    lat: float
    rest: str = ""


def find_coordinates(text: str, is_inside: IsInside | None = None) -> Coordinates | None:
    """Return the position that a text consists of or holds besides a name, or None.

    Latitude comes first where nothing says otherwise.
    """
    if "://" in text and len(text) <= MAX_URL_LETTERS:
        return _read_url(text)
    if len(text) > MAX_LETTERS or not _TWO_NUMBERS.search(text):
        return None
    for match in (_PLAIN.match(text), _WHOLE.match(text), _ISO_6709.match(text)):
        if match:
            return make_coordinates(float(match[1]), float(match[2]))
    if match := _COMMAS.match(text):
        lat, lon = (float(match[i].replace(",", ".")) for i in (1, 2))
        return make_coordinates(lat, lon)
    return (
        _read_named(text)
        or _read_angles(text, is_inside)
        or find_grid(text)
        or _read_trailing(text)
    )


def make_coordinates(lat: float, lon: float, rest: str = "") -> Coordinates | None:
    """Return a position, None outside of the earth."""
    return Coordinates(lon, lat, rest) if abs(lat) <= 90 and abs(lon) <= 180 else None


def find_grid(text: str) -> Coordinates | None:
    """Return the position of an MGRS or UTM reference, or None."""
    found = find_grid_position(text)
    return make_coordinates(found[1], found[0], found[2]) if found else None


def _read_url(text: str) -> Coordinates | None:
    for pattern, is_lon_first in _URLS:
        if match := pattern.search(text):
            one, other = float(match[1]), float(match[2])
            found = make_coordinates(*((other, one) if is_lon_first else (one, other)))
            if found is not None:
                return found
    return None


def _read_named(text: str) -> Coordinates | None:
    """Read what names its numbers: WKT, GeoJSON, geo:, lat and lon."""
    if match := _GEO.match(text):
        question = _GEO_QUESTION.search(match["more"])
        if question and float(match[1]) == 0 == float(match[2]):
            match = question
        return make_coordinates(float(match[1]), float(match[2]))
    if match := _WKT.search(text):
        return make_coordinates(float(match[2]), float(match[1]), _rest(text, match))
    if match := _GEOJSON.match(text):
        return make_coordinates(float(match[2]), float(match[1]))
    if (match := _LABELLED.search(text)) and match["first"].lower() != _short(match["second"]):
        one, other = float(match["one"]), float(match["other"])
        lat, lon = (one, other) if match["first"].lower() == "lat" else (other, one)
        return make_coordinates(lat, lon, _rest(text, match))
    return None


def _short(label: str) -> str:
    return "lat" if label.lower() == "lat" else "lon"


def _rest(text: str, match: re.Match[str]) -> str:
    around = (text[: match.start()].strip(" ,;(["), text[match.end() :].strip(" ,;)]"))
    return " ".join(part for part in around if part)


def _read_trailing(text: str) -> Coordinates | None:
    match = _TRAILING.match(text)
    if match is None:
        return None
    return make_coordinates(float(match["lat"]), float(match["lon"]), match["text"].strip(" ,;(["))


# ---- angles -----------------------------------------------------------------------------------


def _read_angles(text: str, is_inside: IsInside | None) -> Coordinates | None:
    if not _MAYBE_ANGLES.search(text):
        return None  # as of nearly all addresses
    for pattern, form in _WORDS:
        text = pattern.sub(form, text)
    for pattern in (_BEFORE, _AFTER):
        for match in pattern.finditer(text):
            typed = _read_hemispheres(text, match, is_inside)
            if typed is not None:
                return typed
    found = _SEXAGESIMAL.match(text)
    if found is None and "°" in text:
        found = _SIGNS.search(text)
        found = found if found and found["sign0"] and found["sign1"] else None
    if found is None:
        return None
    lat, lon = _read_angle(found, "0"), _read_angle(found, "1")
    if lat is None or lon is None:
        return None
    return make_coordinates(lat, lon, _rest(text, found))


def _read_angle(match: re.Match[str], part: str) -> float | None:
    """Return the degrees of an angle, None for minutes or seconds of 60 and more."""
    texts = [(match[unit + part] or "0").replace(",", ".") for unit in "dms"]
    degrees, minutes, seconds = map(float, texts)
    if minutes >= 60 or seconds >= 60:
        return None
    size = abs(degrees) + minutes / 60 + seconds / 3600
    return -size if texts[0].startswith("-") else size


def _read_hemispheres(
    text: str, match: re.Match[str], is_inside: IsInside | None
) -> Coordinates | None:
    letters = [match["l0"].upper(), match["l1"].upper()]
    values = [_read_angle(match, part) for part in "01"]
    if values[0] is None or values[1] is None:
        return None
    if (letters[0] in "NS") == (letters[1] in "NS"):
        return None
    if letters[0] not in "NS":
        letters.reverse()
        values.reverse()
    lat = -values[0] if letters[0] == "S" else values[0]
    rest = _rest(text, match)
    if rest and not any(match[f"sign{i}"] or match[f"m{i}"] or "." in match[f"d{i}"] for i in "01"):
        return None  # "50 N 100 W, Provo" is a street
    return next(_iter_readings(lat, letters[1], values[1], rest, is_inside), None)


def _iter_readings(
    lat: float, letter: str, lon: float, rest: str, is_inside: IsInside | None
) -> Iterator[Coordinates]:
    """Yield what a longitude may mean, the likely first.

    West is O in French, Italian and Spanish; east is O in German.
    """
    signs = {"E": (1,), "W": (-1,)}.get(letter, (-1, 1))
    if len(signs) == 2 and is_inside is not None and is_inside(lon, lat):
        signs = (1,)
    for sign in signs:
        found = make_coordinates(lat, sign * lon, rest)
        if found is not None:
            yield found


__all__ = ["MAX_LETTERS", "Coordinates", "find_coordinates", "find_grid", "make_coordinates"]
