"""The abstract syntax of Overpass QL: small frozen structs, made by the parser.

`at` is an offset in the parsed text; `Source` turns it into line and column. Set names come without
the dot; `_` is the default set. Points are (latitude, longitude), the order of the language.
"""

from __future__ import annotations

import msgspec

DEFAULT_SET = "_"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all syntax: where it stands."""

    at: int = 0


# ---------------------------------------------------------------- values


class Literal(Node, frozen=True):
    """A constant; values are texts that operators read as numbers where they can."""

    text: str


class Operation(Node, frozen=True):
    """An operator over one (`!`, `-`), two or, for equal neighbours, more operands (left fold)."""

    operator: str
    operands: tuple[Value, ...]


class Ternary(Node, frozen=True):
    """`condition ? then : otherwise`."""

    condition: Value
    then: Value
    otherwise: Value


class TagValue(Node, frozen=True):
    """`t[key]`: the value of a tag, empty where missing."""

    key: Value


class GenericValue(Node, frozen=True):
    """`::`: the value of the key that a generic assignment is at."""


class Call(Node, frozen=True):
    """`name(arguments)` or `set.name(arguments)`; `source` is None where no set was written."""

    name: str
    arguments: tuple[Value, ...] = ()
    source: str | None = None


class SetProperty(Node, frozen=True):
    """`set.val`: the value that a `for` loop is at."""

    source: str
    name: str


type Value = Literal | Operation | Ternary | TagValue | GenericValue | Call | SetProperty


# ---------------------------------------------------------------- filters of a query


class KeyFilter(Node, frozen=True):
    """`[key]` or `[!key]`."""

    key: str
    negated: bool = False


class TagFilter(Node, frozen=True):
    """`[key=value]`; negated also keeps elements without the key."""

    key: str
    value: str
    negated: bool = False


class PatternFilter(Node, frozen=True):
    """`[key~pattern]`; negated also keeps elements without the key."""

    key: str
    pattern: str
    ignore_case: bool = False
    negated: bool = False


class KeyPatternFilter(Node, frozen=True):
    """`[~key_pattern~pattern]`: some tag matches both."""

    key_pattern: str
    pattern: str
    ignore_case: bool = False
    negated: bool = False


class SetFilter(Node, frozen=True):
    """`.name`: elements of that set."""

    source: str


class IdFilter(Node, frozen=True):
    """`(1)`, `(id:1,2,3)`."""

    ids: tuple[int, ...]


class BoxFilter(Node, frozen=True):
    """`(south,west,north,east)`; west > east crosses the antimeridian."""

    south: float
    west: float
    north: float
    east: float


class AroundFilter(Node, frozen=True):
    """`(around:radius_m,lat,lon,…)` around a point or a line, else around the elements of a set."""

    radius_m: float
    points: tuple[tuple[float, float], ...] = ()
    source: str = DEFAULT_SET


class PolygonFilter(Node, frozen=True):
    """`(poly:"lat lon …")`: points as (lat, lon)."""

    points: tuple[tuple[float, float], ...]


class AreaFilter(Node, frozen=True):
    """`(area)`, `(area.set)` or `(area:id,…)`."""

    source: str = DEFAULT_SET
    ids: tuple[int, ...] = ()


class PivotFilter(Node, frozen=True):
    """`(pivot.set)`: the elements that the areas of a set were made of."""

    source: str = DEFAULT_SET


class UserFilter(Node, frozen=True):
    """`(user:…)` or `(uid:…)`: the last editor; `touched` is any editor as far as is known."""

    names: tuple[str, ...] = ()
    uids: tuple[int, ...] = ()
    touched: bool = False


class NewerFilter(Node, frozen=True):
    """`(newer:"date")` as seconds since 1970."""

    since_s: int


class ChangedFilter(Node, frozen=True):
    """`(changed:"a","b")` as seconds since 1970; `until_s` is None where open."""

    since_s: int
    until_s: int | None = None


class ConditionFilter(Node, frozen=True):
    """`(if: value)`."""

    condition: Value


class RecursionFilter(Node, frozen=True):
    """`(w.set:"role")`, `(bn:1,-1)` and the like, also `<`, `<<`, `>`, `>>`."""

    direction: str
    source: str = DEFAULT_SET
    role: str | None = None
    positions: tuple[int, ...] = ()


class LinkFilter(Node, frozen=True):
    """`(way_cnt.set:low-high)`, `(way_link.set:low-high)`; `high` is None where open."""

    kind: str
    low: int
    high: int | None
    source: str = DEFAULT_SET


type Filter = (
    KeyFilter
    | TagFilter
    | PatternFilter
    | KeyPatternFilter
    | SetFilter
    | IdFilter
    | BoxFilter
    | AroundFilter
    | PolygonFilter
    | AreaFilter
    | PivotFilter
    | UserFilter
    | NewerFilter
    | ChangedFilter
    | ConditionFilter
    | RecursionFilter
    | LinkFilter
)


# ---------------------------------------------------------------- statements


class Query(Node, frozen=True):
    """`node[…](…)->.into`; kind is node, way, relation, nwr, nw, wr, nr, derived or area."""

    kind: str
    filters: tuple[Filter, ...]
    into: str = DEFAULT_SET


class Item(Node, frozen=True):
    """`.name->.into`: a copy of a set."""

    source: str
    into: str = DEFAULT_SET


class Union(Node, frozen=True):
    """`( …; …; )->.into`."""

    members: tuple[Statement, ...]
    into: str = DEFAULT_SET


class Difference(Node, frozen=True):
    """`( …; - …; )->.into`."""

    first: Statement
    second: Statement
    into: str = DEFAULT_SET


class Recurse(Node, frozen=True):
    """`.source > ->.into`; direction is one of < << > >>."""

    direction: str
    source: str = DEFAULT_SET
    into: str = DEFAULT_SET


class IsIn(Node, frozen=True):
    """`is_in(lat,lon)` or `.source is_in`: the areas that hold a point or the nodes of a set."""

    point: tuple[float, float] | None
    source: str = DEFAULT_SET
    into: str = DEFAULT_SET


class MapToArea(Node, frozen=True):
    """`.source map_to_area ->.into`."""

    source: str = DEFAULT_SET
    into: str = DEFAULT_SET


class Foreach(Node, frozen=True):
    """`foreach.source->.into( … )`: once per element."""

    body: tuple[Statement, ...]
    source: str = DEFAULT_SET
    into: str = DEFAULT_SET


class For(Node, frozen=True):
    """`for.source->.into(value){ … }`: once per distinct value."""

    value: Value
    body: tuple[Statement, ...]
    source: str = DEFAULT_SET
    into: str = DEFAULT_SET


class If(Node, frozen=True):
    """`if(value){ … }else{ … }`."""

    condition: Value
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


class Complete(Node, frozen=True):
    """`complete(limit).source->.into{ … }`: until nothing is added."""

    body: tuple[Statement, ...]
    limit: int = 4096
    source: str = DEFAULT_SET
    into: str = DEFAULT_SET


class Assignment(Node, frozen=True):
    """One item of make and convert.

    kind: `tag` (key=value), `generic` (::=value or set::=value), `id`, `geom`, `drop` (!key).
    """

    kind: str
    key: str = ""
    source: str | None = None
    value: Value | None = None


class Make(Node, frozen=True):
    """`make type key=value,…`: one derived element; `convert`: one per element of the source."""

    type_name: str
    assignments: tuple[Assignment, ...]
    per_element: bool
    source: str = DEFAULT_SET
    into: str = DEFAULT_SET


class Local(Node, frozen=True):
    """`.source local ll (s,w,n,e) ->.into`: a network; detail is l, ll (loose too) or llb (all)."""

    detail: str = "l"
    box: BoxFilter | None = None
    source: str = DEFAULT_SET
    into: str = DEFAULT_SET


class Out(Node, frozen=True):
    """`out` with its words; `geometry` is none, geom, bb or center; `limit` None is no limit."""

    mode: str = "body"
    geometry: str = "none"
    order: str = "asc"
    limit: int | None = None
    show_ids: bool = True
    box: BoxFilter | None = None
    source: str = DEFAULT_SET


class Refused(Node, frozen=True):
    """Grammar that parses but is not served: what it is and what to do instead."""

    what: str
    instead: str


type Statement = (
    Query
    | Item
    | Union
    | Difference
    | Recurse
    | IsIn
    | MapToArea
    | Foreach
    | For
    | If
    | Complete
    | Make
    | Local
    | Out
    | Refused
)


class CsvColumn(msgspec.Struct, frozen=True):
    """A column of `[out:csv(…)]`: a tag key, or with `is_meta` one of the `::` fields."""

    name: str
    is_meta: bool


class Category(msgspec.Struct, frozen=True):
    """A group of `[out:popup(…)]`: its title, which tags belong to it, and the key of titles.

    `alternatives` holds lists of (key, pattern, holds): all of one list have to fit.
    """

    title: str
    alternatives: tuple[tuple[tuple[str, str, bool], ...], ...]
    title_key: str


class Settings(msgspec.Struct, frozen=True):
    """The settings before the first statement; None where not given."""

    output: str | None = None
    timeout_s: float | None = None
    maxsize_bytes: int | None = None
    box: BoxFilter | None = None
    csv_columns: tuple[CsvColumn, ...] = ()
    categories: tuple[Category, ...] = ()
    csv_header: bool = True
    csv_separator: str = "\t"


class Program(msgspec.Struct, frozen=True):
    """A parsed query."""

    settings: Settings
    statements: tuple[Statement, ...]
    refused: tuple[Refused, ...] = ()
