"""The macros of overpass-turbo and QuickOSM, expanded on the server.

`{{bbox}}` and `{{center}}` need the request's parameters, `{{geocode…:name}}` a geocoder that the
caller hands in, `{{date:…}}` the clock. `{{key=value}}` defines `{{key}}`. `{{style:…}}` and
`{{data:…}}` say nothing about the query and are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from mapyard.overpass.parse.text import Source

#: Longest query text, before and after expansion.
MAX_QUERY_BYTES: Final = 1 << 20

_MACRO = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_UNIT_DAYS: Final = {"day": 1.0, "week": 7.0, "month": 30.4375, "year": 365.25}
_UNIT_SECONDS: Final = {"second": 1.0, "minute": 60.0, "hour": 3600.0}


class Place(msgspec.Struct, frozen=True):
    """What a geocoder found: the element, its center and its box, in degrees."""

    type: str
    id: int
    lon: float
    lat: float
    bbox: tuple[float, float, float, float]  # west, south, east, north


#: Finds a place by its name, an area where `want_area` is set; None where there is none.
type Geocode = Callable[[str, bool], Place | None]


class Surroundings(msgspec.Struct, frozen=True):
    """What a request gives to macros: box (south, west, north, east), center (lat, lon), …"""

    box: tuple[float, float, float, float] | None = None
    center: tuple[float, float] | None = None
    geocode: Geocode | None = None
    now: datetime | None = None


def expand_macros(text: str, surroundings: Surroundings, *, as_xml: bool = False) -> Source:
    """Return the query text with macros expanded; raises InvalidQuery at the macro's place.

    In the XML form places become attributes: `<bbox-query {{bbox}}/>`.
    """
    if "{{" not in text:
        return Source(text)
    plain = Source(text)
    shortcuts: dict[str, str] = {}
    pieces: list[str] = []
    shifts: list[tuple[int, int]] = []
    length = offset = 0

    def add(piece: str, original_offset: int) -> None:
        nonlocal length
        pieces.append(piece)
        shifts.append((length, original_offset))
        length += len(piece)
        if length > MAX_QUERY_BYTES:
            raise plain.error(original_offset, "the expanded query is too long")

    for match in _MACRO.finditer(text):
        add(text[offset : match.start()], offset)
        piece = _expand(match.group(1), shortcuts, surroundings, plain, match.start())
        add(_as_attributes(match.group(1), piece) if as_xml else piece, match.start())
        offset = match.end()
    add(text[offset:], offset)
    return Source("".join(pieces), text, shifts)


def _as_attributes(body: str, piece: str) -> str:
    """Return what a macro of a place gives as attributes of the XML form."""
    name = body.partition(":")[0].strip()
    numbers = piece.split(",")
    if name in ("bbox", "geocodeBbox"):
        return " ".join(f'{side}="{n}"' for side, n in zip("swne", numbers, strict=True))
    if name in ("center", "geocodeCoords"):
        return f'lat="{numbers[0]}" lon="{numbers[1]}"'
    found = re.fullmatch(r"(\w+)\((?:id:)?(\d+)\)", piece)
    return f'type="{found[1]}" ref="{found[2]}"' if found else piece


def _expand(
    body: str, shortcuts: dict[str, str], surroundings: Surroundings, source: Source, at: int
) -> str:
    head = re.match(r"\s*(\w+)\s*(?:([:=])(.*))?$", body, re.DOTALL)
    if head is None:
        raise source.error(at, "a macro is {{name}}, {{name:value}} or {{name=value}}")
    name, mark, value = head.group(1), head.group(2), (head.group(3) or "").strip()
    if mark == "=":
        shortcuts[name] = value
        return ""
    if mark is None and name in shortcuts:
        return shortcuts[name]
    expand = _EXPANDERS.get(name)
    if expand is None:
        raise source.error(
            at,
            f"unknown macro {{{{{name}}}}}",
            f"define it before its first use: {{{{{name}=value}}}}",
        )
    return expand(value, surroundings, source, at)


def _bbox(value: str, surroundings: Surroundings, source: Source, at: int) -> str:
    if surroundings.box is None:
        raise source.error(
            at, "{{bbox}} needs a box", "send the parameter bbox=south,west,north,east"
        )
    return ",".join(_number(part) for part in surroundings.box)


def _center(value: str, surroundings: Surroundings, source: Source, at: int) -> str:
    center = surroundings.center
    if center is None and surroundings.box is not None:
        south, west, north, east = surroundings.box
        middle = (west + east) / 2 if west <= east else (west + east + 360) / 2
        center = (south + north) / 2, middle - 360 if middle > 180 else middle
    if center is None:
        raise source.error(at, "{{center}} needs a point", "send the parameter center=lat,lon")
    return ",".join(_number(part) for part in center)


def _number(value: float) -> str:
    return f"{value:.7f}".rstrip("0").rstrip(".")


def _date(value: str, surroundings: Surroundings, source: Source, at: int) -> str:
    now = surroundings.now or datetime.now(UTC)
    if value:
        match = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*([a-z]+?)s?(?:\s+ago)?", value, re.IGNORECASE)
        unit = match.group(2).lower() if match else ""
        if match is None or (unit not in _UNIT_DAYS and unit not in _UNIT_SECONDS):
            try:
                then = datetime.fromisoformat(value)
            except ValueError:
                raise source.error(
                    at, f"{{{{date:{value}}}}} is not a time span", "write {{date:2 days}}"
                ) from None
            return then.strftime("%Y-%m-%dT%H:%M:%SZ")
        amount = float(match.group(1))
        seconds = amount * (_UNIT_SECONDS.get(unit) or _UNIT_DAYS.get(unit, 1.0) * 86_400)
        if not 0 <= seconds < 6e10:
            raise source.error(at, "this time span is out of range")
        now -= timedelta(seconds=seconds)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _find_place(
    value: str, surroundings: Surroundings, source: Source, at: int, *, want_area: bool
) -> Place:
    if not value:
        raise source.error(at, "this macro needs a name", "such as {{geocodeArea:Monaco}}")
    if surroundings.geocode is None:
        raise source.error(at, "names cannot be looked up here", 'use area["name"="…"]')
    place = surroundings.geocode(value, want_area)
    if place is None:
        kind = "area" if want_area else "place"
        raise source.error(at, f"no {kind} named {value!r} was found in this dataset")
    return place


def _geocode_area(value: str, surroundings: Surroundings, source: Source, at: int) -> str:
    place = _find_place(value, surroundings, source, at, want_area=True)
    shift = 3_600_000_000 if place.type == "relation" else 2_400_000_000
    return f"area(id:{place.id + shift})"


def _geocode_id(value: str, surroundings: Surroundings, source: Source, at: int) -> str:
    place = _find_place(value, surroundings, source, at, want_area=False)
    return f"{place.type}({place.id})"


def _geocode_box(value: str, surroundings: Surroundings, source: Source, at: int) -> str:
    west, south, east, north = _find_place(value, surroundings, source, at, want_area=False).bbox
    return ",".join(_number(part) for part in (south, west, north, east))


def _geocode_coords(value: str, surroundings: Surroundings, source: Source, at: int) -> str:
    place = _find_place(value, surroundings, source, at, want_area=False)
    return f"{_number(place.lat)},{_number(place.lon)}"


def _drop(value: str, surroundings: Surroundings, source: Source, at: int) -> str:
    return ""


_EXPANDERS: Final[dict[str, Callable[[str, Surroundings, Source, int], str]]] = {
    "bbox": _bbox,
    "center": _center,
    "date": _date,
    "geocodeArea": _geocode_area,
    "geocodeId": _geocode_id,
    "geocodeBbox": _geocode_box,
    "geocodeCoords": _geocode_coords,
    "style": _drop,
    "data": _drop,
}
