"""Group graph patterns: triples, property paths, OPTIONAL, UNION, MINUS, FILTER, BIND, …"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NoReturn

from mapyard.errors import TooLarge, Unsupported
from mapyard.sparql.parse.expression import ExpressionParser
from mapyard.sparql.plan.algebra import (
    UNIT,
    Alternative,
    Bgp,
    Expression,
    Extend,
    Filter,
    Graph,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    Negated,
    Node,
    Path,
    Pattern,
    Repeat,
    Sequence,
    Service,
    TriplePattern,
    Union,
    Values,
    Var,
    balance,
)
from mapyard.sparql.plan.labels import add_labels, is_label_service
from mapyard.sparql.plan.variables import visible
from mapyard.sparql.terms.terms import RDF, RDF_TYPE, BlankNode, Iri, Term, TripleTerm

#: Triple patterns of one query, each step of a path counted: planning looks at all of them.
MAX_PATTERNS: Final = 2_000
_FIRST, _REST, _NIL = Iri(RDF + "first"), Iri(RDF + "rest"), Iri(RDF + "nil")


def join(left: Pattern, right: Pattern) -> Pattern:
    """Return the join, with neighboring basic graph patterns made one."""
    if left == UNIT:
        return right
    if right == UNIT:
        return left
    if isinstance(left, Bgp) and isinstance(right, Bgp) and not left.filters + right.filters:
        return Bgp(left.triples + right.triples)
    return Join(left, right)


class PatternParser(ExpressionParser):
    """Parses group graph patterns to the algebra."""

    def __init__(self, text: str, base: str = "") -> None:
        super().__init__(text, base)
        self._fresh = 0
        self._patterns = self._steps = 0
        self._in_template = False
        self._labels: dict[str, int] = {}  # blank node label → the pattern that uses it
        self._bgp_number = 0
        # The filters of the group parsed last, not those of a group inside its braces.
        self._own_filter: Filter | None = None
        self._labelers: list[Service] = []  # the label services of the group

    @cached_property
    def _variable_names(self) -> frozenset[str]:
        return frozenset(token.text[1:] for token in self.tokens if token.kind == "var")

    def parse_subselect(self) -> Pattern:
        """Parse a SELECT inside a group."""
        raise NotImplementedError

    # Groups --------------------------------------------------------------------------------------

    def parse_group(self) -> Pattern:
        """Parse `{ … }` or `{ SELECT … }`."""
        self.expect("{")
        with self.nested():
            aggregates_allowed, self.aggregates_allowed = self.aggregates_allowed, False
            is_select = self.at_name("SELECT")
            pattern = self.parse_subselect() if is_select else self._parse_elements()
            self.aggregates_allowed = aggregates_allowed
        self.expect("}")
        return pattern

    def _parse_elements(self) -> Pattern:
        group: Pattern = UNIT
        filters: list[Expression] = []
        outer_labels, self._labelers = self._labelers, []
        self._bgp_number += 1
        while not self.at("}"):
            token = self.token
            keyword = token.text.upper() if token.kind == "name" else ""
            if keyword == "FILTER":
                self.index += 1
                filters.append(self.parse_constraint())
            elif (keyword and keyword not in ("TRUE", "FALSE")) or self.at("{"):
                group = self._parse_element(keyword, group)
                self._bgp_number += 1
            elif token.kind == "end":
                self.fail_expected("'}'")
            else:
                group = join(group, self._parse_triples_block())
                self._refuse_statements()
                if not (self.at("}") or self.at("{") or self.token.kind in ("name", "end")):
                    self.fail_expected("'.' or '}'")
                continue
            self.take(".")
        for service in self._labelers:  # they name what the whole group binds
            group = add_labels(group, service, self._variable_names)
        self._labelers = outer_labels
        if not filters:
            self._own_filter = None
            return group
        self._own_filter = Filter(group, tuple(filters))
        return self._own_filter

    def _parse_element(self, keyword: str, group: Pattern) -> Pattern:
        token = self.token
        match keyword:
            case "":
                return join(group, self._parse_union())
            case "OPTIONAL":
                self.index += 1
                right = self.parse_group()
                if isinstance(right, Filter) and right is self._own_filter:
                    return LeftJoin(group, right.pattern, right.filters)
                return LeftJoin(group, right)
            case "MINUS":
                self.index += 1
                return Minus(group, self.parse_group())
            case "BIND":
                self.index += 1
                return self._parse_bind(group)
            case "GRAPH":
                self.index += 1
                name = self.expect_var_or_iri()
                return join(group, Graph(name, self.parse_group()))
            case "SERVICE":
                self.index += 1
                silent = bool(self.take_name("SILENT"))
                name = self.expect_var_or_iri()
                line = self.text.count("\n", 0, token.position) + 1
                column = token.position - self.text.rfind("\n", 0, token.position)
                begin = self.index
                inner = self.parse_group()
                text, prologue = self._spell(begin, self.index)
                service = Service(name, inner, silent, line, column, text, prologue)
                if is_label_service(service):
                    self._labelers.append(service)
                    return group
                return join(group, service)
            case "VALUES":
                self.index += 1
                return join(group, self.parse_values())
        hint = ""
        if keyword in ("SELECT", "WHERE"):
            hint = "a subquery stands in braces of its own: { SELECT … }"
        return self.fail(f"{token.text!r} cannot begin a pattern", hint)

    def _spell(self, begin: int, end: int) -> tuple[str, str]:
        """Return tokens as they are spelled, and the declarations that they need."""
        tokens = self.tokens[begin:end]
        last = tokens[-1]
        text = self.text[tokens[0].position : last.position + len(last.text)]
        used = {t.text.partition(":")[0] for t in tokens if t.kind == "pname"}
        lines = [f"PREFIX {name}: <{self.prefixes[name]}>\n" for name in sorted(used)]
        return text, (f"BASE <{self.base}>\n" if self.base else "") + "".join(lines)

    def _parse_union(self) -> Pattern:
        parts = [self.parse_group()]
        while self.take_name("UNION"):
            parts.append(self.parse_group())
        return balance(parts, Union)

    def _parse_bind(self, group: Pattern) -> Pattern:
        self.expect("(")
        expression = self.parse_expression()
        self.expect_name("AS")
        token = self.token
        var = self.expect_var()
        self.expect(")")
        if var in visible(group):
            self.fail(f"?{var.name} is bound already before this BIND", "use a new name", token)
        return Extend(group, var, expression)

    def parse_values(self) -> Values:
        """Parse what follows VALUES: one variable or several, and rows."""
        if self.token.kind == "var":
            variables = (self.expect_var(),)
            self.expect("{")
            values = []
            while not self.take("}"):
                values.append((self._parse_data_value(),))
            return Values(variables, tuple(values))
        self.expect("(")
        names = []
        while not self.take(")"):
            token = self.token
            names.append(self.expect_var())
            if names.count(names[-1]) > 1:
                self.fail(f"{token.text} stands twice in these VALUES", token=token)
        self.expect("{")
        rows = []
        while not self.take("}"):
            token = self.token
            self.expect("(")
            row = []
            while not self.take(")"):
                row.append(self._parse_data_value())
            if len(row) != len(names):
                self.fail(f"{len(row)} values for {len(names)} variables", token=token)
            rows.append(tuple(row))
        return Values(tuple(names), tuple(rows))

    def _parse_data_value(self) -> Term | None:
        if self.take_name("UNDEF"):
            return None
        if self.at("<<("):
            return TripleTerm(*self.parse_triple_term(self._parse_data_value))  # type: ignore[arg-type] # checked there
        term = self.find_iri() or self.find_signed_number() or self.find_literal()
        return term if term is not None else self.fail_expected("a value or UNDEF")

    def expect_var(self) -> Var:
        """Step over a variable or fail."""
        if self.token.kind != "var":
            self.fail_expected("a variable")
        return Var(self.next().text[1:])

    def expect_var_or_iri(self) -> Var | Iri:
        """Step over a variable or an IRI or fail."""
        if self.token.kind == "var":
            return self.expect_var()
        return self.find_iri() or self.fail_expected("a variable or an IRI")

    # Triples -------------------------------------------------------------------------------------

    def _parse_triples_block(self) -> Pattern:
        triples: list[TriplePattern] = []
        unions: list[Pattern] = []
        while True:
            self._parse_same_subject(triples, unions)
            if not self.take(".") or not self._at_subject():
                break
        pattern: Pattern = Bgp(tuple(triples)) if triples else UNIT
        for union in unions:
            pattern = join(pattern, union)
        return pattern

    def parse_template(self) -> tuple[TriplePattern, ...]:
        """Parse `{ … }` of CONSTRUCT: triples only."""
        self.expect("{")
        self._in_template = True
        triples: list[TriplePattern] = []
        while not self.at("}"):
            self._parse_same_subject(triples, [])
            if not self.take("."):
                break
        self.expect("}")
        self._in_template = False
        return tuple(triples)

    def _at_subject(self) -> bool:
        token = self.token
        if token.kind == "punct":
            return token.text in ("(", "[", "+", "-")
        return token.kind not in ("end", "name") or token.text.lower() in ("true", "false")

    def _parse_same_subject(self, triples: list[TriplePattern], unions: list[Pattern]) -> None:
        nested = (self.at("[") and not self._at_anon()) or (self.at("(") and not self._at_nil())
        subject = self._parse_node(triples, unions)
        ends = self.at(".") or self.at("}") or self.token.kind == "name"
        if nested and ends and self.token.text != "a":
            return
        self._parse_properties(subject, triples, unions)

    def _at_anon(self) -> bool:
        return self.tokens[self.index + 1].text == "]"

    def _at_nil(self) -> bool:
        return self.tokens[self.index + 1].text == ")"

    def _parse_properties(
        self, subject: Node, triples: list[TriplePattern], unions: list[Pattern]
    ) -> None:
        while True:
            path = self._parse_verb()
            while True:
                target = self._parse_node(triples, unions)
                self._add(subject, path, target, triples, unions)
                self._refuse_statements()
                if not self.take(","):
                    break
            if not self.take(";"):
                return
            while self.take(";"):
                pass
            token = self.token
            ends = token.kind == "end" or (token.kind == "punct" and token.text in ".}])")
            if ends or (token.kind == "name" and token.text != "a"):
                return

    def _add(
        self,
        subject: Node,
        path: Node | Path,
        target: Node,
        triples: list[TriplePattern],
        unions: list[Pattern],
    ) -> None:
        match path:
            case Inverse(inner):
                self._add(target, inner, subject, triples, unions)
            case Sequence(left, right):
                middle = self._fresh_var()
                self._add(subject, left, middle, triples, unions)
                self._add(middle, right, target, triples, unions)
            case Alternative(left, right):
                sides = []
                for side in (left, right):
                    own: list[TriplePattern] = []
                    inner_unions: list[Pattern] = []
                    self._add(subject, side, target, own, inner_unions)
                    pattern: Pattern = Bgp(tuple(own)) if own else UNIT
                    for union in inner_unions:
                        pattern = join(pattern, union)
                    sides.append(pattern)
                unions.append(Union(sides[0], sides[1]))
            case _:
                self._count_pattern()
                triples.append(TriplePattern(subject, path, target))

    def _count_pattern(self) -> None:
        self._patterns += 1
        if self._patterns > MAX_PATTERNS:
            self._refuse_patterns()

    def _refuse_patterns(self) -> NoReturn:
        raise TooLarge(
            f"the query has more than {MAX_PATTERNS:,} triple patterns (a step of a path is "
            "one); put constants into VALUES, or ask in parts",
            details={"limit": MAX_PATTERNS, "unit": "patterns"},
        )

    def _fresh_var(self) -> Var:
        self._fresh += 1
        return Var(f" {self._fresh}")

    def _fresh_blank(self) -> Node:
        var = self._fresh_var()
        return BlankNode("anon" + var.name.strip()) if self._in_template else var

    def _parse_node(self, triples: list[TriplePattern], unions: list[Pattern]) -> Node:
        token = self.token
        if token.kind == "var":
            return self.expect_var()
        if token.kind == "blank":
            self.index += 1
            return self._blank_node(token.text[2:])
        if self.take("["):
            node = self._fresh_blank()
            if not self.take("]"):
                with self.nested():
                    self._parse_properties(node, triples, unions)
                self.expect("]")
            return node
        if self.take("("):
            return self._parse_collection(triples, unions)
        term = self.find_iri() or self.find_signed_number() or self.find_literal()
        return term if term is not None else self._fail_node()

    def _fail_node(self) -> NoReturn:
        token = self.token
        self._refuse_statements()
        if token.kind == "name":
            self.fail(
                f"expected a variable or a term, found {token.text!r}",
                f"a text stands in quotes: {token.text!r}; a name needs a prefix: osmkey:…",
            )
        self.fail_expected("a variable or a term")

    def _refuse_statements(self) -> None:
        """Raise Unsupported where a triple stands for a term in a pattern, as SPARQL 1.2 has it."""
        token, following = self.token, self.tokens[min(self.index + 1, len(self.tokens) - 1)]
        if token.text == "<<(":
            what = "a triple term in a pattern"
        elif token.text == following.text == "<":
            what = "a reified triple << … >>"
        elif token.text == "{" and following.text == "|":
            what = "an annotation {| … |}"
        elif token.text == "~":
            what = "a reifier ~"
        else:
            return
        line = self.text.count("\n", 0, token.position) + 1
        column = token.position - self.text.rfind("\n", 0, token.position)
        raise Unsupported(
            f"line {line}, column {column}: {what} is not served: the map has no statements about "
            "statements, so nothing could be found; triple terms stand in expressions and VALUES",
            details={"line": line, "column": column},
        )

    def _blank_node(self, label: str) -> Node:
        if self._in_template:
            return BlankNode(label)
        if self._labels.setdefault(label, self._bgp_number) != self._bgp_number:
            self.fail(f"the blank node _:{label} is used in two patterns", "use a variable")
        return Var(f" _{label}")

    def _parse_collection(self, triples: list[TriplePattern], unions: list[Pattern]) -> Node:
        if self.take(")"):
            return _NIL
        head = current = self._fresh_blank()
        with self.nested():
            while True:
                self._count_pattern()
                triples.append(TriplePattern(current, _FIRST, self._parse_node(triples, unions)))
                if self.take(")"):
                    triples.append(TriplePattern(current, _REST, _NIL))
                    return head
                following = self._fresh_blank()
                triples.append(TriplePattern(current, _REST, following))
                current = following

    # Paths ---------------------------------------------------------------------------------------

    def _parse_verb(self) -> Node | Path:
        token = self.token
        if token.kind == "var":
            return self.expect_var()
        if self._in_template:
            if token.kind == "name" and token.text == "a":
                self.index += 1
                return Iri(RDF_TYPE)
            return self.find_iri() or self.fail_expected("a predicate")
        return self._parse_path()

    def _parse_path(self) -> Path:
        with self.nested():
            paths = [self._parse_sequence()]
            while self.take("|"):
                paths.append(self._parse_sequence())
            return balance(paths, Alternative)

    def _parse_sequence(self) -> Path:
        paths = [self._parse_step()]
        while self.take("/"):
            paths.append(self._parse_step())
        return balance(paths, Sequence)

    def _parse_step(self) -> Path:
        if self.take("^"):
            return Inverse(self._parse_repeat())
        return self._parse_repeat()

    def _parse_repeat(self) -> Path:
        path = self._parse_path_primary()
        if self.take("?"):
            return Repeat(path, zero=True, many=False)
        if self.take("*"):
            return Repeat(path, zero=True, many=True)
        if self.take("+"):
            return Repeat(path, zero=False, many=True)
        return path

    def _parse_path_primary(self) -> Path:
        token = self.token
        self._steps += 1
        if self._steps > MAX_PATTERNS:
            self._refuse_patterns()
        if self.take("("):
            path = self._parse_path()
            self.expect(")")
            return path
        if self.take("!"):
            return self._parse_negated()
        if token.kind == "name" and token.text == "a":
            self.index += 1
            return Iri(RDF_TYPE)
        return self.find_iri() or self.fail_expected("a predicate")

    def _parse_negated(self) -> Path:
        forward: list[Iri] = []
        backward: list[Iri] = []

        def one() -> None:
            into = backward if self.take("^") else forward
            if self.token.kind == "name" and self.token.text == "a":
                self.index += 1
                into.append(Iri(RDF_TYPE))
            else:
                into.append(self.expect_iri())

        if not self.take("("):
            one()
        elif not self.take(")"):
            one()
            while self.take("|"):
                one()
            self.expect(")")
        return Negated(tuple(forward), tuple(backward))
