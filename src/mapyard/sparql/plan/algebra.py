"""The SPARQL algebra: plain immutable nodes, made by the parser and run by evaluate.py.

Names follow section 18 of the SPARQL 1.1 Query Language recommendation. A variable is a `Var`;
blank nodes of a pattern are variables too, with a name that no query can spell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from typing import Literal as OneOf

from mapyard.sparql.terms.terms import BlankNode, Iri, Literal, Term, TripleTerm


@dataclass(frozen=True, slots=True)
class Var:
    """A variable, without its question mark; names that begin with a space are hidden."""

    name: str


Node = Var | Iri | BlankNode | Literal


def balance[T](parts: list[T], join: Callable[[T, T], T]) -> T:
    """Return many parts of an associative operator as a tree, as flat as may be, in their order."""
    while len(parts) > 1:
        pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) & ~1 :]
    return parts[0]


# Expressions ------------------------------------------------------------------------------------

#: Name of a call whose arguments are operands with their operators between, `(a, "+", b, "-", c)`.
CHAIN: Final = " chain"


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in in upper case, an operator (`+`, `=`, `!`, `&&` …), or a function's IRI."""

    name: str
    args: tuple[Expression, ...]
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """EXISTS, or NOT EXISTS when `negated`."""

    pattern: Pattern
    negated: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; `arg` is None for COUNT(*)."""

    name: str
    arg: Expression | None
    distinct: bool
    separator: str = " "


Expression = Var | Iri | Literal | TripleTerm | Call | Exists | Aggregate


# Property paths ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inverse:
    """`^path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    """`left/right`."""

    left: Path
    right: Path


@dataclass(frozen=True, slots=True)
class Alternative:
    """`left|right`."""

    left: Path
    right: Path


@dataclass(frozen=True, slots=True)
class Repeat:
    """`path?` (0 to 1), `path*` (0 to any), `path+` (1 to any)."""

    path: Path
    zero: bool
    many: bool


@dataclass(frozen=True, slots=True)
class Negated:
    """`!(a|^b)`: any predicate but those, forward and backward."""

    forward: tuple[Iri, ...]
    backward: tuple[Iri, ...]


Path = Iri | Inverse | Sequence | Alternative | Repeat | Negated


# Patterns ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """A triple with variables; the predicate is a path where it is not a plain IRI."""

    subject: Node
    predicate: Node | Path
    object: Node


@dataclass(frozen=True, slots=True)
class Bgp:
    """A basic graph pattern, with the filters that concern only its own variables.

    `keep` names the variables that anything outside needs; None is all of them.
    """

    triples: tuple[TriplePattern, ...]
    filters: tuple[Expression, ...] = ()
    keep: frozenset[Var] | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """Both patterns, with equal bindings."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """OPTIONAL; `filters` are those of the optional group itself."""

    left: Pattern
    right: Pattern
    filters: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Union:
    """Either pattern."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Minus:
    """Left without what is compatible with right."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Filter:
    """The solutions for which every expression is true."""

    pattern: Pattern
    filters: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Extend:
    """BIND, and expressions of SELECT."""

    pattern: Pattern
    var: Var
    expression: Expression


@dataclass(frozen=True, slots=True)
class Graph:
    """GRAPH name-or-variable { … }."""

    name: Node
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Service:
    """SERVICE; `pattern` is answered by the service of that name, if we know it."""

    name: Node
    pattern: Pattern
    silent: bool
    line: int
    column: int
    #: The pattern as the query spells it, in its braces, and the declarations that it needs.
    text: str = ""
    prologue: str = ""


@dataclass(frozen=True, slots=True)
class Remote:
    """A SERVICE that another server answers; `bound` are the variables it surely binds."""

    endpoint: str
    text: str
    prologue: str
    variables: tuple[Var, ...]
    bound: frozenset[Var]
    silent: bool


@dataclass(frozen=True, slots=True)
class Nearest:
    """QLever's spatial search: for each solution of left the `count` nearest of right."""

    left: Pattern
    right: Pattern
    left_shape: Var
    right_shape: Var
    count: int
    max_distance_m: float
    distance: Var | None


@dataclass(frozen=True, slots=True)
class Values:
    """Inline data; None is UNDEF."""

    variables: tuple[Var, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """GROUP BY: keys are (variable, expression or None), aggregates get hidden variables."""

    pattern: Pattern
    keys: tuple[tuple[Var, Expression | None], ...]
    aggregates: tuple[tuple[Var, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class OrderBy:
    """ORDER BY: (expression, descending)."""

    pattern: Pattern
    keys: tuple[tuple[Expression, bool], ...]


@dataclass(frozen=True, slots=True)
class Project:
    """The visible variables, in order."""

    pattern: Pattern
    variables: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """DISTINCT; also serves REDUCED."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Slice:
    """OFFSET and LIMIT."""

    pattern: Pattern
    offset: int
    limit: int | None


Pattern = (
    Bgp
    | Join
    | LeftJoin
    | Union
    | Minus
    | Filter
    | Extend
    | Graph
    | Service
    | Remote
    | Nearest
    | Values
    | Group
    | OrderBy
    | Project
    | Distinct
    | Slice
)

#: The pattern with one empty solution.
UNIT = Bgp(())


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. `template` is CONSTRUCT's, `described` the terms of DESCRIBE."""

    form: OneOf["select", "ask", "construct", "describe"]
    pattern: Pattern
    variables: tuple[Var, ...] = ()
    template: tuple[TriplePattern, ...] = ()
    described: tuple[Node, ...] = ()
    from_graphs: tuple[Iri, ...] = ()
    from_named: tuple[Iri, ...] = ()
    prefixes: dict[str, str] = field(default_factory=dict, hash=False, compare=False)
