"""Tokens of Overpass QL."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mapyard.overpass.parse.text import Source

WORD: Final = "word"
NUMBER: Final = "number"
STRING: Final = "string"
MARK: Final = "mark"
END: Final = "end"

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | //[^\n]* | /\*.*?\*/ )
    | (?P<word> [^\W\d]\w* )
    | (?P<number> (?: \d+ (?: \.\d* )? | \.\d+ ) (?: [eE][+-]?\d+ )? )
    | (?P<string> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    | (?P<mark> -> | :: | == | != | <= | >= | && | \|\| | << | >> | /(?!\*)
        | [()\[\]{};,.:=!~<>+\-*%?|] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_SIMPLE_ESCAPES: Final = {"n": "\n", "t": "\t"}


class Token(NamedTuple):
    """A token: its kind, its text as written (quotes included) and its offset."""

    kind: str
    text: str
    at: int

    @property
    def end(self) -> int:
        """Return the offset behind the token."""
        return self.at + len(self.text)


def read_tokens(source: Source) -> list[Token]:
    """Return the tokens of a query, closed by one of kind END; spaces and comments are dropped."""
    text = source.text
    tokens = []
    offset = 0
    for match in _TOKEN.finditer(text):
        if match.start() != offset:
            break
        offset = match.end()
        kind = match.lastgroup
        if kind != "space":
            tokens.append(Token(kind or MARK, match.group(), match.start()))
    if offset != len(text):
        raise _describe(source, offset)
    tokens.append(Token(END, "", len(text)))
    return tokens


def _describe(source: Source, offset: int) -> Exception:
    """Return the error for what no token starts with."""
    character = source.text[offset]
    if character in "\"'":
        return source.error(offset, "this string is never closed", f"add a closing {character}")
    if source.text.startswith("/*", offset):
        return source.error(offset, "this comment is never closed", "add */")
    if character in "“”„‟‘’‚":
        return source.error(
            offset, f"{character} is a typographic quote", "use straight quotes: \" or '"
        )
    if character == "{":
        return source.error(offset, "unexpected {", "")
    return source.error(offset, f"unexpected character {character!r}", "quote texts: \"…\" or '…'")


def decode_string(quoted: str, *, is_pattern: bool = False) -> str:
    r"""Return the text of a string token: \n, \t, \" \' \\ and \uXXXX are read.

    Before any other character the backslash is dropped, as the original does. In a regular
    expression it is kept, so that "\d" and "\." mean what their writers mean.
    """
    body = quoted[1:-1]
    if "\\" not in body:
        return body

    def replace(match: re.Match[str]) -> str:
        code, character = match.groups()
        if code is not None:
            # Lone surrogates cannot be written as UTF-8 and cannot be in OSM data.
            point = int(code, 16)
            return "\ufffd" if 0xD800 <= point < 0xE000 else chr(point)
        if character in _SIMPLE_ESCAPES:
            return _SIMPLE_ESCAPES[character]
        if is_pattern and character not in "\"'\\":
            return "\\" + character
        return str(character)

    return _ESCAPE.sub(replace, body)
