"""Reading a query: a text in, statements out; errors name line, column and what to do.

One grammar of expressions serves sets and values: `+` of two sets is their union, of two numbers
their sum. What belongs where is told when the query is checked (plan/check.py).
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from mapyard.errors import InvalidQuery
from mapyard.plazaql.parse.lexer import Source, Token
from mapyard.plazaql.parse.syntax import (
    Argument,
    Assignment,
    At,
    Atom,
    Attribute,
    Binary,
    Call,
    Directive,
    Expression,
    Items,
    Method,
    Number,
    Program,
    Statement,
    TagAccess,
    TagTest,
    Test,
    Text,
    Truth,
    Unary,
    Variable,
    Word,
)

#: Brackets, methods and signs in each other.
MAX_DEPTH: Final = 50
_LEVELS: Final = (
    ("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-", "&"), ("*", "/"),
)  # fmt: skip
#: How much each sign binds.
_BINDING: Final = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def parse(text: str) -> Program:
    """Return the statements of a query; raise InvalidQuery."""
    return _Parser(Source(text)).program()


class _Parser:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = source.tokens
        self._place = 0
        self._depth = 0

    # ---- words ----------------------------------------------------------------------------------

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        self._place += token.kind != "end"
        return token

    def _is(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.text in signs

    def _skip(self, sign: str) -> bool:
        if self._is(sign):
            self._place += 1
            return True
        return False

    def _at(self, token: Token | None = None) -> At:
        return self._source.at((token or self._next).start)

    def _fail(self, message: str, hint: str = "", token: Token | None = None) -> NoReturn:
        raise self._source.error(message, (token or self._next).start, hint)

    def _unexpected(self, wanted: str, hint: str = "") -> NoReturn:
        found = f"{self._next.text!r}" if self._next.kind != "end" else "the end of the query"
        self._fail(f"expected {wanted}, found {found}", hint)

    def _expect(self, sign: str, hint: str = "") -> None:
        if not self._skip(sign):
            self._unexpected(f"'{sign}'", hint)

    # ---- statements -----------------------------------------------------------------------------

    def program(self) -> Program:
        statements: list[Statement] = []
        while self._next.kind != "end":
            statements.append(self._statement())
        if not statements:
            self._fail("the query is empty", 'write search(node, amenity: "cafe");')
        return Program(tuple(statements))

    def _statement(self) -> Statement:
        token = self._next
        at = self._at()
        found: Statement
        if self._skip("#"):
            name = self._take()
            if name.kind != "name":
                self._fail("a directive needs a name", "write #limit(count: 5);", name)
            found = Directive(name.text, self._arguments(name.text), at)
        elif token.kind in ("variable", "output") and self._tokens[self._place + 1].text == "=":
            self._place += 2
            found = Assignment(_variable(token, at), self._expression(), at)
        else:
            found = Assignment(None, self._expression(), at)
        if not self._skip(";") and self._next.kind != "end":
            self._unexpected("';'", "end the statement with ;")
        return found

    # ---- expressions ----------------------------------------------------------------------------

    def _expression(self, least: int = 0) -> Expression:
        """Return an expression whose signs bind at least so much (precedence climbing)."""
        if not least:
            self._depth += 1
            if self._depth > MAX_DEPTH:
                self._fail(f"more than {MAX_DEPTH} levels in each other", "use variables")
        left = self._unary()
        count = 0
        while self._next.kind == "sign" and _BINDING.get(self._next.text, -1) >= least:
            token = self._take()
            count += 1
            if count > MAX_DEPTH:
                self._fail(f"more than {MAX_DEPTH} operands in a row", "use variables", token)
            right = self._expression(_BINDING[token.text] + 1)
            left = Binary(token.text, left, right, self._at(token))
        self._depth -= not least
        return left

    def _unary(self) -> Expression:
        token, at = self._next, self._at()
        if not self._is("!", "-"):
            return self._chain()
        self._place += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} levels in each other", "use variables")
        operand = self._unary()
        self._depth -= 1
        if token.text == "-" and isinstance(operand, Number) and operand.value >= 0:
            return Number(-operand.value, at)
        return Unary(token.text, operand, at)

    def _chain(self) -> Expression:
        found = self._primary()
        count = 0
        while self._skip("."):
            name = self._take()
            if name.kind != "name":
                self._fail("expected the name of a method behind '.'", token=name)
            count += 1
            if count > MAX_DEPTH:
                self._fail(f"more than {MAX_DEPTH} methods in a row", "use variables", name)
            arguments = self._arguments(name.text) if self._is("(") else ()
            found = Method(found, name.text, arguments, self._at(name))
        return found

    def _primary(self) -> Expression:
        token, at = self._next, self._at()
        if token.kind == "number":
            self._place += 1
            return Number(float(token.text), at)
        if token.kind == "text":
            self._place += 1
            return Text(_unquote(token.text), at)
        if token.kind in ("variable", "output"):
            self._place += 1
            variable = _variable(token, at)
            return Attribute(variable, self._key(), at) if self._skip("[") else variable
        if token.kind == "name":
            return self._named(token, at)
        if self._skip(":"):
            name = self._take()
            if name.kind != "name":
                self._fail("expected a word behind ':'", "write :asc", name)
            return Atom(name.text, at)
        if self._skip("("):
            found = self._expression()
            self._expect(")", "close the bracket")
            return found
        if self._skip("["):
            items = [self._expression()]
            while self._skip(","):
                items.append(self._expression())
            self._expect("]", "close the list with ]")
            return Items(tuple(items), at)
        return self._unexpected("a value", _hint_of_value(token))

    def _named(self, token: Token, at: At) -> Expression:
        self._place += 1
        if token.text == "t" and self._skip("["):
            return TagAccess(self._key(), at)
        if self._is("("):
            return Call(token.text, self._arguments(token.text), at)
        if token.text in ("true", "false"):
            return Truth(token.text == "true", at)
        return Word(token.text, at)

    def _key(self) -> str:
        token = self._take()
        if token.kind not in ("text", "name"):
            self._fail('expected the key of a tag, as in t["name"]', token=token)
        self._expect("]", "close the bracket with ]")
        return _unquote(token.text) if token.kind == "text" else token.text

    # ---- arguments ------------------------------------------------------------------------------

    def _arguments(self, name: str) -> tuple[Argument, ...]:
        self._expect("(", f"write {name}(…)")
        found: list[Argument] = []
        if self._skip(")"):
            return ()
        while True:
            found.append(self._argument())
            if self._skip(")"):
                return tuple(found)
            if not self._skip(","):
                is_value = self._next.kind in ("name", "text", "number", "variable", "output")
                self._unexpected("',' or ')'", "add a comma" if is_value else "close the bracket")

    def _argument(self) -> Argument:
        token, at = self._next, self._at()
        behind = self._tokens[self._place + 1] if token.kind != "end" else token
        if self._is("~"):
            self._place += 1
            pattern = self._take()
            if pattern.kind != "text":
                self._fail('expected a pattern for keys, as in ~"^addr:"', token=pattern)
            self._expect(":", 'write ~"^addr:": *')
            return Argument(_unquote(pattern.text), True, self._keyed(), at)
        if token.kind in ("name", "text") and behind.kind == "sign" and behind.text == ":":
            self._place += 2
            key = _unquote(token.text) if token.kind == "text" else token.text
            return Argument(key, False, self._keyed(), at)
        return Argument("", False, self._expression(), at)

    def _keyed(self) -> Expression | TagTest:
        at = self._at()
        if self._skip("*"):
            return TagTest("exists", "", at)
        if self._is("~"):
            return self._pattern("regex", at)
        if self._is("!"):
            behind = self._tokens[self._place + 1]
            if behind.text == "*" and behind.kind == "sign":
                self._place += 2
                return TagTest("absent", "", at)
            if behind.text == "~" and behind.kind == "sign":
                self._place += 1
                return self._pattern("not_regex", at)
            if behind.kind == "text":
                self._place += 2
                return TagTest("not_equal", _unquote(behind.text), at)
        return self._expression()

    def _pattern(self, test: Test, at: At) -> TagTest:
        self._place += 1
        token = self._take()
        if token.kind == "name" and token.text == "i" and test == "regex":
            test, token = "regex_i", self._take()
        if token.kind != "text":
            self._fail('expected a pattern in quotes, as in ~"^Café"', token=token)
        return TagTest(test, _unquote(token.text), at)


def _variable(token: Token, at: At) -> Variable:
    if token.kind == "output":
        return Variable(token.text[3:], True, at)
    return Variable(token.text[1:], False, at)


def _unquote(text: str) -> str:
    if "\\" not in text:
        return text[1:-1]
    # In patterns a backslash stands before what it takes the meaning from.
    return _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1] if m[1] in '"\\' else m[0]), text[1:-1])


def _hint_of_value(token: Token) -> str:
    if token.text in (")", ",", ";"):
        return "a value is missing before it"
    return "write * for any value behind a key, as in name: *" if token.text == "*" else ""


__all__ = ["InvalidQuery", "parse"]
