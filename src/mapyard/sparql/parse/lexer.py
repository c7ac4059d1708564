"""Tokens of SPARQL 1.1 and 1.2, with positions for error messages."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mapyard.errors import InvalidQuery

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_U = _BASE + "_"
_CHARS = _U + "\\-0-9\u00b7\u0300-\u036f\u203f-\u2040"
_VARNAME = f"[{_U}0-9][{_U}0-9\u00b7\u0300-\u036f\u203f-\u2040]*"
_PREFIX = f"[{_BASE}](?:[{_CHARS}.]*[{_CHARS}])?"
_PLX = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_LOCAL = f"(?:[{_U}:0-9]|{_PLX})(?:(?:[{_CHARS}.:]|{_PLX})*(?:[{_CHARS}:]|{_PLX}))?"
_LABEL = f"[{_U}0-9](?:[{_CHARS}.]*[{_CHARS}])?"

_TOKEN: Final = re.compile(
    r"(?P<skip>(?:[ \t\r\n]+|\#[^\r\n]*)+)"
    r'|(?P<iri><[^<>"{}|^`\\\x00-\x20]*>)'
    f"|(?P<pname>(?:{_PREFIX})?:(?:{_LOCAL})?)"
    f"|(?P<blank>_:{_LABEL})"
    f"|(?P<var>[?$]{_VARNAME})"
    r'|(?P<string>"""(?:"{0,2}(?:[^"\\]|\\[tbnrf\\"\']))*"""'
    r"|'''(?:'{0,2}(?:[^'\\]|\\[tbnrf\\\"']))*'''"
    r'|"(?:[^"\\\n\r]|\\[tbnrf\\"\'])*"'
    r"|'(?:[^'\\\n\r]|\\[tbnrf\\\"'])*')"
    r"|(?P<double>(?:[0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+)"
    r"|(?P<decimal>[0-9]*\.[0-9]+)"
    r"|(?P<integer>[0-9]+)"
    r"|(?P<lang>@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*(?:--[a-zA-Z]+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<punct>&&|\|\||!=|<=|>=|\^\^|<<\(|\)>>|[{}()\[\].;,=<>+\-*/!?^|~])"
)
_UNESCAPE: Final = {
    "t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", "\\": "\\", '"': '"', "'": "'",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(.)")
_CODEPOINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
#: Characters that an escape by number cannot put into a text as such: they would end it. Outside of
#: texts what stands for them is no token.
_AS_ESCAPE: Final = {char: "\\" + name for name, char in _UNESCAPE.items() if char in "\"'\\\n\r"}
#: Longest accepted query, characters; VALUES lists and polygons may be long.
MAX_QUERY_LENGTH: Final = 1_000_000


class Token(NamedTuple):
    """Kind (a group name of the pattern, or "end"), text, and offset in the query."""

    kind: str
    text: str
    position: int


def tokenize(text: str) -> list[Token]:
    """Return the tokens, the last of kind "end"; raises InvalidQuery at what is no token."""
    tokens = []
    position = 0
    match = _TOKEN.match
    while found := match(text, position):
        kind = found.lastgroup
        assert kind is not None
        if kind != "skip":
            tokens.append(Token(kind, found.group(), position))
        position = found.end()
    if position < len(text):
        char = text[position]
        hint = "is this text closed with the same quotes?" if char in "\"'" else ""
        raise error_at(text, position, f"unexpected character {char!r}", hint)
    tokens.append(Token("end", "", position))
    return tokens


def error_at(text: str, position: int, message: str, hint: str = "") -> InvalidQuery:
    """Return the error for an offset, with 1-based line and column."""
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return InvalidQuery.at(message, line, column, hint)


def replace_codepoints(text: str) -> str:
    r"""Return the query with \\uXXXX and \\UXXXXXXXX replaced, as section 19.2 asks."""

    def replace(found: re.Match[str]) -> str:
        code = int(found.group(1) or found.group(2), 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise error_at(text, found.start(), f"{found.group()} is not a character")
        return _AS_ESCAPE.get(chr(code), chr(code))

    return _CODEPOINT.sub(replace, text) if "\\" in text else text


def unquote(text: str) -> str:
    """Return the value of a string token."""
    body = text[3:-3] if text[:3] in ('"""', "'''") else text[1:-1]
    return _ESCAPE.sub(lambda m: _UNESCAPE[m.group(1)], body) if "\\" in body else body


def unescape_local(text: str) -> str:
    """Return the local part of a prefixed name without its backslashes."""
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text
