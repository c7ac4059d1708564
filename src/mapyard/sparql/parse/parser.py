"""SPARQL 1.1 Query: the text to the algebra. `parse_query` is the door.

Grammar and translation follow https://www.w3.org/TR/sparql11-query/ (sections 18.2 and 19).
"""

from __future__ import annotations

from mapyard.errors import Unsupported
from mapyard.sparql.parse.expression import BUILTINS
from mapyard.sparql.parse.lexer import unquote
from mapyard.sparql.parse.pattern import PatternParser, join
from mapyard.sparql.plan.algebra import (
    UNIT,
    Aggregate,
    Bgp,
    Call,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Group,
    Node,
    OrderBy,
    Pattern,
    Project,
    Query,
    Slice,
    Var,
)
from mapyard.sparql.plan.variables import mentioned, visible
from mapyard.sparql.terms.terms import Iri

_UPDATES = frozenset(
    ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH")
)
_VERSIONS = ("1.0", "1.1", "1.2", "1.2-basic")


def parse_query(text: str, base: str = "") -> Query:
    """Return the parsed query.

    Raises InvalidQuery with line and column for what is no SPARQL 1.1 Query, and Unsupported for
    SPARQL Update.
    """
    return _QueryParser(text, base).parse()


class _QueryParser(PatternParser):
    def parse(self) -> Query:
        self._parse_prologue()
        start = self.token
        name = start.text.upper() if start.kind == "name" else ""
        if name in _UPDATES:
            raise Unsupported(
                f"{name} is SPARQL Update; this service only answers queries: "
                "SELECT, ASK, CONSTRUCT, DESCRIBE"
            )
        parsers = {
            "SELECT": self._parse_select,
            "ASK": self._parse_ask,
            "CONSTRUCT": self._parse_construct,
            "DESCRIBE": self._parse_describe,
        }
        if name not in parsers:
            self.fail_expected("SELECT, ASK, CONSTRUCT or DESCRIBE")
        self.index += 1
        query = parsers[name]()
        if self.token.kind != "end":
            self.fail_expected("the end of the query")
        return query

    def _parse_prologue(self) -> None:
        while True:
            if self.take_name("BASE"):
                token = self.next()
                if token.kind != "iri":
                    self.fail("BASE takes an IRI in angle brackets", token=token)
                self.base = self.resolve(token.text[1:-1])
            elif self.take_name("PREFIX"):
                token = self.next()
                if token.kind != "pname" or token.text.find(":") != len(token.text) - 1:
                    self.fail("PREFIX takes a name that ends with a colon", token=token)
                target = self.next()
                if target.kind != "iri":
                    self.fail("PREFIX takes an IRI in angle brackets", token=target)
                self.prefixes[token.text[:-1]] = self.resolve(target.text[1:-1])
            elif self.take_name("VERSION"):
                token = self.next()
                if token.kind != "string":
                    self.fail('VERSION takes a text: VERSION "1.2"', token=token)
                if unquote(token.text) not in _VERSIONS:
                    raise Unsupported(
                        f"SPARQL {unquote(token.text)} is not served; versions: "
                        + ", ".join(_VERSIONS)
                    )
            else:
                return

    def _parse_dataset(self) -> tuple[tuple[Iri, ...], tuple[Iri, ...]]:
        graphs: tuple[list[Iri], list[Iri]] = ([], [])
        while self.take_name("FROM"):
            graphs[bool(self.take_name("NAMED"))].append(self.expect_iri())
        return tuple(graphs[0]), tuple(graphs[1])

    def _parse_where(self) -> Pattern:
        self.take_name("WHERE")
        return self.parse_group()

    def _parse_select(self) -> Query:
        distinct, star, items = self._parse_select_clause()
        graphs, named = self._parse_dataset()
        pattern, variables = self._parse_select_rest(distinct, star, items)
        return Query(
            "select", pattern, variables, from_graphs=graphs, from_named=named,
            prefixes=self.prefixes,
        )  # fmt: skip

    def parse_subselect(self) -> Pattern:
        """Parse SELECT … inside a group, with a VALUES of its own."""
        self.expect_name("SELECT")
        distinct, star, items = self._parse_select_clause()
        return self._parse_select_rest(distinct, star, items)[0]

    def _parse_select_clause(self) -> tuple[bool, bool, list[tuple[Var, Expression | None]]]:
        distinct = bool(self.take_name("DISTINCT", "REDUCED"))
        if self.take("*"):
            return distinct, True, []
        items: list[tuple[Var, Expression | None]] = []
        self.aggregates_allowed = True
        while True:
            token = self.token
            if token.kind == "var":
                items.append((self.expect_var(), None))
            elif self.take("("):
                expression = self.parse_expression()
                self.expect_name("AS")
                var_token = self.token
                var = self.expect_var()
                if any(var == other for other, _ in items):
                    self.fail(f"?{var.name} is selected already", token=var_token)
                self.expect(")")
                items.append((var, expression))
            else:
                break
        self.aggregates_allowed = False
        if not items:
            self.fail_expected("variables, (expression AS ?variable), or *")
        return distinct, False, items

    def _parse_select_rest(
        self, distinct: bool, star: bool, items: list[tuple[Var, Expression | None]]
    ) -> tuple[Pattern, tuple[Var, ...]]:
        start = self.token
        pattern = self._parse_where()
        keys = self._parse_group_by()
        having, order, offset, limit = self._parse_modifiers()
        aggregates: dict[Aggregate, Var] = {}
        lift = _Lift(self, aggregates)
        # Beyond the recommendation, as most servers do: HAVING may use a name that SELECT gives.
        named = {var: e for var, e in items if e is not None}
        having = [lift(_replace_names(e, named)) for e in having]
        order = [(lift(e), descending) for e, descending in order]
        lifted = [(var, None if e is None else lift(e)) for var, e in items]
        if keys is not None or aggregates:
            if star:
                self.fail("SELECT * cannot be grouped", "name the variables", start)
            grouped = {var for var, _ in keys or ()}
            self._check_grouped(items, grouped)
            pattern = Group(
                pattern, tuple(keys or ()), tuple((v, a) for a, v in aggregates.items())
            )
        if having:
            pattern = Filter(pattern, tuple(having))
        if self.take_name("VALUES"):
            pattern = join(pattern, self.parse_values())
        scope = visible(pattern)
        for var, expression in lifted:
            if expression is not None:
                if var in scope:
                    self.fail(f"?{var.name} is bound already in the pattern", "new name", start)
                pattern = Extend(pattern, var, expression)
        if order:
            pattern = OrderBy(pattern, tuple(order))
        if star:
            variables = tuple(v for v in visible(pattern) if not v.name.startswith(" "))
        else:
            variables = tuple(var for var, _ in items)
        pattern = Project(pattern, variables)
        if distinct:
            pattern = Distinct(pattern)
        if offset or limit is not None:
            pattern = Slice(pattern, offset, limit)
        return pattern, variables

    def _check_grouped(self, items: list[tuple[Var, Expression | None]], grouped: set[Var]) -> None:
        known = set(grouped)
        for var, expression in items:
            free = {var} if expression is None else _outside_aggregates(expression)
            for missing in free - known:
                self.fail(
                    f"?{missing.name} is selected but neither grouped nor aggregated",
                    f"add it to GROUP BY, or write (SAMPLE(?{missing.name}) AS ?…)",
                )
            known.add(var)

    def _parse_group_by(self) -> list[tuple[Var, Expression | None]] | None:
        if not self.take_name("GROUP"):
            return None
        self.expect_name("BY")
        keys: list[tuple[Var, Expression | None]] = []
        while True:
            token = self.token
            if token.kind == "var":
                keys.append((self.expect_var(), None))
            elif self.take("("):
                expression = self.parse_expression()
                var = self.expect_var() if self.take_name("AS") else self._fresh_var()
                self.expect(")")
                keys.append((var, expression))
            elif token.kind in ("iri", "pname") or self._at_builtin():
                keys.append((self._fresh_var(), self.parse_constraint()))
            else:
                break
        if not keys:
            self.fail_expected("a variable or an expression to group by")
        return keys

    def _at_builtin(self) -> bool:
        return self.token.kind == "name" and self.token.text.upper() in (*BUILTINS, "EXISTS", "NOT")

    def _parse_modifiers(
        self,
    ) -> tuple[list[Expression], list[tuple[Expression, bool]], int, int | None]:
        having: list[Expression] = []
        order: list[tuple[Expression, bool]] = []
        self.aggregates_allowed = True
        if self.take_name("HAVING"):
            having.append(self.parse_constraint())
            while self.at("(") or self.token.kind in ("iri", "pname") or self._at_builtin():
                having.append(self.parse_constraint())
        if self.take_name("ORDER"):
            self.expect_name("BY")
            order = self._parse_order()
        self.aggregates_allowed = False
        offset, limit = 0, None
        for _ in range(2):
            if keyword := self.take_name("LIMIT", "OFFSET"):
                if self.token.kind != "integer":
                    self.fail_expected(f"a whole number after {keyword}")
                number = int(self.next().text)
                offset, limit = (offset, number) if keyword == "LIMIT" else (number, limit)
        return having, order, offset, limit

    def _parse_order(self) -> list[tuple[Expression, bool]]:
        order: list[tuple[Expression, bool]] = []
        while True:
            token = self.token
            if keyword := self.take_name("ASC", "DESC"):
                self.expect("(")
                order.append((self.parse_expression(), keyword == "DESC"))
                self.expect(")")
            elif token.kind == "var":
                order.append((self.expect_var(), False))
            elif (
                self.at("(")
                or token.kind in ("iri", "pname")
                or self._at_builtin()
                or self.at_name("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
            ):
                order.append((self.parse_constraint(), False))
            else:
                break
        if not order:
            self.fail_expected("a variable or an expression to order by")
        return order

    def _parse_solution(self, pattern: Pattern) -> Pattern:
        """Apply GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET and VALUES of the other forms."""
        keys = self._parse_group_by()
        having, order, offset, limit = self._parse_modifiers()
        aggregates: dict[Aggregate, Var] = {}
        lift = _Lift(self, aggregates)
        having = [lift(e) for e in having]
        order = [(lift(e), descending) for e, descending in order]
        if keys is not None or aggregates:
            pattern = Group(
                pattern, tuple(keys or ()), tuple((v, a) for a, v in aggregates.items())
            )
        if having:
            pattern = Filter(pattern, tuple(having))
        if self.take_name("VALUES"):
            pattern = join(pattern, self.parse_values())
        if order:
            pattern = OrderBy(pattern, tuple(order))
        if offset or limit is not None:
            pattern = Slice(pattern, offset, limit)
        return pattern

    def _parse_ask(self) -> Query:
        graphs, named = self._parse_dataset()
        pattern = self._parse_solution(self._parse_where())
        return Query("ask", pattern, from_graphs=graphs, from_named=named, prefixes=self.prefixes)

    def _parse_construct(self) -> Query:
        if self.at("{"):
            template = self.parse_template()
            graphs, named = self._parse_dataset()
            pattern = self._parse_where()
        else:
            graphs, named = self._parse_dataset()
            self.expect_name("WHERE")
            index = self.index
            template = self.parse_template()
            self.index = index
            pattern = self.parse_group()
            if not isinstance(pattern, Bgp):
                self.fail("CONSTRUCT WHERE takes plain triples only", "write a template")
        pattern = self._parse_solution(pattern)
        return Query(
            "construct", pattern, tuple(v for v in visible(pattern)), template=template,
            from_graphs=graphs, from_named=named, prefixes=self.prefixes,
        )  # fmt: skip

    def _parse_describe(self) -> Query:
        described: list[Node] = []
        star = self.take("*")
        while not star and (self.token.kind in ("var", "iri", "pname")):
            described.append(self.expect_var_or_iri())
        if not star and not described:
            self.fail_expected("variables, IRIs, or *")
        graphs, named = self._parse_dataset()
        pattern: Pattern = UNIT
        if self.at("{") or self.at_name("WHERE"):
            pattern = self._parse_where()
        pattern = self._parse_solution(pattern)
        if star:
            described = [v for v in visible(pattern) if not v.name.startswith(" ")]
        variables = tuple(node for node in described if isinstance(node, Var))
        return Query(
            "describe", pattern, variables, described=tuple(described),
            from_graphs=graphs, from_named=named, prefixes=self.prefixes,
        )  # fmt: skip


class _Lift:
    """Replaces aggregates in expressions by hidden variables, equal ones by the same."""

    def __init__(self, parser: PatternParser, aggregates: dict[Aggregate, Var]) -> None:
        self._parser = parser
        self._aggregates = aggregates

    def __call__(self, expression: Expression) -> Expression:
        match expression:
            case Aggregate():
                if expression not in self._aggregates:
                    self._aggregates[expression] = Var(f" agg{len(self._aggregates)}")
                return self._aggregates[expression]
            case Call(name, args, distinct):
                return Call(name, tuple(self(arg) for arg in args), distinct)
        return expression


def _replace_names(expression: Expression, named: dict[Var, Expression]) -> Expression:
    match expression:
        case Var():
            return named.get(expression, expression)
        case Call(name, args, distinct):
            return Call(name, tuple(_replace_names(arg, named) for arg in args), distinct)
    return expression


def _outside_aggregates(expression: Expression) -> set[Var]:
    match expression:
        case Call(_, args):
            return {var for arg in args for var in _outside_aggregates(arg)}
        case Aggregate() | Exists():
            return set()
    return mentioned(expression)
