"""Parsing of the filters of a query: `[…]`, `(…)` and `.set`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from mapyard.overpass.parse.cursor import Cursor, suggest
from mapyard.overpass.parse.lexer import NUMBER, STRING, WORD, decode_string
from mapyard.overpass.parse.patterns import check_pattern
from mapyard.overpass.parse.syntax import (
    AreaFilter,
    AroundFilter,
    BoxFilter,
    ChangedFilter,
    ConditionFilter,
    Filter,
    IdFilter,
    KeyFilter,
    KeyPatternFilter,
    LinkFilter,
    NewerFilter,
    PatternFilter,
    PivotFilter,
    PolygonFilter,
    RecursionFilter,
    Refused,
    SetFilter,
    TagFilter,
    UserFilter,
)
from mapyard.overpass.parse.values import ELEMENT, parse_value

#: What each recursion letter can give: node(w), way(r), way(bn), relation(bw), …
_RECURSION_TYPES: Final = {
    "w": "node",
    "r": "node way relation",
    "bn": "way relation",
    "bw": "relation",
    "br": "relation",
}
_KINDS: Final = {
    "node": "node", "way": "way", "relation": "relation", "nwr": "node way relation",
    "nw": "node way", "wr": "way relation", "nr": "node relation", "area": "", "derived": "",
}  # fmt: skip


def parse_filters(cursor: Cursor, kind: str) -> list[Filter | Refused]:
    """Parse all filters that follow the type of a query."""
    filters: list[Filter | Refused] = []
    while True:
        at = cursor.token.at
        if cursor.take("["):
            tag_filter = _parse_tag_filter(cursor, at)
            cursor.expect("]", "a tag filter is written [key=value]")
            if tag_filter is not None:
                filters.append(tag_filter)
        elif cursor.take("("):
            cursor.enter()
            filters.append(_parse_criterion(cursor, kind, at))
            cursor.expect(")", "close the filter with )")
            cursor.leave()
        elif cursor.at("."):
            filters.append(SetFilter(source=cursor.read_source(), at=at))
        else:
            return filters


def _parse_tag_filter(cursor: Cursor, at: int) -> Filter | None:
    """Parse what stands in brackets; `[key=""]` is dropped, as in the original."""
    if cursor.take("!"):
        return KeyFilter(key=cursor.read_text("key"), negated=True, at=at)
    key_is_pattern = cursor.take("~")
    key_at = cursor.token.at
    key = cursor.read_text("key", is_pattern=key_is_pattern)
    if cursor.at("]"):
        if key_is_pattern:
            cursor.fail("a key pattern needs a value pattern", 'write [~"…"~"."]', key_at)
        return KeyFilter(key=key, at=at)
    negated = cursor.take("!")
    if not negated and cursor.at("!="):
        cursor.advance()
        return _tag_filter(cursor, key, True, key_is_pattern, key_at, at)
    if cursor.at("=="):
        cursor.fail("tag filters compare with a single =", f"write [{key}=…]")
    if cursor.take("="):
        return _tag_filter(cursor, key, negated, key_is_pattern, key_at, at)
    if not cursor.take("~"):
        cursor.fail(
            f"=, !=, ~, !~ or ] expected, found {cursor.found()}", "a tag filter is [key=value]"
        )
    pattern_at = cursor.token.at
    pattern = cursor.read_text("regular expression", is_pattern=True)
    ignore_case = False
    if cursor.take(","):
        if not cursor.take("i"):
            cursor.fail(f"'i' expected, found {cursor.found()}", "[key~pattern,i] ignores case")
        ignore_case = True
    check_pattern(cursor.source, pattern, ignore_case, pattern_at)
    if key_is_pattern:
        check_pattern(cursor.source, key, ignore_case, key_at)
        return KeyPatternFilter(
            key_pattern=key, pattern=pattern, ignore_case=ignore_case, negated=negated, at=at
        )
    return PatternFilter(key=key, pattern=pattern, ignore_case=ignore_case, negated=negated, at=at)


def _tag_filter(
    cursor: Cursor, key: str, negated: bool, key_is_pattern: bool, key_at: int, at: int
) -> Filter | None:
    if key_is_pattern:
        cursor.fail("a key pattern needs a value pattern", f'write [~"{key}"~"…"]', key_at)
    if cursor.at("]"):
        return None
    value_at = cursor.token.at
    value = cursor.read_text("value")
    if cursor.token.kind == WORD:
        while cursor.token.kind in (WORD, NUMBER):
            cursor.advance()
        whole = cursor.source.text[value_at : cursor.token.at].strip()
        cursor.fail("a value with spaces stands in quotes", f'write [{key}="{whole}"]', value_at)
    if cursor.at(","):
        cursor.fail("only regular expressions ignore case", f'write [{key}~"^{value}$",i]')
    return TagFilter(key=key, value=value, negated=negated, at=at) if value else None


def _parse_criterion(cursor: Cursor, kind: str, at: int) -> Filter | Refused:
    if cursor.token.kind == NUMBER or cursor.at("-", "+"):
        return _parse_numbers(cursor, at)
    if cursor.at("<", "<<", ">", ">>"):
        direction = cursor.advance().text
        return RecursionFilter(direction=direction, source=cursor.read_source(), at=at)
    if cursor.token.kind != WORD:
        cursor.fail(f"a filter expected, found {cursor.found()}", _criterion_hint(cursor))
    name = cursor.token.text
    if name in _RECURSION_TYPES:
        return _parse_recursion(cursor, kind, at)
    parse = _CRITERIA.get(name)
    if parse is None:
        cursor.fail(f"unknown filter '{name}'", _criterion_hint(cursor))
    cursor.advance()
    return parse(cursor, at)


def _criterion_hint(cursor: Cursor) -> str:
    if cursor.at("bbox"):
        return "write {{bbox}} and send the parameter bbox, or set [bbox:south,west,north,east]"
    behind = cursor.ahead().text
    if behind in ("=", "~", "!=", "!"):
        return "tag filters go in square brackets: [key=value]"
    return suggest(cursor.token.text, [*_CRITERIA, *_RECURSION_TYPES])


def _parse_numbers(cursor: Cursor, at: int) -> Filter:
    numbers = [cursor.token]
    values = [cursor.read_number("number")]
    while cursor.take(","):
        numbers.append(cursor.token)
        values.append(cursor.read_number("number"))
    if len(values) == 1:
        if values[0] != int(values[0]) or abs(values[0]) >= 2**53:
            cursor.fail("an id is a whole number", at=numbers[0].at)
        return IdFilter(ids=(int(values[0]),), at=at)
    if len(values) != 4:
        cursor.fail(
            f"{len(values)} numbers are neither an id nor a box",
            "ids: (id:1,2,3); box: (south,west,north,east)",
            at,
        )
    return make_box(cursor, values, at)


def make_box(cursor: Cursor, values: list[float], at: int) -> BoxFilter:
    """Return the box of south, west, north, east, checked."""
    south, west, north, east = values
    order = "the order is south,west,north,east"
    if not (-90 <= south <= 90 and -90 <= north <= 90):
        cursor.fail("a latitude of this box is outside -90…90", order, at)
    if not (-180 <= west <= 180 and -180 <= east <= 180):
        cursor.fail("a longitude of this box is outside -180…180", order, at)
    if south > north:
        cursor.fail("the south of this box lies north of its north", order, at)
    return BoxFilter(south=south, west=west, north=north, east=east, at=at)


def parse_box(cursor: Cursor, at: int) -> BoxFilter:
    """Parse `south,west,north,east`."""
    values = [cursor.read_number("south")]
    for name in ("west", "north", "east"):
        cursor.expect(",", "a box is south,west,north,east")
        values.append(cursor.read_number(name))
    return make_box(cursor, values, at)


def _parse_recursion(cursor: Cursor, kind: str, at: int) -> Filter:
    token = cursor.advance()
    letter = token.text
    if not set(_RECURSION_TYPES[letter].split()) & set(_KINDS[kind].split()):
        given = _RECURSION_TYPES[letter].replace(" ", " or ")
        cursor.fail(f"({letter}) gives {given} elements, no {kind}", f"write {given}", token.at)
    source = cursor.read_source()
    role: str | None = None
    positions: list[int] = []
    if cursor.take(":"):
        if cursor.token.kind == STRING:
            role = decode_string(cursor.advance().text)
        while cursor.token.kind == NUMBER or cursor.at("-", ","):
            cursor.take(",")
            positions.append(cursor.read_integer("position"))
        if role is None and not positions:
            cursor.fail(f"a role or position expected, found {cursor.found()}", '(r:"outer")')
    return RecursionFilter(
        direction=letter, source=source, role=role, positions=tuple(positions), at=at
    )


def _parse_ids(cursor: Cursor, at: int) -> Filter:
    cursor.expect(":")
    return IdFilter(ids=_read_ids(cursor), at=at)


def _read_ids(cursor: Cursor) -> tuple[int, ...]:
    ids = [cursor.read_integer("id")]
    while cursor.take(","):
        ids.append(cursor.read_integer("id"))
    return tuple(ids)


def _parse_around(cursor: Cursor, at: int) -> Filter:
    source = cursor.read_source()
    cursor.expect(":", "write (around:radius,lat,lon)")
    radius_at = cursor.token.at
    radius_m = cursor.read_number("radius in meters")
    if radius_m < 0:
        cursor.fail("the radius must not be negative", at=radius_at)
    points = []
    while cursor.take(","):
        latitude = cursor.read_latitude()
        cursor.expect(",", "points are latitude,longitude")
        points.append((latitude, cursor.read_longitude()))
    return AroundFilter(radius_m=radius_m, points=tuple(points), source=source, at=at)


def _parse_polygon(cursor: Cursor, at: int) -> Filter:
    cursor.expect(":", 'write (poly:"lat lon lat lon lat lon")')
    text_at = cursor.token.at
    if cursor.token.kind != STRING:
        cursor.fail(f"a text expected, found {cursor.found()}", '(poly:"lat lon lat lon lat lon")')
    words = decode_string(cursor.advance().text).replace(",", " ").split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        cursor.fail("a polygon holds numbers only", '(poly:"lat lon lat lon lat lon")', text_at)
    if len(numbers) % 2:
        cursor.fail(f"{len(numbers)} numbers do not make points", "each needs lat and lon", text_at)
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if len(set(points)) < 3:
        cursor.fail("a polygon needs three different points", at=text_at)
    for index, (latitude, longitude) in enumerate(points):
        if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
            cursor.fail(
                f"point {index + 1} ({latitude:g} {longitude:g}) lies off the map",
                "the order is lat lon",
                text_at,
            )
    return PolygonFilter(points=points, at=at)


def _parse_area(cursor: Cursor, at: int) -> Filter:
    if cursor.take(":"):
        if cursor.at("."):
            return AreaFilter(source=cursor.read_source(), at=at)
        return AreaFilter(ids=_read_ids(cursor), at=at)
    return AreaFilter(source=cursor.read_source(), at=at)


def _parse_pivot(cursor: Cursor, at: int) -> Filter:
    return PivotFilter(source=cursor.read_source(), at=at)


def _parse_user(cursor: Cursor, at: int) -> UserFilter:
    cursor.expect(":")
    names = [cursor.read_text("user name")]
    while cursor.take(","):
        names.append(cursor.read_text("user name"))
    return UserFilter(names=tuple(names), at=at)


def _parse_uid(cursor: Cursor, at: int) -> UserFilter:
    cursor.expect(":")
    return UserFilter(uids=_read_ids(cursor), at=at)


def _parse_user_touched(cursor: Cursor, at: int) -> Filter:
    return msgspec.structs.replace(_parse_user(cursor, at), touched=True)


def _parse_uid_touched(cursor: Cursor, at: int) -> Filter:
    return msgspec.structs.replace(_parse_uid(cursor, at), touched=True)


def _parse_newer(cursor: Cursor, at: int) -> Filter:
    cursor.expect(":")
    return NewerFilter(since_s=cursor.read_time("date"), at=at)


def _parse_changed(cursor: Cursor, at: int) -> Filter:
    cursor.expect(":", 'write (changed:"2025-01-31T00:00:00Z")')
    since_s = cursor.read_time("date")
    until_s = cursor.read_time("date") if cursor.take(",") else None
    return ChangedFilter(since_s=since_s, until_s=until_s, at=at)


def _parse_condition(cursor: Cursor, at: int) -> Filter:
    cursor.expect(":", "write (if: condition)")
    return ConditionFilter(condition=parse_value(cursor, ELEMENT), at=at)


def _link_parser(kind: str) -> Callable[[Cursor, int], Filter]:
    def parse(cursor: Cursor, at: int) -> Filter:
        source = cursor.read_source()
        cursor.expect(":", f"write ({kind}:2-)")
        low = cursor.read_integer("number")
        high: int | None = low
        if cursor.take("-"):
            high = cursor.read_integer("number") if cursor.token.kind == NUMBER else None
        return LinkFilter(kind=kind, low=low, high=high, source=source, at=at)

    return parse


_CRITERIA: Final[dict[str, Callable[[Cursor, int], Filter | Refused]]] = {
    "id": _parse_ids,
    "around": _parse_around,
    "poly": _parse_polygon,
    "area": _parse_area,
    "pivot": _parse_pivot,
    "user": _parse_user,
    "uid": _parse_uid,
    "user_touched": _parse_user_touched,
    "uid_touched": _parse_uid_touched,
    "newer": _parse_newer,
    "changed": _parse_changed,
    "if": _parse_condition,
    "way_cnt": _link_parser("way_cnt"),
    "way_link": _link_parser("way_link"),
}
