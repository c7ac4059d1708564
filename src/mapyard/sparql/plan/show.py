"""Parts of a query as text, for plans and messages: as short as they read."""

from __future__ import annotations

from typing import Final

from mapyard.sparql.plan.algebra import (
    CHAIN,
    Aggregate,
    Alternative,
    Bgp,
    Call,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    LeftJoin,
    Nearest,
    Negated,
    Node,
    OrderBy,
    Path,
    Pattern,
    Project,
    Remote,
    Repeat,
    Sequence,
    Service,
    Slice,
    TriplePattern,
    Values,
    Var,
)
from mapyard.sparql.terms.prefixes import GEOMETRY_TEXT, shorten_iri
from mapyard.sparql.terms.terms import (
    RDF_TYPE,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    TripleTerm,
    format_term,
)

#: Longer texts of a plan are cut: constants may be polygons.
_LENGTH: Final = 160
#: Names of operators as the algebra of SPARQL has them.
NAMES: Final = {
    "Bgp": "pattern", "Join": "join", "LeftJoin": "optional", "Union": "union", "Minus": "minus",
    "Filter": "filter", "Extend": "bind", "Graph": "graph", "Service": "service",
    "Remote": "service",
    "Nearest": "nearest", "Values": "values", "Group": "group", "OrderBy": "order",
    "Project": "select", "Distinct": "distinct", "Slice": "slice",
}  # fmt: skip
_OPERATORS: Final = ("&&", "||", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/")


def show_pattern(pattern: Pattern) -> str:
    """Return what an operator is done with."""
    match pattern:
        case Filter(_, filters) | LeftJoin(_, _, filters):
            return _cut(" && ".join(map(show_expression, filters)))
        case Extend(_, var, expression):
            return _cut(f"{_var(var)} := {show_expression(expression)}")
        case Bgp(triples):
            return "" if triples else "nothing"
        case Graph(name, _) | Service(name, _):
            return show_node(name)
        case Remote():
            return f"<{pattern.endpoint}>"
        case Nearest():
            sides = f"{_var(pattern.left_shape)} {_var(pattern.right_shape)}"
            return f"{pattern.count} of {sides} within {pattern.max_distance_m:g} m"
        case Values(variables, rows):
            return f"{' '.join(map(_var, variables))}, {len(rows)} rows"
        case Group(_, keys, aggregates):
            by = [_var(v) if e is None else show_expression(e) for v, e in keys]
            return _cut(f"by {' '.join(by) or 'nothing'}: {', '.join(_calls(aggregates))}")
        case OrderBy(_, keys):
            return _cut(", ".join(f"{show_expression(e)}{' DESC' if d else ''}" for e, d in keys))
        case Project(_, variables):
            return _cut(" ".join(map(_var, variables)))
        case Slice(_, offset, limit):
            return f"OFFSET {offset} LIMIT {'none' if limit is None else limit}"
    return ""


def _calls(aggregates: tuple[tuple[Var, Aggregate], ...]) -> list[str]:
    return [show_expression(aggregate) for _, aggregate in aggregates]


def show_triple(triple: TriplePattern) -> str:
    """Return a triple pattern."""
    parts = (show_node(triple.subject), show_path(triple.predicate), show_node(triple.object))
    return _cut(" ".join(parts))


def show_node(node: Node) -> str:
    """Return a variable or a term."""
    return _var(node) if isinstance(node, Var) else _term(node)


def show_path(path: Node | Path) -> str:
    """Return a predicate or a path."""
    match path:
        case Var() | BlankNode() | Literal():
            return show_node(path)
        case Iri(value):
            if value == GEOMETRY_TEXT:
                return "geo:hasGeometry/geo:asWKT"
            return "a" if value == RDF_TYPE else shorten_iri(value)
        case Inverse(inner):
            return f"^{_within(inner)}"
        case Sequence(left, right):
            return f"{_within(left)}/{_within(right)}"
        case Alternative(left, right):
            return f"({show_path(left)}|{show_path(right)})"
        case Repeat(inner, zero, many):
            return _within(inner) + ("?" if not many else "*" if zero else "+")
        case Negated(forward, backward):
            names = [*map(show_path, forward), *("^" + show_path(iri) for iri in backward)]
            return f"!({'|'.join(names)})"


def _within(path: Path) -> str:
    text = show_path(path)
    return f"({text})" if isinstance(path, Sequence | Inverse | Repeat) else text


def show_expression(expression: Expression) -> str:
    """Return an expression, operators between their operands."""
    match expression:
        case Var():
            return _var(expression)
        case Exists(_, negated):
            return f"{'NOT ' if negated else ''}EXISTS {{ … }}"
        case Aggregate(name, arg, distinct):
            inner = "*" if arg is None else show_expression(arg)
            return f"{_function(name)}({'DISTINCT ' if distinct else ''}{inner})"
        case Call(name, (left, right)) if name in _OPERATORS:
            return f"{_operand(left)} {name} {_operand(right)}"
        case Call(name, args) if name == CHAIN:
            parts = [p.lexical if i % 2 and isinstance(p, Literal) else _operand(p)
                     for i, p in enumerate(args)]  # fmt: skip
            return " ".join(parts)
        case Call("!", (inner,)):
            return f"!{_operand(inner)}"
        case Call("IN", (left, *rest)):
            return f"{_operand(left)} IN ({', '.join(map(show_expression, rest))})"
        case Call(name, args):
            return f"{_function(name)}({', '.join(map(show_expression, args))})"
        case Iri() | Literal() | TripleTerm():
            return _term(expression)


def _operand(expression: Expression) -> str:
    text = show_expression(expression)
    needs = isinstance(expression, Call) and expression.name in (*_OPERATORS, CHAIN)
    return f"({text})" if needs else text


def _function(name: str) -> str:
    return shorten_iri(name) if ":" in name else name


def _var(var: Var) -> str:
    # Variables that no query spells stand for blank nodes and steps of paths.
    return f"?{var.name}" if not var.name.startswith(" ") else f"_:{var.name.strip(' _')}"


def _term(term: Iri | BlankNode | Literal | TripleTerm) -> str:
    if isinstance(term, Iri):
        return shorten_iri(term.value)
    if isinstance(term, Literal) and term.datatype != XSD_STRING and not term.language:
        return _cut(f'"{term.lexical}"') + f"^^{shorten_iri(term.datatype)}"
    return _cut(format_term(term))


def _cut(text: str) -> str:
    return text if len(text) <= _LENGTH else text[: _LENGTH - 1] + "…"
