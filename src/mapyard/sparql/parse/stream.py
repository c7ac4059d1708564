"""The token stream that the parser's parts share: look, take, expect, names and errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn
from urllib.parse import urljoin

from mapyard.errors import InvalidQuery
from mapyard.sparql.parse.lexer import (
    MAX_QUERY_LENGTH,
    Token,
    error_at,
    replace_codepoints,
    tokenize,
    unescape_local,
    unquote,
)
from mapyard.sparql.terms.prefixes import PREFIXES
from mapyard.sparql.terms.terms import (
    DIRECTIONS,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    Iri,
    Literal,
    boolean,
)

#: Groups, parentheses and paths nested deeper than this are refused.
MAX_DEPTH = 60


class TokenStream:
    """Tokens of one query with a position; base and prefixes for names."""

    def __init__(self, text: str, base: str = "") -> None:
        if len(text) > MAX_QUERY_LENGTH:
            raise InvalidQuery(
                f"the query has {len(text)} characters, more than {MAX_QUERY_LENGTH}"
            )
        self.text = replace_codepoints(text)
        self.tokens = tokenize(self.text)
        self.index = 0
        self.base = base
        self.prefixes = dict(PREFIXES)
        self._depth = 0

    @property
    def token(self) -> Token:
        """The token to come."""
        return self.tokens[self.index]

    def fail(self, message: str, hint: str = "", token: Token | None = None) -> NoReturn:
        """Raise InvalidQuery at a token, by default the one to come."""
        raise error_at(self.text, (token or self.token).position, message, hint)

    def fail_expected(self, what: str) -> NoReturn:
        """Raise InvalidQuery: something else was expected here."""
        token = self.token
        found = f"found {token.text!r}" if token.kind != "end" else "the query ends here"
        self.fail(f"expected {what}, {found}")

    def at(self, text: str) -> bool:
        """Return whether the token to come is this punctuation."""
        token = self.tokens[self.index]
        return token.text == text and token.kind == "punct"

    def at_name(self, *names: str) -> bool:
        """Return whether the token to come is one of these upper-case keywords."""
        token = self.tokens[self.index]
        return token.kind == "name" and token.text.upper() in names

    def take(self, text: str) -> bool:
        """Step over this punctuation if it comes."""
        if self.at(text):
            self.index += 1
            return True
        return False

    def take_name(self, *names: str) -> str:
        """Step over one of these keywords if it comes; returns it in upper case, else ""."""
        if self.at_name(*names):
            self.index += 1
            return self.tokens[self.index - 1].text.upper()
        return ""

    def expect(self, text: str) -> None:
        """Step over this punctuation or fail."""
        if not self.take(text):
            self.fail_expected(repr(text))

    def expect_name(self, name: str) -> None:
        """Step over this keyword or fail."""
        if not self.take_name(name):
            self.fail_expected(name)

    def next(self) -> Token:
        """Step over and return the token to come."""
        token = self.tokens[self.index]
        self.index += 1
        return token

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count nesting, so that a hostile query cannot exhaust the stack."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH} levels")
        yield
        self._depth -= 1

    def find_iri(self) -> Iri | None:
        """Step over an IRI or prefixed name if one comes."""
        token = self.token
        if token.kind == "iri":
            self.index += 1
            return Iri(self.resolve(token.text[1:-1]))
        if token.kind == "pname":
            self.index += 1
            prefix, local = token.text.split(":", 1)
            namespace = self.prefixes.get(prefix)
            if namespace is None:
                self.fail(
                    f"the prefix {prefix + ':'!r} is not declared",
                    f"begin the query with PREFIX {prefix}: <…>",
                    token,
                )
            return Iri(namespace + unescape_local(local))
        return None

    def expect_iri(self) -> Iri:
        """Step over an IRI or prefixed name or fail."""
        return self.find_iri() or self.fail_expected("an IRI or a prefixed name")

    def resolve(self, iri: str) -> str:
        """Return the IRI resolved against BASE."""
        return resolve_iri(self.base, iri)

    def find_literal(self) -> Literal | None:
        """Step over a literal (no sign) if one comes."""
        token = self.token
        match token.kind:
            case "string":
                self.index += 1
                lexical = unquote(token.text)
                if self.token.kind == "lang":
                    return self._with_language(lexical)
                if self.take("^^"):
                    return Literal(lexical, self.expect_iri().value)
                return Literal(lexical)
            case "integer" | "decimal" | "double":
                self.index += 1
                datatype = {"integer": XSD_INTEGER, "decimal": XSD_DECIMAL}.get(
                    token.kind, XSD_DOUBLE
                )
                return Literal(token.text, datatype)
            case "name" if token.text.lower() in ("true", "false"):
                self.index += 1
                return boolean(token.text.lower() == "true")
        return None

    def _with_language(self, lexical: str) -> Literal:
        token = self.next()
        tag, _, direction = token.text[1:].partition("--")
        if not direction:
            return Literal(lexical, RDF_LANG_STRING, tag.lower())
        if direction not in DIRECTIONS:
            self.fail(f"{direction!r} is not a base direction", "write --ltr or --rtl", token)
        return Literal(lexical, RDF_DIR_LANG_STRING, f"{tag.lower()}--{direction}")

    def find_signed_number(self) -> Literal | None:
        """Step over a number with a sign directly before it, if one comes."""
        sign, number = self.token, self.tokens[min(self.index + 1, len(self.tokens) - 1)]
        if (
            sign.text in ("+", "-")
            and number.kind in ("integer", "decimal", "double")
            and number.position == sign.position + 1
        ):
            self.index += 1
            literal = self.find_literal()
            assert literal is not None
            return Literal(sign.text + literal.lexical, literal.datatype)
        return None


def resolve_iri(base: str, iri: str) -> str:
    """Return an IRI resolved against a base (RFC 3986 section 5), itself without a base."""
    if not base:
        return iri
    if iri.startswith("#"):  # urljoin would drop an empty fragment
        return base.partition("#")[0] + iri
    joined = urljoin(base, iri)
    # An empty fragment is one (RFC 3986 section 5.3), and how most namespaces end.
    return joined + "#" if iri.endswith("#") and not joined.endswith("#") else joined
