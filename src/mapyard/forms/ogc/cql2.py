"""CQL2, as text and as JSON, read into the conditions of features.

Properties are the keys of tags, and their values are texts: a text is compared with them letter by
letter, a number with those of them that are numbers. What cannot be said is refused with its name:
an answer to half of a filter would look like one to the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec
import orjson
import shapely
from shapely.geometry import mapping

from mapyard.errors import InvalidRequest
from mapyard.features.conditions import (
    MAX_CONDITIONS,
    Always,
    Condition,
    Either,
    Every,
    Not,
    iter_leaves,
)
from mapyard.features.regions import BoxRegion, Relation, ShapeRegion
from mapyard.features.tags import MAX_TEXT as MAX_VALUE
from mapyard.features.tags import MAX_VALUES, TagFilter
from mapyard.geo.bbox import Bbox
from mapyard.params.positions import Problem, read_geometry

type Node = dict[str, Any] | bool

MAX_TEXT: Final = 20_000
_MOST_DEPTH: Final = 20
_MOST_POINTS: Final = 10_000
GEOMETRY: Final = "geometry"
#: Operator → our relation, and that which it is when the shape comes first.
_RELATIONS: Final[dict[str, tuple[Relation, Relation]]] = {
    "s_intersects": ("intersects", "intersects"),
    "s_within": ("within", "contains"),
    "s_contains": ("contains", "within"),
    "s_crosses": ("crosses", "crosses"),
    "s_touches": ("touches", "touches"),
    "s_overlaps": ("overlaps", "overlaps"),
    "s_equals": ("equals", "equals"),
    "s_disjoint": ("intersects", "intersects"),
}
#: Comparison → that with its sides exchanged.
_COMPARISONS: Final = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
#: What is yes and no in the values of tags.
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_TOKENS: Final = re.compile(
    r"""\s*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")+")
    | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_:.@-]*)
    | (?P<sign><>|<=|>=|[=<>(),])
    )""",
    re.VERBOSE,
)
_SHAPES: Final = (
    "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
    "geometrycollection", "bbox",
)  # fmt: skip


def read_filter(text: str, language: str) -> Condition | None:
    """Return the condition of a filter, None of an empty one.

    Raises InvalidRequest naming what is wrong or not served.
    """
    if not text:
        return None
    if len(text) > MAX_TEXT:
        raise _wrong(f"has {len(text)} characters, at most {MAX_TEXT}")
    if language == "cql2-json":
        try:
            node = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise _wrong("is not JSON") from None
    else:
        node = _Reader(text).read()
    found = _read_condition(node, 0)
    count = sum(1 for _ in iter_leaves(found))
    if count > MAX_CONDITIONS:
        raise _wrong(f"has {count} conditions, at most {MAX_CONDITIONS}")
    return found


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
        if self._is_constant():
            self._at += 1
            return text.lower() == "true"
        return self._read_comparison()

    def _is_constant(self) -> bool:
        """Return whether TRUE or FALSE is next, as a condition of its own."""
        kind, text = self._peek()
        if kind != "name" or text.lower() not in ("true", "false"):
            return False
        following = self._tokens[self._at + 1 : self._at + 2]
        return not following or following[0][0] != "sign" or following[0][1] in "(),"

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
            raise _wrong(f"character {start + 1}: {whole[:40]!r} is not WKT") from None

    def _read_property(self) -> str:
        kind, text = self._peek()
        if kind not in ("name", "quoted"):
            raise self._unexpected("the name of a property")
        self._at += 1
        return text[1:-1].replace('""', '"') if kind == "quoted" else text

    def _read_comparison(self) -> Node:
        of = self._read_operand()
        negated = self._takes("not")
        node: Node
        if self._takes("in"):
            self._need("(")
            values = [self._read_operand()]
            while self._takes(","):
                values.append(self._read_operand())
            self._need(")")
            node = {"op": "in", "args": [of, values]}
        elif self._takes("like"):
            node = {"op": "like", "args": [of, self._read_operand()]}
        elif self._takes("between"):
            least = self._read_operand()
            self._need("and")
            node = {"op": "between", "args": [of, least, self._read_operand()]}
        elif negated:
            raise self._unexpected("IN, LIKE or BETWEEN")
        elif self._takes("is", "not", "null"):
            return {"op": "not", "args": [{"op": "isNull", "args": [of]}]}
        elif self._takes("is", "null"):
            return {"op": "isNull", "args": [of]}
        else:
            kind, sign = self._peek()
            if kind != "sign" or sign in "(),":
                raise self._unexpected("=, <, >, BETWEEN, IN, LIKE or IS")
            self._at += 1
            node = {"op": sign, "args": [of, self._read_operand()]}
        return {"op": "not", "args": [node]} if negated else node

    def _read_operand(self) -> Any:
        """Return a property, a text, a number, true or false, a date, or one of them by CASEI."""
        kind, text = self._peek()
        word = text.lower() if kind == "name" else ""
        if kind == "text":
            self._at += 1
            return text[1:-1].replace("''", "'")
        if kind == "number":
            self._at += 1
            return float(text)
        if word in ("true", "false"):
            self._at += 1
            return word == "true"
        if self._takes("casei", "("):
            inner = self._read_operand()
            self._need(")")
            return {"op": "casei", "args": [inner]}
        if word in ("date", "timestamp") and self._takes(word, "("):
            inner = self._read_operand()
            self._need(")")
            return {word: inner}
        if kind not in ("name", "quoted"):
            raise self._unexpected("a property, a text in single quotes or a number")
        return {"property": self._read_property()}


def _read_condition(node: Any, depth: int) -> Condition:
    """Return the condition of a part of CQL2 JSON."""
    if depth > _MOST_DEPTH:
        raise _wrong(f"is nested more than {_MOST_DEPTH} deep")
    if isinstance(node, bool):
        return Always(node)
    if not isinstance(node, dict) or not isinstance(node.get("args"), list):
        raise _wrong('each part is {"op": …, "args": […]}')
    op, args = str(node.get("op")).lower(), node["args"]
    if op in ("and", "or"):
        if not args:
            raise _wrong(f"{op.upper()} joins two conditions or more")
        parts = tuple(_read_condition(part, depth + 1) for part in args)
        return Every(parts) if op == "and" else Either(parts)
    if op == "not":
        if len(args) != 1:
            raise _wrong("NOT is of one condition")
        return Not(_read_condition(args[0], depth + 1))
    if op in _RELATIONS:
        region = _read_region(op, args)
        return Not(region) if op == "s_disjoint" else region
    reader = _OPERATORS.get(op)
    if reader is None:
        known = ", ".join(name.upper() for name in (*_OPERATORS, *_RELATIONS))
        raise _wrong(f"{op[:40]} is not served; AND, OR, NOT, {known} are")
    return reader(op, args)


def _read_region(op: str, args: list[Any]) -> Condition:
    place = {"property": GEOMETRY}
    if len(args) != 2 or (args[0] == place) == (args[1] == place):
        raise _wrong(f"{op.upper()} is of {GEOMETRY} and a shape")
    comes_second = args[1] == place
    shape = args[0 if comes_second else 1]
    relation = _RELATIONS[op][comes_second]
    if isinstance(shape, dict) and "bbox" in shape and relation == "intersects":
        return BoxRegion(_read_box(shape["bbox"]))
    if isinstance(shape, dict) and shape.get("type") == "GeometryCollection":
        parts = shape.get("geometries")
        if relation != "intersects" or not isinstance(parts, list | tuple) or not parts:
            raise _wrong("a collection of geometries goes with S_INTERSECTS and S_DISJOINT")
        regions = [ShapeRegion(relation, _read_shape(one), parameter="filter") for one in parts]
        return Either(tuple(regions))
    return ShapeRegion(relation, _read_shape(shape), parameter="filter")


def _read_box(box: Any) -> Bbox:
    if isinstance(box, list) and len(box) == 6:
        box = [*box[:2], *box[3:5]]
    if (
        not isinstance(box, list)
        or len(box) != 4
        or not all(
            isinstance(number, int | float) and not isinstance(number, bool) for number in box
        )
    ):
        raise _wrong("a box has four numbers: west, south, east, north")
    west, south, east, north = map(float, box)
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90):
        raise _wrong("a box has four numbers in degrees: west, south, east, north")
    return Bbox(west, south, east, north)


def _read_shape(value: Any) -> Any:
    """Return the geometry of GeoJSON, or of a box."""
    if isinstance(value, dict) and "bbox" in value:
        boxes = _read_box(value["bbox"]).split()
        return shapely.union_all([shapely.box(*box) for box in boxes])
    try:
        # Tuples of shapely become lists.
        found = read_geometry(msgspec.json.decode(msgspec.json.encode(value)), limit=_MOST_POINTS)
    except Problem as problem:
        raise _wrong(f"the shape {problem}") from None
    return found.shape


def _read_name(of: Any) -> str:
    name = of.get("property") if isinstance(of, dict) else None
    if not isinstance(name, str) or not name or name == GEOMETRY or len(name) > MAX_VALUE:
        raise _wrong("a comparison is of a property, which is the key of a tag, and a value")
    return name


def _read_literal(value: Any) -> str | float | bool:
    """Return a value that is written in the filter; dates are texts, as in the values of tags."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict) and len(value) == 1:
        for kind, pattern in (("date", _DATE), ("timestamp", _TIMESTAMP)):
            text = value.get(kind)
            if isinstance(text, str) and pattern.fullmatch(text):
                return text
    if not isinstance(value, str):
        raise _wrong("a property is compared with a text, a number, true, false or a DATE")
    if len(value) > MAX_VALUE:
        raise _wrong(f"a text has at most {MAX_VALUE} characters")
    return value


def _is_property(value: Any) -> bool:
    if isinstance(value, dict) and value.get("op") == "casei":
        args = value.get("args")
        return isinstance(args, list) and len(args) == 1 and _is_property(args[0])
    return isinstance(value, dict) and "property" in value


def _strip_case(value: Any) -> tuple[Any, bool]:
    """Return what is inside of CASEI, and whether it was."""
    if isinstance(value, dict) and str(value.get("op")).lower() == "casei":
        args = value.get("args")
        if not isinstance(args, list) or len(args) != 1:
            raise _wrong("CASEI is of one property or text")
        return args[0], True
    return value, False


def _compare(op: str, args: list[Any]) -> Condition:
    if len(args) != 2:
        raise _wrong(f"{op} has two sides")
    left, right = args
    if _is_property(right) and not _is_property(left):
        left, right, op = right, left, _COMPARISONS[op]
    (of, folded), (value, _) = _strip_case(left), _strip_case(right)
    name, literal = _read_name(of), _read_literal(value)
    if op == "<>":
        return Not(_equal(name, [literal], folded=folded))
    if op == "=":
        return _equal(name, [literal], folded=folded)
    if isinstance(literal, bool) or folded:
        raise _wrong(f"{op} compares with a text, a number or a DATE")
    return _order(name, op, literal)


def _order(name: str, op: str, literal: str | float) -> TagFilter:
    if isinstance(literal, str):
        return TagFilter(name, "text", (op, literal))
    return TagFilter(name, "number", (op, repr(float(literal))))


def _equal(name: str, literals: list[str | float | bool], *, folded: bool) -> Condition:
    """Return that a property has one of several values."""
    texts: list[str] = []
    parts: list[Condition] = []
    for literal in literals:
        if isinstance(literal, bool):
            texts += _TRUE if literal else _FALSE
        elif isinstance(literal, str):
            texts.append(literal)
        else:
            parts.append(TagFilter(name, "number", ("=", repr(float(literal)))))
    if texts and folded:
        pattern = "|".join(re.escape(text) for text in texts)
        parts.append(TagFilter(name, "regex", (f"(?i)^(?:{pattern})$",)))
    elif texts:
        parts.append(TagFilter(name, "in", tuple(sorted(set(texts)))))
    return parts[0] if len(parts) == 1 else Either(tuple(parts))


def _read_in(_op: str, args: list[Any]) -> Condition:
    if len(args) != 2 or not isinstance(args[1], list) or not args[1]:
        raise _wrong("IN is of a property and a list of values")
    if len(args[1]) > MAX_VALUES:
        raise _wrong(f"IN has {len(args[1])} values, at most {MAX_VALUES}")
    of, folded = _strip_case(args[0])
    literals = [_read_literal(_strip_case(value)[0]) for value in args[1]]
    return _equal(_read_name(of), literals, folded=folded)


def _read_between(_op: str, args: list[Any]) -> Condition:
    if len(args) != 3:
        raise _wrong("BETWEEN is of a property and two values")
    name, least, most = _read_name(args[0]), _read_literal(args[1]), _read_literal(args[2])
    if isinstance(least, bool) or isinstance(most, bool):
        raise _wrong("BETWEEN is of numbers, texts or DATEs")
    return Every((_order(name, ">=", least), _order(name, "<=", most)))


def _read_like(_op: str, args: list[Any]) -> Condition:
    if len(args) != 2:
        raise _wrong("LIKE is of a property and a text")
    (of, folded), (value, _) = _strip_case(args[0]), _strip_case(args[1])
    literal = _read_literal(value)
    if not isinstance(literal, str):
        raise _wrong("LIKE is of a property and a text")
    pattern = _write_pattern(literal)
    return TagFilter(_read_name(of), "regex", (f"(?i){pattern}" if folded else pattern,))


def _read_null(_op: str, args: list[Any]) -> Condition:
    if len(args) != 1:
        raise _wrong("IS NULL is of one property")
    if args[0] == {"property": GEOMETRY}:
        raise _wrong(f"IS NULL is of a tag, not of {GEOMETRY}")
    return TagFilter(_read_name(args[0]), "absent")


type _Read = Callable[[str, list[Any]], Condition]
_OPERATORS: Final[dict[str, _Read]] = {
    **dict.fromkeys(_COMPARISONS, _compare),
    "between": _read_between, "in": _read_in, "like": _read_like, "isnull": _read_null,
}  # fmt: skip


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
