"""The words of a query, with their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, Literal, NamedTuple

from mapyard.errors import InvalidQuery, TooLarge
from mapyard.plazaql.parse.syntax import At

#: Longer texts are no queries that a person or a program wrote.
MAX_LETTERS: Final = 200_000
MAX_TOKENS: Final = 50_000

type Kind = Literal["number", "text", "name", "variable", "output", "sign", "end"]

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*)
    |(?P<comment>/\*)
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<output>\$\$(?:\.[A-Za-z_]\w*)?)
    |(?P<variable>\$[A-Za-z_]\w*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+&*/!~:=.,;()\[\]\#<>])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


class Token(NamedTuple):
    """A word, and where it begins and ends in the text."""

    kind: Kind
    text: str
    start: int
    stop: int


class Source:
    """A query's text and its words."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LETTERS:
            raise TooLarge(
                f"the query has {len(text):,} characters, at most {MAX_LETTERS:,}",
                details={"limit": MAX_LETTERS},
            )
        self.text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.tokens = self._split()

    def at(self, offset: int) -> At:
        """Return line and column of an offset."""
        line = bisect_right(self._lines, offset)
        return At(line, offset - self._lines[line - 1] + 1)

    def error(self, message: str, offset: int, hint: str = "") -> InvalidQuery:
        """Return the error for a place."""
        return InvalidQuery.at(message, *self.at(offset), hint)

    def _split(self) -> list[Token]:
        text, found, place = self.text, [], 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._unknown(place)
            kind = match.lastgroup
            if kind == "comment":
                place = self._skip_comment(place)
                continue
            place = match.end()
            if kind != "skip":
                found.append(Token(kind, match.group(), match.start(), place))  # type: ignore[arg-type] # a group of _TOKEN
                if len(found) > MAX_TOKENS:
                    raise TooLarge(
                        f"the query has more than {MAX_TOKENS:,} words",
                        details={"limit": MAX_TOKENS},
                    )
        found.append(Token("end", "", len(text), len(text)))
        return found

    def _unknown(self, place: int) -> InvalidQuery:
        letter = self.text[place]
        if letter == '"':
            return self.error("this text has no end", place, 'close it with "')
        if letter == "'":
            return self.error("texts stand in double quotes", place, 'write "…"')
        if letter == "$":
            return self.error("a variable needs a name", place, "write $area")
        return self.error(f"{letter!r} means nothing here", place)

    def _skip_comment(self, start: int) -> int:
        depth, place = 0, start
        while match := _COMMENT_EDGE.search(self.text, place):
            depth += 1 if match.group() == "/*" else -1
            place = match.end()
            if not depth:
                return place
        raise self.error("this comment has no end", start, "close it with */")
