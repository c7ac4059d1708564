"""CQL2, as text and as JSON, read into our filters.

Conditions on tags and one on place, joined by AND. What our filters cannot say is refused with its
name: an answer to half of a filter would look like one to the whole.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec
import orjson
import shapely
from shapely.geometry import mapping

from mapyard.errors import InvalidRequest
from mapyard.params.positions import Geometry, Problem, read_geometry

type Node = dict[str, Any]

MAX_TEXT: Final = 20_000
_MOST_DEPTH: Final = 20
_MOST_POINTS: Final = 10_000
GEOMETRY: Final = "geometry"
#: Operator → our predicate, and that of its negation.
_PREDICATES: Final[dict[str, tuple[str, str]]] = {
    "s_intersects": ("intersects", "not_intersects"),
    "s_within": ("within", "not_within"),
    "s_contains": ("contains", "not_contains"),
    "s_crosses": ("crosses", ""),
    "s_touches": ("touches", ""),
    "s_disjoint": ("not_intersects", "intersects"),
}
_TOKENS: Final = re.compile(
    r"""\s*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")+")
    | (?P<number>[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_:.@-]*)
    | (?P<sign><>|<=|>=|[=<>(),])
    )""",
    re.VERBOSE,
)
_SHAPES: Final = (
    "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "bbox",
)  # fmt: skip


class Wanted(NamedTuple):
    """What a filter asks for."""

    #: Pairs as in `tags[key]=value`.
    tags: tuple[tuple[str, str], ...] = ()
    predicate: str = ""
    shape: Geometry | None = None


def read_filter(text: str, language: str) -> Wanted:
    """Return what a filter asks for; raise InvalidRequest naming what is wrong or not served."""
    if not text:
        return Wanted()
    if len(text) > MAX_TEXT:
        raise _wrong(f"has {len(text)} characters, at most {MAX_TEXT}")
    if language == "cql2-json":
        try:
            node = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise _wrong("is no JSON") from None
    else:
        node = _Reader(text).read()
    return _Translation().translate(node)


def _wrong(problem: str) -> InvalidRequest:
    return InvalidRequest.of("filter", problem)


class _Reader:
    """Reads CQL2 text into the form of CQL2 JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text) and not text[at:].isspace():
            found = _TOKENS.match(text, at)
            if found is None:
                raise _wrong(f"character {at + 1}: {text[at : at + 10]!r} is not understood")
            kind = found.lastgroup or ""
            self._tokens.append((kind, found[kind], found.start(kind)))
            at = found.end()
        self._at = 0

    def read(self) -> Node:
        node = self._read_or(0)
        if self._at < len(self._tokens):
            raise self._unexpected("AND, OR or the end")
        return node

    def _peek(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            return "", ""
        kind, text, _ = self._tokens[self._at]
        return kind, text

    def _takes(self, *words: str) -> bool:
        """Step over words, if they are next."""
        for offset, word in enumerate(words):
            if self._at + offset >= len(self._tokens):
                return False
            kind, text, _ = self._tokens[self._at + offset]
            if kind not in ("name", "sign") or text.lower() != word:
                return False
        self._at += len(words)
        return True

    def _need(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._unexpected(sign)

    def _unexpected(self, wanted: str) -> InvalidRequest:
        if self._at >= len(self._tokens):
            return _wrong(f"ends where {wanted} is expected")
        _, text, at = self._tokens[self._at]
        return _wrong(f"character {at + 1}: {wanted} is expected, found {text[:40]!r}")

    def _read_or(self, depth: int) -> Node:
        if depth > _MOST_DEPTH:
            raise _wrong(f"is nested more than {_MOST_DEPTH} deep")
        parts = [self._read_and(depth)]
        while self._takes("or"):
            parts.append(self._read_and(depth))
        return parts[0] if len(parts) == 1 else {"op": "or", "args": parts}

    def _read_and(self, depth: int) -> Node:
        parts = [self._read_not(depth)]
        while self._takes("and"):
            parts.append(self._read_not(depth))
        return parts[0] if len(parts) == 1 else {"op": "and", "args": parts}

    def _read_not(self, depth: int) -> Node:
        if depth > _MOST_DEPTH:
            raise _wrong(f"is nested more than {_MOST_DEPTH} deep")
        if self._takes("not"):
            return {"op": "not", "args": [self._read_not(depth + 1)]}
        if self._takes("("):
            node = self._read_or(depth + 1)
            self._need(")")
            return node
        kind, text = self._peek()
        if kind == "name" and text.lower().startswith("s_"):
            return self._read_spatial(text.lower())
        return self._read_comparison()

    def _read_spatial(self, op: str) -> Node:
        self._at += 1
        self._need("(")
        args: list[Any] = []
        for _ in range(2):
            kind, text = self._peek()
            if kind == "name" and text.lower() in _SHAPES:
                args.append(self._read_shape())
            else:
                args.append({"property": self._read_property()})
            if len(args) == 1:
                self._need(",")
        self._need(")")
        return {"op": op, "args": args}

    def _read_shape(self) -> Any:
        """Return the GeoJSON of WKT, or a box."""
        start = self._tokens[self._at][2]
        name = self._tokens[self._at][1].lower()
        self._at += 1
        depth = 0
        while self._at < len(self._tokens):
            text = self._tokens[self._at][1]
            depth += {"(": 1, ")": -1}.get(text, 0)
            self._at += 1
            if depth == 0:
                break
        last = self._tokens[self._at - 1]
        whole = self._text[start : last[2] + len(last[1])]
        if name == "bbox":
            numbers = whole.partition("(")[2].rstrip(")").split(",")
            try:
                return {"bbox": [float(number) for number in numbers]}
            except ValueError:
                raise _wrong("BBOX has four numbers: west, south, east, north") from None
        try:
            return mapping(shapely.from_wkt(whole))
        except shapely.errors.ShapelyError:
            raise _wrong(f"character {start + 1}: {whole[:40]!r} is no WKT") from None

    def _read_property(self) -> str:
        kind, text = self._peek()
        if kind not in ("name", "quoted"):
            raise self._unexpected("the name of a property")
        self._at += 1
        return text[1:-1].replace('""', '"') if kind == "quoted" else text

    def _read_comparison(self) -> Node:
        of = {"property": self._read_property()}
        negated = self._takes("not")
        node: Node
        if self._takes("in"):
            self._need("(")
            values = [self._read_value()]
            while self._takes(","):
                values.append(self._read_value())
            self._need(")")
            node = {"op": "in", "args": [of, values]}
        elif self._takes("like"):
            node = {"op": "like", "args": [of, self._read_value()]}
        elif negated:
            raise self._unexpected("IN or LIKE")
        elif self._takes("is", "not", "null"):
            return {"op": "not", "args": [{"op": "isNull", "args": [of]}]}
        elif self._takes("is", "null"):
            return {"op": "isNull", "args": [of]}
        else:
            kind, sign = self._peek()
            if kind != "sign" or sign in "(),":
                raise self._unexpected("=, IN, LIKE or IS")
            self._at += 1
            node = {"op": sign, "args": [of, self._read_value()]}
        return {"op": "not", "args": [node]} if negated else node

    def _read_value(self) -> Any:
        kind, text = self._peek()
        if kind == "text":
            self._at += 1
            return text[1:-1].replace("''", "'")
        if kind == "number" or (kind == "name" and text.lower() in ("true", "false")):
            self._at += 1
            return text
        raise self._unexpected("a text in single quotes or a number")


class _Translation:
    """Collects what the parts of a conjunction ask for."""

    def __init__(self) -> None:
        self._tags: list[tuple[str, str]] = []
        self._predicate = ""
        self._shape: Geometry | None = None

    def translate(self, node: Any) -> Wanted:
        self._add(node, 0)
        return Wanted(tuple(self._tags), self._predicate, self._shape)

    def _add(self, node: Any, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise _wrong(f"is nested more than {_MOST_DEPTH} deep")
        if not isinstance(node, dict) or not isinstance(node.get("args"), list):
            raise _wrong('each part is {"op": …, "args": […]}')
        op, args = str(node.get("op")).lower(), node["args"]
        if op == "and":
            for part in args:
                self._add(part, depth + 1)
        elif op == "or":
            self._tags.append(_join_alternatives(args))
        elif op == "not":
            self._add_negated(args)
        elif op in _PREDICATES:
            self._set_predicate(_PREDICATES[op][0], args, op)
        else:
            self._tags.append(_read_condition(op, args))

    def _add_negated(self, args: list[Any]) -> None:
        (inner,) = args if len(args) == 1 else (None,)
        if isinstance(inner, dict) and isinstance(inner.get("args"), list):
            op = str(inner.get("op")).lower()
            if op == "isnull":
                self._tags.append((_read_name(inner["args"]), "*"))
                return
            if op in _PREDICATES and _PREDICATES[op][1]:
                self._set_predicate(_PREDICATES[op][1], inner["args"], op)
                return
        raise _wrong("NOT is served before IS NULL, S_INTERSECTS, S_WITHIN, S_CONTAINS, S_DISJOINT")

    def _set_predicate(self, predicate: str, args: list[Any], op: str) -> None:
        if self._predicate:
            raise _wrong("one condition on place is served; join the shapes before you ask")
        if len(args) != 2 or args[0] != {"property": GEOMETRY}:
            raise _wrong(f"{op.upper()} is of {GEOMETRY} and a shape, in this order")
        self._predicate, self._shape = predicate, _read_shape(args[1])


def _read_shape(value: Any) -> Geometry:
    if isinstance(value, dict) and "bbox" in value:
        box = value["bbox"]
        if not isinstance(box, list) or len(box) != 4:
            raise _wrong("a box has four numbers: west, south, east, north")
        west, south, east, north = box
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        value = {"type": "Polygon", "coordinates": [ring]}
    try:
        # Tuples of shapely become lists.
        return read_geometry(msgspec.json.decode(msgspec.json.encode(value)), limit=_MOST_POINTS)
    except Problem as problem:
        raise _wrong(f"the shape {problem}") from None


def _read_name(args: list[Any]) -> str:
    of = args[0] if args else None
    name = of.get("property") if isinstance(of, dict) else None
    if not isinstance(name, str) or not name or name == GEOMETRY:
        raise _wrong("a condition begins with the name of a property, which is the key of a tag")
    return name


def _read_condition(op: str, args: list[Any]) -> tuple[str, str]:
    if op not in ("=", "in", "like", "isnull") or len(args) != (1 if op == "isnull" else 2):
        raise _wrong(f"{op[:40]} is not served; =, IN, LIKE and IS NULL are, on texts")
    name = _read_name(args)
    if op == "isnull":
        return name, "!"
    values = args[1] if op == "in" and isinstance(args[1], list) else [args[1]]
    if not values or any(not isinstance(value, str | int | float) for value in values):
        raise _wrong(f"{name} is compared with a text")
    if op == "like":
        return name, "~" + _write_pattern(str(values[0]))
    return name, "|".join(escape(value) for value in values)


def escape(value: str | float) -> str:
    """Return a value as our tag filters have it, without their special meanings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return re.sub(r"([\\|*!~])", r"\\\1", str(value))


def _write_pattern(text: str) -> str:
    """Return the regular expression of a LIKE: % is anything, _ one character, \\ escapes."""
    pattern = ""
    characters = iter(text)
    for character in characters:
        if character == "\\":
            pattern += re.escape(next(characters, "\\"))
        else:
            pattern += {"%": ".*", "_": "."}.get(character) or re.escape(character)
    # A beginning alone is answered from the dictionary of values.
    return "^" + pattern.removesuffix(".*") if pattern.endswith(".*") else f"^{pattern}$"


def _join_alternatives(parts: list[Any]) -> tuple[str, str]:
    """Return `a|b` of equalities on one property."""
    found = [
        _read_condition(str(part.get("op")).lower(), part["args"])
        for part in parts
        if isinstance(part, dict)
        and str(part.get("op")).lower() in ("=", "in")
        and isinstance(part.get("args"), list)
    ]
    names = {name for name, _ in found}
    if len(found) != len(parts) or len(names) != 1:
        raise _wrong("OR is served between values of one property: a = 'x' OR a = 'y'")
    return found[0][0], "|".join(value for _, value in found)
