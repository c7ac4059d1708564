"""Parameters of an endpoint: a msgspec struct is definition, parser, validation and schema.

Field types: int, float, bool, str, Literal, list[…], dict[str, Any], Any, nested structs (for
`output[fields]`), unions with None, and `Position`, `Positions`, `Bbox`, `Geometry`, `Tags`.
Bounds come from `msgspec.Meta`; `spelled()` makes a Meta that also names other spellings.
All problems of a request are reported together, each under its parameter's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
import msgspec.inspect as mi

from mapyard.errors import InvalidRequest, MapyardError, TooLarge, Unsupported
from mapyard.geo.bbox import Bbox
from mapyard.params.field_types import describe_type
from mapyard.params.positions import (
    Geometry,
    Position,
    Positions,
    Problem,
    TooMany,
    make_position,
    read_bbox,
    read_geometry,
    read_number,
    read_position,
    read_positions,
    shorten,
)
from mapyard.params.raw import Raw, Repeated

__all__ = [
    "Bbox", "Field", "Geometry", "Params", "Parser", "Position", "Positions", "Tags", "parser_of",
    "spelled",
]  # fmt: skip

#: Whole numbers beyond ±2^53 are refused: no id, count or limit is larger.
MAX_INTEGER: Final = 2**53
TRUE: Final = frozenset(("true", "1"))
FALSE: Final = frozenset(("false", "0"))

Reader = Callable[[Any], Any]


class Params(msgspec.Struct):
    """Base of all parameter structs. `__post_init__` may check fields against each other."""


class NoParams(Params):
    """No parameters."""


class Tags(NamedTuple):
    """Tag filters as sent: `tags[key]=value` as pairs, `tags=…` as texts, to be ANDed."""

    pairs: tuple[tuple[str, str], ...] = ()
    texts: tuple[str, ...] = ()


def spelled(
    description: str,
    *names: str,
    pair: bool = False,
    lng_first: bool = False,
    split: bool = True,
    max_points: int | None = None,
    examples: list[Any] | None = None,
    **bounds: Any,
) -> msgspec.Meta:
    """Return a Meta with what the parser needs beyond bounds.

    Args:
        description: for the reference.
        names: other names under which the parameter may come.
        pair: a Position that may also come as the two parameters lat and lng (or lon).
        lng_first: texts of positions are `lng,lat|lng,lat`.
        split: whether the text of a list is cut at commas.
        max_points: upper bound for Positions and Geometry; more is 413.
        examples: for the reference.
        bounds: ge, gt, le, lt, min_length, max_length, pattern as in msgspec.Meta.
    """
    extra = {
        "names": names, "pair": pair, "lng_first": lng_first, "split": split,
        "max_points": max_points,
    }  # fmt: skip
    return msgspec.Meta(description=description, extra=extra, examples=examples, **bounds)


class Field(NamedTuple):
    """One parameter, compiled."""

    attribute: str
    name: str
    names: tuple[str, ...]
    read: Reader
    required: bool
    pair: bool
    default: Any
    description: str
    examples: tuple[Any, ...]
    type: mi.Type  # without Metadata and None
    nullable: bool
    extra: Mapping[str, Any]
    #: Of a nested struct.
    parser: Parser | None


class Parser:
    """Reads raw parameters into one struct class."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct = struct
        self.fields = tuple(_compile_field(field) for field in msgspec.structs.fields(struct))
        #: By name, places in `fields`; and the places of those that are looked at in any case.
        self._places: dict[str, list[int]] = {}
        for place, field in enumerate(self.fields):
            for name in field.names:
                self._places.setdefault(name, []).append(place)
        self._always = {
            place for place, field in enumerate(self.fields) if field.required or field.pair
        }
        self._nested = tuple(field for field in self.fields if field.parser is not None)
        self.names = frozenset(
            [name for field in self.fields for name in field.names]
            + (["lat", "lng", "lon"] if any(field.pair for field in self.fields) else [])
        )

    def find_unknown(self, raw: Raw) -> list[str]:
        """Return the names that mean nothing here, those inside nested ones as `output[name]`."""
        unknown = [name for name in raw if name not in self.names]
        for field in self._nested:
            name, value = _find(field, raw)
            if isinstance(value, dict) and field.parser is not None:
                unknown += [f"{name}[{inner}]" for inner in field.parser.find_unknown(value)]
        return unknown

    def parse(self, raw: Raw, refused: Mapping[str, str] | None = None) -> Any:
        """Return the struct; raise InvalidRequest, TooLarge or Unsupported.

        Args:
            raw: merged parameters; unknown ones are ignored.
            refused: names that clients know and this endpoint does not serve → what to do.
        """
        if refused:
            _refuse(raw, refused)
        values: dict[str, Any] = {}
        problems: dict[str, list[str]] = {}
        # Most requests give a few of many.
        given = self._always.union(*(self._places.get(name, ()) for name in raw))
        for place in sorted(given):
            field = self.fields[place]
            try:
                name, value = _find(field, raw)
                if name is not None:
                    values[field.attribute] = field.read(value)
                elif field.pair:
                    position = _read_pair(raw, field.required, problems)
                    if position is not None:
                        values[field.attribute] = position
                elif field.required:
                    problems[field.name] = ["is required"]
            except Problem as problem:
                problems.setdefault(name or field.name, []).append(str(problem))
            except NestedProblems as nested:
                problems.update({f"{name}{key}": found for key, found in nested.problems.items()})
            except TooMany as error:
                raise TooLarge(
                    f"{name}: {error.count} items, at most {error.limit}",
                    details={"parameter": name, "limit": error.limit, "count": error.count},
                ) from None
        if problems:
            raise invalid(problems)
        try:
            return self.struct(**values)
        except MapyardError:
            raise
        except ValueError as error:  # of a __post_init__
            raise InvalidRequest(str(error)) from None


@cache
def parser_of(struct: type[msgspec.Struct]) -> Parser:
    """Return the parser of a struct class; many endpoints share one, and making it takes long."""
    return Parser(struct)


def invalid(problems: Mapping[str, list[str]]) -> InvalidRequest:
    """Return the error for several parameters: the message names them all."""
    message = "; ".join(f"{name}: {', '.join(found)}" for name, found in problems.items())
    return InvalidRequest(message, details=dict(problems))


class NestedProblems(Exception):  # noqa: N818 - a signal between parsers
    """Problems inside a nested struct, keyed by `[key]`."""

    def __init__(self, problems: dict[str, list[str]]) -> None:
        super().__init__(problems)
        self.problems = problems


def refuse_unknown(parser: Parser, raw: Raw, refused: Mapping[str, str] | None = None) -> None:
    """Raise Unsupported naming what a parser does not know; `refused` have reasons of their own.

    For bodies that describe a problem: there a member read over would change the answer in silence.
    """
    unknown = [name for name in parser.find_unknown(raw) if name not in (refused or ())]
    if unknown:
        known = ", ".join(sorted(parser.names))
        raise Unsupported(
            f"{', '.join(name[:60] for name in unknown[:20])}: not understood, so the answer would "
            f"not be to your question; leave out what is not among: {known}",
            details={name[:60]: ["is not understood"] for name in unknown[:20]},
        )


def _refuse(raw: Raw, refused: Mapping[str, str]) -> None:
    found = {name: [reason] for name, reason in refused.items() if name in raw}
    if found:
        message = "; ".join(f"{name}: {reason[0]}" for name, reason in found.items())
        raise Unsupported(message, details=found)


def _find(field: Field, raw: Raw) -> tuple[str | None, Any]:
    for name in field.names:
        if name in raw:
            return name, raw[name]
    return None, None


def _read_pair(raw: Raw, required: bool, problems: dict[str, list[str]]) -> Position | None:
    lat = raw.get("lat")
    lon_name = "lon" if "lon" in raw and "lng" not in raw else "lng"
    lon = raw.get(lon_name)
    if lat is None and lon is None and not required:
        return None
    for name, value in (("lat", lat), (lon_name, lon)):
        if value is None:
            problems[name] = ["is required"]
    if lat is None or lon is None:
        return None
    lat, lon = _last(lat), _last(lon)
    try:
        return make_position(lat, lon)
    except Problem as problem:
        problems["lat" if str(problem).startswith("latitude") else lon_name] = [str(problem)]
        return None


def _compile_field(field: msgspec.structs.FieldInfo) -> Field:
    found = describe_type(field.type)
    default = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    return Field(
        attribute=field.name,
        name=field.encode_name,
        names=(field.encode_name, *found.extra.get("names", ())),
        read=make_reader(found.node, found.extra),
        required=field.required,
        pair=bool(found.extra.get("pair")),
        default=default,
        description=found.description,
        examples=found.examples,
        type=found.node,
        nullable=found.nullable,
        extra=found.extra,
        parser=parser_of(found.node.cls) if isinstance(found.node, mi.StructType) else None,
    )


def make_reader(node: mi.Type, extra: Mapping[str, Any]) -> Reader:
    """Return the function that reads a raw value into this type, or raises `Problem`."""
    if isinstance(node, mi.Metadata):
        return make_reader(node.type, {**(node.extra or {}), **extra})
    cls = getattr(node, "cls", None)
    max_points = extra.get("max_points")
    if cls is Position:
        return lambda value: read_position(_last(value))
    if cls is Positions:
        lng_first = bool(extra.get("lng_first"))
        return lambda value: read_positions(_joined(value), lng_first=lng_first, limit=max_points)
    if cls is Geometry:
        return lambda value: read_geometry(_last(value), limit=max_points)
    if cls is Bbox:
        return lambda value: read_bbox(_last(value))
    if cls is Tags:
        return _read_tags
    match node:
        case mi.BoolType():
            return _read_bool
        case mi.IntType() | mi.FloatType():
            return _make_number_reader(node)
        case mi.StrType():
            return _make_text_reader(node)
        case mi.LiteralType():
            return _make_choice_reader(node.values)
        case mi.ListType() | mi.VarTupleType():
            return _make_list_reader(node, extra)
        case mi.StructType():
            return _make_struct_reader(parser_of(node.cls))
        case mi.DictType():
            return _read_mapping
        case mi.UnionType():
            return _make_union_reader([make_reader(kind, extra) for kind in node.types])
        case mi.AnyType():
            return lambda value: value
        case _:
            raise TypeError(f"no reader for parameters of type {node}")


def _last(value: Any) -> Any:
    return value[-1] if isinstance(value, Repeated) else value


def _joined(value: Any) -> Any:
    return "|".join(value) if isinstance(value, Repeated) else value


def _read_bool(value: Any) -> bool:
    value = _last(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = value.strip().lower()
        if text in TRUE or text in FALSE:
            return text in TRUE
    elif isinstance(value, int | float) and value in (0, 1):
        return value == 1
    raise Problem(f"must be true or false, got {shorten(value)}")


def _make_number_reader(node: mi.IntType | mi.FloatType) -> Reader:
    whole = isinstance(node, mi.IntType)
    ge, gt, le, lt = node.ge, node.gt, node.le, node.lt

    def read(value: Any) -> int | float:
        value = _last(value)
        if type(value) is str and whole and value.isascii() and value.isdigit() and len(value) < 17:
            number: int | float = int(value)
        else:
            number = read_number(value)
            if whole:
                if number != int(number):
                    raise Problem(f"must be a whole number, got {shorten(value)}")
                number = int(number)
        if whole and not -MAX_INTEGER <= number <= MAX_INTEGER:
            raise Problem("is out of range")
        if ge is not None and number < ge:
            raise Problem(f"must be at least {ge:g}, got {number:g}")
        if gt is not None and number <= gt:
            raise Problem(f"must be more than {gt:g}, got {number:g}")
        if le is not None and number > le:
            raise Problem(f"must be at most {le:g}, got {number:g}")
        if lt is not None and number >= lt:
            raise Problem(f"must be less than {lt:g}, got {number:g}")
        return number

    return read


def _make_text_reader(node: mi.StrType) -> Reader:
    pattern = re.compile(node.pattern) if node.pattern else None
    shortest, longest = node.min_length or 0, node.max_length

    def read(value: Any) -> str:
        value = _last(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise Problem(f"must be text, got {shorten(value)}")
        if len(value) < shortest:
            raise Problem(f"must have at least {shortest} characters")
        if longest is not None and len(value) > longest:
            raise Problem(f"must have at most {longest} characters, got {len(value)}")
        if pattern is not None and pattern.search(value) is None:
            raise Problem(f"must match {pattern.pattern}, got {shorten(value)}")
        return value

    return read


def _make_choice_reader(choices: tuple[Any, ...]) -> Reader:
    by_text = {str(choice).lower(): choice for choice in choices}

    def read(value: Any) -> Any:
        value = _last(value)
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, str | int | float):
            choice = by_text.get(str(value).strip().lower())
            if choice is not None:
                return choice
        raise Problem(f"must be one of {', '.join(map(str, choices))}; got {shorten(value)}")

    return read


def _make_list_reader(node: mi.ListType | mi.VarTupleType, extra: Mapping[str, Any]) -> Reader:
    split = extra.get("split", True)
    read_item = make_reader(node.item_type, extra)
    shortest, longest = node.min_length or 0, node.max_length
    as_tuple = isinstance(node, mi.VarTupleType)
    takes_none = isinstance(node.item_type, mi.Metadata) and bool(
        (node.item_type.extra or {}).get("nullable")
    )

    def read(value: Any) -> Any:
        if isinstance(value, str):
            value = _load_list(value) if value.startswith("[") else Repeated([value])
        if isinstance(value, Repeated):
            if split:
                value = [item.strip() for text in value for item in text.split(",")]
                value = [item for item in value if item]
        elif not isinstance(value, list):
            if isinstance(value, dict) and not isinstance(node.item_type, mi.StructType):
                raise Problem("must be a list")
            value = [value]
        if len(value) < shortest:
            raise Problem(f"must have at least {shortest} items, got {len(value)}")
        if longest is not None and len(value) > longest:
            raise TooMany(longest, len(value))
        items: list[Any] = []
        for index, item in enumerate(value):
            if takes_none and item in (None, "null"):
                items.append(None)
                continue
            try:
                items.append(read_item(item))
            except Problem as problem:
                if len(value) == 1:
                    raise
                raise Problem(f"item {index} (counted from 0): {problem}") from None
            except NestedProblems as nested:
                raise NestedProblems(
                    {f"[{index}]{key}": found for key, found in nested.problems.items()}
                ) from None
        return tuple(items) if as_tuple else items

    return read


def _load_list(text: str) -> list[Any]:
    """Return a JSON list that came as text; other text in brackets is one item."""
    try:
        loaded: list[Any] = msgspec.json.decode(text, type=list)
    except msgspec.DecodeError:
        return Repeated([text])
    return loaded


def _make_struct_reader(parser: Parser) -> Reader:
    def read(value: Any) -> Any:
        value = _read_mapping(value)
        present = {name: item for name, item in value.items() if item not in (None, "")}
        if getattr(parser.struct, "refuses_unknown", False):
            unknown = parser.find_unknown(present)
            if unknown:
                known = ", ".join(sorted(parser.names))
                problem = f"is not understood; known are {known}"
                raise NestedProblems({f"[{name[:60]}]": [problem] for name in unknown[:20]})
        try:
            return parser.parse(present)
        except InvalidRequest as error:
            if not error.details:
                raise Problem(error.message) from None
            nested = {f"[{key}]": found for key, found in error.details.items()}
            raise NestedProblems(nested) from None

    return read


def _make_union_reader(readers: list[Reader]) -> Reader:
    def read(value: Any) -> Any:
        problem = Problem("is not valid")
        for reader in readers:
            try:
                return reader(value)
            except Problem as found:
                problem = found
        raise problem

    return read


def _read_mapping(value: Any) -> dict[str, Any]:
    value = _last(value)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            raise Problem("is not valid JSON") from None
    if not isinstance(value, dict):
        raise Problem(f"must be an object, got {shorten(value)}")
    return value


def _read_tags(value: Any) -> Tags:
    pairs: list[tuple[str, str]] = []
    texts: list[str] = []
    mapping = value if isinstance(value, dict) else {"": value}
    for key, item in mapping.items():
        for text in item if isinstance(item, Repeated) else [_write_tag_value(key, item)]:
            if not key:
                texts.append(text)
            elif text:
                pairs.append((key, text))
    return Tags(tuple(pairs), tuple(text for text in texts if text))


def _write_tag_value(key: str, value: Any) -> str:
    """Return the text of a JSON value: true is any value, false is absence, a list is OR."""
    if isinstance(value, bool):
        return "*" if value else "!"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        if not key:
            raise Problem('a list needs a key: {"tags": {"amenity": ["cafe", "bar"]}}')
        return "|".join(re.sub(r"([\\|*!~])", r"\\\1", str(item)) for item in value)
    if value is None:
        return ""
    raise Problem(f"{key}: must be a text or a list of texts, got {shorten(value)}")
