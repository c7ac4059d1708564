"""Addresses in fields: each field binds, and what is not found in it is said.

A street is looked for as a street only, in the town that is asked for. Where it is not there, the
town answers; streets of that name in other towns follow, with a low confidence.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mapyard.geocoding.answer.answers import Result
from mapyard.geocoding.order import forward
from mapyard.geocoding.order.ranking import Focus
from mapyard.geocoding.read.query import understand
from mapyard.geocoding.search.gazetteer import Gazetteer
from mapyard.geocoding.search.matching import Filters
from mapyard.text.folding import fold, split_words

#: Confidence of a place of which something that was asked for is not there.
WITHOUT: Final = 0.5
#: Confidence of a street of the name in another town.
ELSEWHERE: Final = 0.4


class Address(NamedTuple):
    """A structured address; "" where a part is not given."""

    street: str = ""
    housenumber: str = ""
    postcode: str = ""
    city: str = ""
    county: str = ""
    state: str = ""
    country: str = ""
    #: Of a point of interest, or its kind.
    name: str = ""
    neighbourhood: str = ""

    @property
    def text(self) -> str:
        """The address in one line."""
        line = " ".join(part for part in (self.street, self.housenumber) if part)
        town = " ".join(part for part in (self.postcode, self.city) if part)
        parts = (self.name, line, self.neighbourhood, town, self.county, self.state, self.country)
        return ", ".join(part for part in parts if part)


def find(
    gazetteer: Gazetteer, address: Address, limit: int, filters: Filters, focus: Focus | None
) -> list[Result]:
    """Return results for an address in fields, best first."""
    code = find_country(gazetteer, address.country)
    if code:
        filters = filters._replace(countries=(code,))
        if not address._replace(country="").text:
            return _find_country_itself(gazetteer, code)
        address = address._replace(country="")
    here: list[Result] = []
    elsewhere: list[Result] = []
    lost: list[str] = []
    if address.name:
        here, elsewhere = _find_bound(
            gazetteer, address, address.name, "poi", limit, filters, focus
        )
        if not here:
            lost, address = [address.name], address._replace(name="")
    if not here and address.street:
        here, others = _find_bound(
            gazetteer, address, address.street, filters.layer or "address", limit, filters, focus
        )
        here = [_with_lost(result, lost) for result in here]
        elsewhere += others
        if not here:
            lost += filter(None, (address.street, address.housenumber))
            address = address._replace(street="", housenumber="")
    if not here and address.text:
        layer = "admin" if address.city or not address.postcode else "postcode"
        layer = filters.layer if layer == "admin" and filters.layer else layer
        found = forward.find(
            gazetteer, address.text, limit, filters=filters._replace(layer=layer), focus=focus
        )
        here = [_with_lost(result, lost) for result in found]
    return [*here, *elsewhere]


def find_country(gazetteer: Gazetteer, text: str) -> str:
    """Return the code that a country's name or code stands for, "" when that is unknown."""
    bare = text.strip()
    if len(bare) == 2 and bare.isascii() and bare.isalpha():
        return {"UK": "GB"}.get(bare.upper(), bare.upper())
    return gazetteer.country_phrases.get(tuple(split_words(fold(bare))), "") if bare else ""


def _find_country_itself(gazetteer: Gazetteer, code: str) -> list[Result]:
    document = gazetteer.country_documents.get(code)
    if document is None:
        return []
    matched = [{"word": code.lower(), "as": "country", "by": "exact"}]
    report = {"matched": matched, "unmatched": []}
    return [Result(document, score=1.0, confidence=1.0, match=report)]


def _find_bound(
    gazetteer: Gazetteer,
    address: Address,
    name: str,
    layer: str,
    limit: int,
    filters: Filters,
    focus: Focus | None,
) -> tuple[list[Result], list[Result]]:
    """Return what is called `name` in the place that is asked for, and what is elsewhere."""
    found = forward.find(
        gazetteer, address.text, limit + 20, filters=filters._replace(layer=layer), focus=focus
    )
    named = {word.text for word in understand(gazetteer, name).words if not word.slot.is_little}
    place = address.city or address.neighbourhood or address.county or address.state
    around = {w.text for w in understand(gazetteer, place).words if not w.slot.is_little}
    here, elsewhere = [], []
    for result in found:
        report = result.match or {}
        unmatched = set(report.get("unmatched", ()))
        roles = {word["as"] for word in report.get("matched", ()) if word["word"] in named}
        if not roles & {"name", "category"}:
            continue
        if around & unmatched:
            sure = min(result.confidence or 0.0, ELSEWHERE)
            elsewhere.append(result._replace(confidence=sure, score=min(result.score, ELSEWHERE)))
        else:
            here.append(result)
    return here[:limit], elsewhere[:limit]


def _with_lost(result: Result, lost: list[str]) -> Result:
    if not lost:
        return result
    report = dict(result.match or {})
    report["unmatched"] = [*lost, *report.get("unmatched", ())]
    return result._replace(match=report, confidence=min(result.confidence or 0.0, WITHOUT))
