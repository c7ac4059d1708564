"""Autocomplete: the last word may be unfinished, and numbers are offered as they are typed."""

from __future__ import annotations

import re
from typing import Final

from mapyard.geocoding.answer.answers import Result
from mapyard.geocoding.kinds import STREET
from mapyard.geocoding.order.crossings import find
from mapyard.geocoding.order.ranking import Focus
from mapyard.geocoding.search.gazetteer import Gazetteer
from mapyard.geocoding.search.matching import NO_FILTERS, Filters
from mapyard.text.words import STREET_WORDS

#: A street this sure and typed in full is followed by its houses.
_SURE: Final = 0.9
_NUMBER = re.compile(
    r"^(?P<rest>.*?\D)??\b(?P<number>\d{1,5}(?:\s?[-–/]\s?(?:\d{1,4})?)?\s?[a-zA-Z]?)$"
)


def complete(
    gazetteer: Gazetteer,
    text: str,
    limit: int,
    *,
    filters: Filters = NO_FILTERS,
    focus: Focus | None = None,
) -> list[Result]:
    """Return what a text may become, best first.

    No houses until a digit is typed; then those whose number begins with it, the exact one first. A
    street that is typed in full is followed by its houses as far as `limit` leaves room.
    """
    results = find(gazetteer, text, limit, filters=filters, focus=focus, complete=True)
    if not results:
        return []
    top = results[0]
    if top.crossing >= 0 or (gazetteer.kind[top.document] != STREET and top.entry < 0):
        return results
    typed = _NUMBER.match(text.strip())
    if typed is not None:
        key = re.sub("[-–/]", "-", typed["number"].replace(" ", "")).lower()
        if top.entry >= 0 and not _is_number(top, key):
            return results  # a house, and behind it the beginning of a postcode
        more = _houses(gazetteer, top, key, limit)
        if top.entry >= 0:
            return [top, *more, *results[1:]][:limit]
        return [*more, *results][:limit]
    if len(results) < limit and (top.confidence or 0) >= _SURE and _is_whole(top):
        results += _houses(gazetteer, top, "", limit - len(results))
    return results


def _houses(gazetteer: Gazetteer, street: Result, key: str, limit: int) -> list[Result]:
    return [
        Result(
            street.document, entry, score=street.score * 0.9, match=street.match,
            confidence=street.confidence,
        )
        for entry in gazetteer.find_prefixed(street.document, key, limit)
        if entry != street.entry
    ]  # fmt: skip


def _is_number(result: Result, key: str) -> bool:
    """Return whether the number of a house is what was typed last, or begins so."""
    matched = (result.match or {}).get("matched", ())
    numbers = [word["word"] for word in matched if word["as"] == "house_number"]
    typed = key.replace("-", "")
    return (bool(numbers) and key.startswith(numbers[-1])) or "".join(numbers).endswith(typed)


def _is_whole(result: Result) -> bool:
    """Return whether a street is typed in full, be it that its last word is unfinished: 220th S."""
    matched = (result.match or {}).get("matched", ())
    if len(matched) > 1 and matched[-1]["by"] == "prefix":
        begun = matched[-1]["word"]
        if any(word.startswith(begun) for word in STREET_WORDS):
            matched = matched[:-1]
    return all(word["by"] == "exact" for word in matched)
