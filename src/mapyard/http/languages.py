"""The languages that a browser prefers, from its Accept-Language header."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from mapyard.results.output import Output

_RANGE = re.compile(
    r"^\s*([A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3})\s*(?:;\s*q\s*=\s*([0-9.]{1,5}))?\s*$"
)
_MOST: Final = 10


def read_languages(header: str) -> tuple[str, ...]:
    """Return the languages of a header, the preferred first; what cannot be read is left out."""
    found: list[tuple[float, str]] = []
    for part in header[:1_000].split(","):
        match = _RANGE.match(part)
        if match is None:
            continue
        try:
            weight = float(match[2] or 1)
        except ValueError:
            continue
        if weight > 0:
            found.append((weight, match[1]))
    # Sorting is stable: of equal ones the first comes first.
    ordered = sorted(found, key=lambda item: -item[0])
    return tuple(dict.fromkeys(lang for _, lang in ordered))[:_MOST]


def with_languages[P: msgspec.Struct](params: P, headers: Mapping[str, str]) -> P:
    """Return the parameters with the languages of Accept-Language as `lang`, if none are given."""
    header = headers.get("accept-language", "")
    if not header or getattr(params, "lang", True):
        return params
    output = getattr(params, "output", None)
    if isinstance(output, Output) and output.lang:
        return params
    return msgspec.structs.replace(params, lang=read_languages(header))
