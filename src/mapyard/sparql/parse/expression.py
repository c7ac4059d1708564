"""Expressions of SPARQL: operators by precedence, built-ins, aggregates, EXISTS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mapyard.sparql.parse.lexer import unquote
from mapyard.sparql.parse.stream import TokenStream
from mapyard.sparql.plan.algebra import CHAIN, Aggregate, Call, Exists, Expression, Var, balance
from mapyard.sparql.terms.prefixes import GEOF
from mapyard.sparql.terms.terms import RDF_TYPE, Iri, Literal, TripleTerm

if TYPE_CHECKING:
    from mapyard.sparql.plan.algebra import Pattern

#: Built-ins by name: (fewest, most) arguments.
BUILTINS: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(
        ("STR", "LANG", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN",
         "UCASE", "LCASE", "ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES",
         "SECONDS", "TIMEZONE", "TZ", "MD5", "SHA1", "SHA256", "SHA384", "SHA512", "ISIRI",
         "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "BOUND", "SUBJECT", "PREDICATE", "OBJECT",
         "ISTRIPLE", "LANGDIR", "HASLANG", "HASLANGDIR"),
        (1, 1),
    ),
    **dict.fromkeys(
        ("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER", "STRLANG",
         "STRDT", "SAMETERM"),
        (2, 2),
    ),
    **dict.fromkeys(("RAND", "NOW", "UUID", "STRUUID"), (0, 0)),
    **dict.fromkeys(("TRIPLE", "STRLANGDIR"), (3, 3)),
    "BNODE": (0, 1),
    "SUBSTR": (2, 3),
    "REGEX": (2, 3),
    "REPLACE": (3, 4),
    "IF": (3, 3),
    "CONCAT": (0, 1000),
    "COALESCE": (0, 1000),
}  # fmt: skip
AGGREGATES: Final = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
#: Aggregates of GeoSPARQL, which have IRIs.
SHAPE_AGGREGATES: Final = (
    "aggBoundingBox", "aggBoundingCircle", "aggCentroid", "aggConcaveHull", "aggConvexHull",
    "aggUnion",
)  # fmt: skip
_COMPARISONS: Final = ("=", "!=", "<", ">", "<=", ">=")


def _chain(parts: list[Expression]) -> Expression:
    """Return `a + b − c …` from operands with operators between them, calculated from the left.

    Long ones are one flat call: numbers do not add up alike in another order, and a call within a
    call for each operator would be as deep as the query is long.
    """
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 3:
        operator = parts[1]
        assert isinstance(operator, Literal)
        return Call(operator.lexical, (parts[0], parts[2]))
    return Call(CHAIN, tuple(parts))


class ExpressionParser(TokenStream):
    """Parses expressions; patterns of EXISTS come from the subclass."""

    aggregates_allowed = False

    def parse_group(self) -> Pattern:
        """Parse `{ … }`."""
        raise NotImplementedError

    def parse_expression(self) -> Expression:
        """Parse `a || b`, the loosest level."""
        with self.nested():
            parts = [self._parse_and()]
            while self.take("||"):
                parts.append(self._parse_and())
            return balance(parts, lambda a, b: Call("||", (a, b)))

    def _parse_and(self) -> Expression:
        parts = [self._parse_comparison()]
        while self.take("&&"):
            parts.append(self._parse_comparison())
        return balance(parts, lambda a, b: Call("&&", (a, b)))

    def _parse_comparison(self) -> Expression:
        left = self._parse_sum()
        token = self.token
        if token.kind == "punct" and token.text in _COMPARISONS:
            self.index += 1
            return Call(token.text, (left, self._parse_sum()))
        if self.take_name("IN"):
            return Call("IN", (left, *self._parse_list()))
        if self.at_name("NOT"):
            self.index += 1
            self.expect_name("IN")
            return Call("!", (Call("IN", (left, *self._parse_list())),))
        return left

    def _parse_sum(self) -> Expression:
        parts = [self._parse_product()]
        while self.at("+") or self.at("-"):
            parts += [Literal(self.next().text), self._parse_product()]
        return _chain(parts)

    def _parse_product(self) -> Expression:
        parts = [self._parse_unary()]
        while self.at("*") or self.at("/"):
            parts += [Literal(self.next().text), self._parse_unary()]
        return _chain(parts)

    def _parse_unary(self) -> Expression:
        if self.take("!"):
            with self.nested():
                return Call("!", (self._parse_unary(),))
        if number := self.find_signed_number():
            return number
        if self.take("-"):
            return Call("negate", (self._parse_primary(),))
        if self.take("+"):
            return Call("plus", (self._parse_primary(),))
        return self._parse_primary()

    def _parse_primary(self) -> Expression:
        token = self.token
        if token.kind == "var":
            self.index += 1
            return Var(token.text[1:])
        if self.take("("):
            inner = self.parse_expression()
            self.expect(")")
            return inner
        literal = self.find_literal()
        if literal is not None:
            return literal
        if token.kind in ("iri", "pname"):
            return self._parse_iri_or_call()
        if token.kind == "name":
            return self._parse_builtin()
        if self.at("<<("):
            return Call("TRIPLE", self.parse_triple_term(self._parse_triple_part))
        return self.fail_expected("an expression")

    def _parse_triple_part(self) -> Expression:
        if self.token.kind == "var":
            return Var(self.next().text[1:])
        if self.at("<<("):
            return Call("TRIPLE", self.parse_triple_term(self._parse_triple_part))
        term = self.find_iri() or self.find_signed_number() or self.find_literal()
        return term if term is not None else self.fail_expected("a variable or a term")

    def parse_triple_term[T](self, parse_part: Callable[[], T]) -> tuple[T | Iri, ...]:
        """Parse `<<( subject predicate object )>>`, each part by the function; return them."""
        self.expect("<<(")
        with self.nested():
            subject = self._parse_checked(parse_part, (Literal, "a literal is not a subject"))
            predicate: T | Iri
            if self.token.kind == "name" and self.token.text == "a":
                self.index += 1
                predicate = Iri(RDF_TYPE)
            else:
                predicate = self._parse_checked(
                    parse_part, (Literal, "a literal is not a predicate")
                )
            parts = (subject, predicate, parse_part())
        self.expect(")>>")
        return parts

    def _parse_checked[T](self, parse: Callable[[], T], refused: tuple[type, str]) -> T:
        token = self.token
        found = parse()
        if isinstance(found, refused[0] | TripleTerm) or (
            isinstance(found, Call) and found.name == "TRIPLE"
        ):
            self.fail(refused[1] if isinstance(found, refused[0]) else "only the object of a "
                      "triple term can be one itself", token=token)  # fmt: skip
        return found

    def _parse_iri_or_call(self) -> Expression:
        iri = self.expect_iri()
        if not self.at("("):
            return iri
        if iri.value.startswith(GEOF + "agg"):
            return self._parse_shape_aggregate(iri.value)
        distinct, args = self._parse_arguments()
        return Call(iri.value, args, distinct)

    def _parse_arguments(self) -> tuple[bool, tuple[Expression, ...]]:
        self.expect("(")
        if self.take(")"):
            return False, ()
        distinct = bool(self.take_name("DISTINCT"))
        args = [self.parse_expression()]
        while self.take(","):
            args.append(self.parse_expression())
        self.expect(")")
        return distinct, tuple(args)

    def _parse_list(self) -> tuple[Expression, ...]:
        distinct, args = self._parse_arguments()
        if distinct:
            self.fail("DISTINCT has no place in a list")
        return args

    def _parse_builtin(self) -> Expression:
        token = self.token
        name = token.text.upper()
        if name in AGGREGATES:
            return self._parse_aggregate()
        if name == "EXISTS" or (name == "NOT" and self.tokens[self.index + 1].kind == "name"):
            negated = bool(self.take_name("NOT"))
            self.expect_name("EXISTS")
            return Exists(self.parse_group(), negated)
        if name not in BUILTINS:
            self.fail(
                f"{token.text!r} is not a function of SPARQL",
                "other functions have a prefix, such as geof:distance or xsd:double",
            )
        self.index += 1
        if not self.at("("):
            self.fail_expected(f"'(' after {name}")
        distinct, args = self._parse_arguments()
        least, most = BUILTINS[name]
        if distinct or not least <= len(args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            self.fail(f"{name} takes {wanted} arguments, here are {len(args)}", token=token)
        if name == "BOUND" and not isinstance(args[0], Var):
            self.fail("BOUND takes a variable", token=token)
        if name in ("IRI", "URI"):
            return Call("IRI", (*args, Literal(self.base)))
        return Call({"ISURI": "ISIRI"}.get(name, name), args)

    def _parse_shape_aggregate(self, name: str) -> Expression:
        local = name.removeprefix(GEOF)
        if local not in SHAPE_AGGREGATES:
            self.fail(
                f"geof:{local} is not an aggregate", "known are " + ", ".join(SHAPE_AGGREGATES)
            )
        if not self.aggregates_allowed:
            self.fail(f"geof:{local} can only be in SELECT, HAVING or ORDER BY", "use a subquery")
        self.aggregates_allowed = False
        distinct, args = self._parse_arguments()
        self.aggregates_allowed = True
        if not args:
            self.fail_expected("a geometry")
        return Aggregate(name, args[0], distinct)

    def _parse_aggregate(self) -> Expression:
        token = self.next()
        name = token.text.upper()
        if not self.aggregates_allowed:
            self.fail(
                f"{name} can only be in SELECT, HAVING or ORDER BY",
                "count in a subquery, or with SELECT (COUNT(*) AS ?n)",
                token,
            )
        self.expect("(")
        distinct = bool(self.take_name("DISTINCT"))
        self.aggregates_allowed = False  # an aggregate of an aggregate is no SPARQL
        is_star = name == "COUNT" and self.take("*")
        argument = None if is_star else self.parse_expression()
        separator = " "
        if name == "GROUP_CONCAT" and self.take(";"):
            self.expect_name("SEPARATOR")
            self.expect("=")
            if self.token.kind != "string":
                self.fail_expected("a text")
            separator = unquote(self.next().text)
        self.aggregates_allowed = True
        self.expect(")")
        return Aggregate(name, argument, distinct, separator)

    def parse_constraint(self) -> Expression:
        """Parse what FILTER, HAVING and ORDER BY take without parentheses of their own."""
        token = self.token
        if self.take("("):
            inner = self.parse_expression()
            self.expect(")")
            return inner
        if token.kind in ("iri", "pname"):
            call = self._parse_iri_or_call()
            if isinstance(call, Iri):
                self.fail(
                    "this is an IRI, expected a call such as geof:sfWithin(?a, ?b)", "", token
                )
            return call
        if token.kind == "name" and token.text.lower() not in ("true", "false"):
            return self._parse_builtin()
        return self.fail_expected("'(' or a function call")
