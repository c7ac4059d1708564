"""Parsing of Overpass QL: settings and statements.

Hand-written recursive descent over the tokens of one query. Follows the language as its original
reads it (overpass-api 0.7.62); what is refused is parsed as well, so that the refusal can say so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mapyard.overpass.parse.criteria import parse_box, parse_filters
from mapyard.overpass.parse.cursor import Cursor, suggest
from mapyard.overpass.parse.lexer import END, NUMBER, WORD
from mapyard.overpass.parse.settings import parse_settings
from mapyard.overpass.parse.syntax import (
    DEFAULT_SET,
    Complete,
    Difference,
    For,
    Foreach,
    If,
    IsIn,
    Item,
    Local,
    Make,
    MapToArea,
    Out,
    Program,
    Query,
    Recurse,
    Refused,
    SetFilter,
    Statement,
    Union,
)
from mapyard.overpass.parse.text import Source
from mapyard.overpass.parse.values import ELEMENT, SET, parse_assignments, parse_value

QUERY_KINDS: Final = {
    "node": "node", "way": "way", "rel": "relation", "relation": "relation", "nwr": "nwr",
    "nw": "nw", "wr": "wr", "nr": "nr", "derived": "derived", "area": "area",
}  # fmt: skip
_OUT_MODES: Final = {"ids", "skel", "body", "tags", "meta", "count"}
_OUT_WORDS: Final = sorted(_OUT_MODES | {"geom", "bb", "center", "asc", "qt", "noids", "quirks"})
_SQL: Final = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
_HISTORY: Final = "the data holds only the newest version of each element"


class _Parser:
    """One run over one query."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.refused: list[Refused] = []
        self.has_global_box = False

    def refuse(self, what: str, instead: str, at: int) -> Refused:
        """Return and keep the refusal of something that parses."""
        refused = Refused(what=what, instead=instead, at=at)
        self.refused.append(refused)
        return refused


def parse(source: Source) -> Program:
    """Return the syntax of a query; raises InvalidQuery with line, column and a hint."""
    cursor = Cursor(source)
    parser = _Parser(cursor)
    settings, refused = parse_settings(cursor)
    parser.refused.extend(refused)
    parser.has_global_box = settings.box is not None
    statements = []
    while cursor.token.kind != END:
        if not cursor.take(";"):
            statements.append(_parse_statement(parser))
    return Program(settings=settings, statements=tuple(statements), refused=tuple(parser.refused))


def _parse_statement(parser: _Parser) -> Statement:
    cursor = parser.cursor
    cursor.enter()
    at = cursor.token.at
    block = _BLOCKS.get(cursor.token.text) if cursor.token.kind != "string" else None
    if block is not None:
        statement = block(parser)
    else:
        statement = _parse_simple(parser, at)
        if cursor.token.kind != END or cursor.depth > 1:
            cursor.expect(";", "every statement ends with ;")
        else:
            cursor.fail("the last statement is not closed", "every statement ends with ;")
    cursor.leave()
    return statement


def _parse_simple(parser: _Parser, at: int) -> Statement:
    cursor = parser.cursor
    source = DEFAULT_SET
    has_source = cursor.at(".")
    if has_source:
        source = cursor.read_source()
    word = cursor.token.text
    parse = _STATEMENTS.get(word) if cursor.token.kind != "string" else None
    if parse is not None:
        return parse(parser, source, at)
    if has_source:
        if cursor.at("[", "("):
            cursor.fail(
                f".{source} needs a type to be filtered", f"write node.{source}… or nwr.{source}…"
            )
        if cursor.token.kind == WORD:
            cursor.fail(
                f"unknown statement {cursor.found()}", suggest(word, [*_STATEMENTS, *_BLOCKS])
            )
        return Item(source=source, into=cursor.read_into(), at=at)
    kind = QUERY_KINDS.get(word) if cursor.token.kind == WORD else None
    if kind is None:
        cursor.fail(f"a statement expected, found {cursor.found()}", _statement_hint(cursor))
    cursor.advance()
    return _parse_query(parser, kind, at)


def _statement_hint(cursor: Cursor) -> str:
    if cursor.at("["):
        return (
            "settings come first, each in brackets, then one ;"
            if cursor.index
            else "write node[…], way[…] or relation[…]"
        )
    if cursor.token.text.upper() in _SQL:
        return "this looks like SQL; here it is written node[amenity=cafe](south,west,north,east);"
    if cursor.at(")", "}"):
        return "there is no opening bracket for it"
    if cursor.token.kind == WORD:
        return suggest(cursor.token.text, [*QUERY_KINDS, *_STATEMENTS, *_BLOCKS])
    return ""


def _parse_query(parser: _Parser, kind: str, at: int) -> Statement:
    cursor = parser.cursor
    parsed = parse_filters(cursor, kind)
    filters = []
    for item in parsed:
        if isinstance(item, Refused):
            parser.refused.append(item)
        else:
            filters.append(item)
    if not parsed and cursor.at("{"):
        cursor.fail("unexpected '{'", "filters stand in brackets: node[key=value]")
    into = cursor.read_into()
    if not parsed and not (parser.has_global_box and kind not in ("area", "derived")):
        cursor.fail(
            "a query needs a filter",
            "narrow it with [key=value] or (south,west,north,east), or set [bbox:…] for all",
            at,
        )
    if kind == "derived" and any(not isinstance(item, SetFilter) for item in filters):
        parser.refuse("derived with filters", "use derived.set", at)
    return Query(kind=kind, filters=tuple(filters), into=into, at=at)


def _parse_members(parser: _Parser, closing: str) -> tuple[Statement, ...]:
    """Parse statements up to a closing bracket, and go behind it."""
    cursor = parser.cursor
    statements: list[Statement] = []
    while not cursor.at(closing):
        if cursor.token.kind == END:
            cursor.fail(f"'{closing}' is missing", "a block is not closed")
        if not cursor.take(";"):
            statements.append(_parse_statement(parser))
    cursor.advance()
    return tuple(statements)


def _parse_union(parser: _Parser) -> Statement:
    cursor = parser.cursor
    at = cursor.advance().at
    members: list[Statement] = []
    minus_at: int | None = None
    while not cursor.at(")"):
        if cursor.token.kind == END:
            cursor.fail("')' is missing", "the union is not closed")
        if cursor.at("-"):
            if minus_at is not None or len(members) != 1:
                cursor.fail("a difference has two members", "write ( A; - B; );")
            minus_at = cursor.advance().at
        elif cursor.take(";"):
            continue
        members.append(_parse_statement(parser))
        if minus_at is not None and len(members) > 2:
            cursor.fail(
                "a difference has two members", "put a union around: ( A; - (B; C;); );", minus_at
            )
    cursor.advance()
    if minus_at is not None and len(members) < 2:
        cursor.fail("a difference has two members", "write ( A; - B; );", minus_at)
    into = cursor.read_into()
    cursor.expect(";", "every statement ends with ;")
    if minus_at is not None:
        return Difference(first=members[0], second=members[1], into=into, at=at)
    return Union(members=tuple(members), into=into, at=at)


def _parse_body(parser: _Parser) -> tuple[Statement, ...]:
    """Parse the statements of a block in `( )` or `{ }`, with an optional `;` behind."""
    cursor = parser.cursor
    if not cursor.at("(", "{"):
        cursor.fail(f"'{{' expected, found {cursor.found()}", "a block stands in { }")
    closing = ")" if cursor.advance().text == "(" else "}"
    return _parse_members(parser, closing)


def _parse_foreach(parser: _Parser) -> Statement:
    cursor = parser.cursor
    at = cursor.advance().at
    source = cursor.read_source()
    into = cursor.read_into()
    body = _parse_body(parser)
    cursor.take(";")
    return Foreach(body=body, source=source, into=into, at=at)


def _parse_for(parser: _Parser) -> Statement:
    cursor = parser.cursor
    at = cursor.advance().at
    source = cursor.read_source()
    into = cursor.read_into()
    cursor.expect("(", 'write for (t["key"]) { … }')
    value = parse_value(cursor, ELEMENT)
    cursor.expect(")")
    body = _parse_body(parser)
    cursor.take(";")
    return For(value=value, body=body, source=source, into=into, at=at)


def _parse_if(parser: _Parser) -> Statement:
    cursor = parser.cursor
    at = cursor.advance().at
    cursor.expect("(", "write if (count(nodes) > 0) { … }")
    condition = parse_value(cursor, SET)
    cursor.expect(")")
    then = _parse_body(parser)
    otherwise = _parse_body(parser) if cursor.take("else") else ()
    cursor.take(";")
    return If(condition=condition, then=then, otherwise=otherwise, at=at)


def _parse_complete(parser: _Parser) -> Statement:
    cursor = parser.cursor
    at = cursor.advance().at
    limit = 4096
    if cursor.at("(") and cursor.ahead().kind == NUMBER:
        cursor.advance()
        limit_at = cursor.token.at
        limit = cursor.read_integer("maximum number of loops")
        if not 1 <= limit <= 1_048_576:
            cursor.fail("the number of loops is 1…1048576", at=limit_at)
        cursor.expect(")")
    source = cursor.read_source()
    into = cursor.read_into()
    body = _parse_body(parser)
    cursor.take(";")
    return Complete(body=body, limit=limit, source=source, into=into, at=at)


def _parse_retro(parser: _Parser) -> Statement:
    cursor = parser.cursor
    at = cursor.advance().at
    cursor.expect("(")
    parse_value(cursor, SET)
    cursor.expect(")")
    _parse_body(parser)
    cursor.take(";")
    return parser.refuse("retro", _HISTORY, at)


def _parse_timeline(parser: _Parser) -> Statement:
    cursor = parser.cursor
    at = cursor.advance().at
    cursor.expect("(")
    cursor.read_word("element type")
    cursor.expect(",")
    cursor.read_integer("id")
    if cursor.take(","):
        cursor.read_integer("version")
    cursor.expect(")")
    cursor.read_into()
    cursor.expect(";")
    return parser.refuse("timeline", _HISTORY, at)


def _parse_out(parser: _Parser, source: str, at: int) -> Statement:
    cursor = parser.cursor
    cursor.advance()
    mode, geometry, order, limit, show_ids, box = "body", "none", "asc", None, True, None
    while not cursor.at(";") and cursor.token.kind != END:
        word = cursor.token.text
        word_at = cursor.token.at
        if cursor.token.kind == NUMBER:
            limit = cursor.read_integer("limit")
        elif cursor.take("("):
            box = parse_box(cursor, word_at)
            cursor.expect(")")
        elif cursor.token.kind != WORD:
            cursor.fail(
                f"a word of out expected, found {cursor.found()}", "every statement ends with ;"
            )
        else:
            cursor.advance()
            if word in _OUT_MODES:
                mode = word
            elif word in ("geom", "bb", "center"):
                geometry = word
            elif word in ("asc", "qt"):
                order = word
            elif word == "noids":
                show_ids = False
            elif word == "quirks":
                parser.refuse("out quirks", "use out meta", word_at)
            else:
                cursor.fail(f"unknown word '{word}' in out", _out_hint(word), word_at)
    return Out(
        mode=mode, geometry=geometry, order=order, limit=limit, show_ids=show_ids, box=box,
        source=source, at=at,
    )  # fmt: skip


def _out_hint(word: str) -> str:
    if word in ("sort", "distance", "order"):
        return "the order is asc or qt; for the nearest first ask /api/v1/features/nearby"
    if word in ("json", "xml", "csv"):
        return f"the format is a setting: [out:{word}]; before the first statement"
    if word in QUERY_KINDS or word in _STATEMENTS:
        return "the out before it ends with ;"
    return suggest(word, _OUT_WORDS)


def _parse_recurse(parser: _Parser, source: str, at: int) -> Statement:
    direction = parser.cursor.advance().text
    return Recurse(direction=direction, source=source, into=parser.cursor.read_into(), at=at)


def _parse_is_in(parser: _Parser, source: str, at: int) -> Statement:
    cursor = parser.cursor
    cursor.advance()
    point = None
    if cursor.take("("):
        latitude = cursor.read_latitude()
        cursor.expect(",", "write is_in(lat,lon)")
        point = (latitude, cursor.read_longitude())
        cursor.expect(")")
    return IsIn(point=point, source=source, into=cursor.read_into(), at=at)


def _parse_map_to_area(parser: _Parser, source: str, at: int) -> Statement:
    parser.cursor.advance()
    return MapToArea(source=source, into=parser.cursor.read_into(), at=at)


def _parse_make(parser: _Parser, source: str, at: int) -> Statement:
    cursor = parser.cursor
    per_element = cursor.advance().text == "convert"
    type_name = cursor.read_word("type of the new element")
    assignments = parse_assignments(cursor, per_element=per_element)
    return Make(
        type_name=type_name, assignments=assignments, per_element=per_element, source=source,
        into=cursor.read_into(), at=at,
    )  # fmt: skip


def _parse_local(parser: _Parser, source: str, at: int) -> Statement:
    cursor = parser.cursor
    cursor.advance()
    detail, box = "l", None
    if cursor.token.kind == WORD:
        detail_at = cursor.token.at
        detail = cursor.advance().text
        if detail not in ("l", "ll", "llb"):
            cursor.fail(f"local does not know '{detail}'", "write local l, ll or llb", detail_at)
    if cursor.take("("):
        box = parse_box(cursor, at)
        cursor.expect(")")
    return Local(detail=detail, box=box, source=source, into=cursor.read_into(), at=at)


def _parse_compare(parser: _Parser, source: str, at: int) -> Statement:
    cursor = parser.cursor
    cursor.advance()
    if cursor.take("("):
        if cursor.take("delta"):
            cursor.expect(":")
            parse_value(cursor, ELEMENT)
        cursor.expect(")")
    cursor.read_into()
    if cursor.at("(", "{"):
        _parse_body(parser)
    return parser.refuse("compare", _HISTORY, at)


_BLOCKS: Final[dict[str, Callable[[_Parser], Statement]]] = {
    "(": _parse_union,
    "foreach": _parse_foreach,
    "for": _parse_for,
    "if": _parse_if,
    "complete": _parse_complete,
    "retro": _parse_retro,
    "timeline": _parse_timeline,
}
_STATEMENTS: Final[dict[str, Callable[[_Parser, str, int], Statement]]] = {
    "out": _parse_out,
    ">": _parse_recurse,
    ">>": _parse_recurse,
    "<": _parse_recurse,
    "<<": _parse_recurse,
    "is_in": _parse_is_in,
    "map_to_area": _parse_map_to_area,
    "make": _parse_make,
    "convert": _parse_make,
    "local": _parse_local,
    "compare": _parse_compare,
}
