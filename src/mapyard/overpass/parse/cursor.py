"""A place in the tokens of a query, with the small readers that all of the parser shares."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import NoReturn

from mapyard.overpass.parse.lexer import (
    END,
    NUMBER,
    STRING,
    WORD,
    Token,
    decode_string,
    read_tokens,
)
from mapyard.overpass.parse.syntax import DEFAULT_SET
from mapyard.overpass.parse.text import Source

#: Statements and values may be nested this deep, as in the original.
MAX_DEPTH = 1023


class Cursor:
    """The tokens of a query and the index of the next one."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = read_tokens(source)
        self.index = 0
        self.token = self.tokens[0]
        self.depth = 0

    def advance(self) -> Token:
        """Return the next token and go behind it."""
        token = self.token
        if token.kind != END:
            self.index += 1
            self.token = self.tokens[self.index]
        return token

    def ahead(self, count: int = 1) -> Token:
        """Return the token `count` behind the next one."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def at(self, *texts: str) -> bool:
        """Return whether the next token is one of these marks or words."""
        return self.token.text in texts and self.token.kind not in (STRING, END)

    def take(self, text: str) -> bool:
        """Go behind the next token if it is this one."""
        if self.at(text):
            self.advance()
            return True
        return False

    def expect(self, text: str, hint: str = "") -> Token:
        """Go behind the next token, which must be this one."""
        if not self.at(text):
            self.fail(f"'{text}' expected, found {self.found()}", hint)
        return self.advance()

    def found(self) -> str:
        """Return a description of the next token."""
        if self.token.kind == END:
            return "the end of the query"
        text = self.token.text
        return f"'{text if len(text) <= 40 else text[:37] + '…'}'"

    def fail(self, message: str, hint: str = "", at: int | None = None) -> NoReturn:
        """Raise the error for the next token or another offset."""
        raise self.source.error(self.token.at if at is None else at, message, hint)

    def enter(self) -> None:
        """Go one level deeper; `leave` goes back."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH} levels", "split the query")

    def leave(self) -> None:
        """Come back from a level."""
        self.depth -= 1

    def read_text(self, what: str, *, is_pattern: bool = False) -> str:
        """Return a quoted text, or an unquoted run such as `addr:street` or `bus-stop`."""
        if self.token.kind == STRING:
            return decode_string(self.advance().text, is_pattern=is_pattern)
        start = end = self.token.at
        while self.token.at == end and (
            self.token.kind in (WORD, NUMBER) or (end > start and self.at(":", "-", ".", "/", "+"))
        ):
            end = self.advance().end
        if start == end:
            self.fail(f"{what} expected, found {self.found()}", 'quote texts: "…"')
        return self.source.text[start:end].rstrip()

    def read_word(self, what: str) -> str:
        """Return a word."""
        if self.token.kind != WORD:
            self.fail(f"{what} expected, found {self.found()}")
        return self.advance().text

    def read_number(self, what: str) -> float:
        """Return a number with an optional sign; also one in quotes."""
        token = self.token
        if token.kind == STRING:
            try:
                number = float(decode_string(token.text))
            except ValueError:
                self.fail(f"{what} expected, found {self.found()}")
            if not abs(number) < 1e300:
                self.fail(f"{what} must be finite")
            self.advance()
            return number
        sign = 1.0
        if self.at("-", "+"):
            sign = -1.0 if self.advance().text == "-" else 1.0
        if self.token.kind != NUMBER:
            self.fail(f"{what} expected, found {self.found()}")
        number = float(self.token.text)
        if not number < 1e300:
            self.fail(f"{what} must be finite")
        self.advance()
        return sign * number

    def read_integer(self, what: str) -> int:
        """Return a whole number."""
        at = self.token.at
        token = self.token
        if token.kind == NUMBER and token.text.isdecimal() and len(token.text) <= 18:
            return int(self.advance().text)
        number = self.read_number(what)
        if number != int(number) or abs(number) >= 2**62:
            self.fail(f"{what} must be a whole number", at=at)
        return int(number)

    def read_latitude(self) -> float:
        """Return a latitude in degrees."""
        at = self.token.at
        latitude = self.read_number("latitude")
        if not -90 <= latitude <= 90:
            self.fail(
                f"latitude {latitude:g} is outside -90…90", "the order is latitude, longitude", at
            )
        return latitude

    def read_longitude(self) -> float:
        """Return a longitude in degrees."""
        at = self.token.at
        longitude = self.read_number("longitude")
        if not -180 <= longitude <= 180:
            self.fail(
                f"longitude {longitude:g} is outside -180…180",
                "the order is latitude, longitude",
                at,
            )
        return longitude

    def read_time(self, what: str) -> int:
        """Return a quoted ISO 8601 date or time as seconds since 1970 (UTC)."""
        at = self.token.at
        if self.token.kind != STRING:
            self.fail(f"{what} expected, found {self.found()}", 'such as "2025-01-31T00:00:00Z"')
        text = decode_string(self.advance().text)
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return int(moment.timestamp())
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is not a date", 'write it as "2025-01-31T00:00:00Z"', at)

    def read_source(self) -> str:
        """Return the name in an optional `.name`, else the default set."""
        if not self.at("."):
            return DEFAULT_SET
        self.advance()
        return self.read_word("set name")

    def read_into(self) -> str:
        """Return the name in an optional `->.name`, else the default set."""
        if not self.take("->"):
            return DEFAULT_SET
        self.expect(".", "results go into a set by ->.name")
        return self.read_word("set name")


def suggest(word: str, choices: Iterable[str]) -> str:
    """Return a hint with the likeliest choice, or an empty one."""
    matches = get_close_matches(word.lower(), list(choices), n=1, cutoff=0.7)
    return f"did you mean {matches[0]}?" if matches else ""
