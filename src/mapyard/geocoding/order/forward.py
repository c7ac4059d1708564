"""Forward geocoding: from a text to ranked results."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.geocoding.answer.answers import Result
from mapyard.geocoding.kinds import PLACE
from mapyard.geocoding.order.ranking import BIAS, NAMED, PARTLY, Floats, Focus, Ranking, lean
from mapyard.geocoding.read.query import Understood, understand
from mapyard.geocoding.search.gazetteer import Gazetteer
from mapyard.geocoding.search.matching import (
    MAX_CANDIDATES,
    MAX_FOCUSED,
    NO_FILTERS,
    Documents,
    Filters,
    Matcher,
)
from mapyard.geocoding.words.categories import IN_WORDS, NEAR_WORDS
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7

#: Things of a kind in a place: at this distance from its middle the pull is half.
IN_PLACE_HALF_M: Final = 1_500.0
#: Things of a kind that are put in the order of distance.
_NEAREST_OF: Final = 100
_FAVOR_SCALE: Final = 1 << 20


def find(
    gazetteer: Gazetteer,
    text: str,
    limit: int,
    *,
    filters: Filters = NO_FILTERS,
    focus: Focus | None = None,
    complete: bool = False,
) -> list[Result]:
    """Return up to `limit` results of a text, best first.

    With `complete` the last word may be unfinished, as while typing.
    """
    query = understand(gazetteer, text, complete=complete)
    if not query.words:
        return []
    if query.is_near:
        results = _find_near(gazetteer, query, limit, filters, complete=complete)
        if results:
            return results
    if focus is None and query.place_of_kind:
        focus = _find_focus(gazetteer, query.place_of_kind)
    ranking = rank(gazetteer, query, filters, focus, limit, complete=complete)
    if all(word.country for word in query.words):
        return _put_country_first(gazetteer, query, filters, ranking.results(limit))[:limit]
    if query.near and not ranking.is_good:
        results = _find_near(gazetteer, query, limit, filters, complete=complete)
        if results:
            return results
    return ranking.results(limit)


def _find_focus(gazetteer: Gazetteer, place: list[str]) -> Focus | None:
    """Return the middle of the place that things of a kind are asked for in, None without one."""
    found = find(gazetteer, " ".join(place), 1)
    if not found or gazetteer.kind[found[0].document] != PLACE or (found[0].confidence or 0) < 0.9:
        return None
    return Focus(*gazetteer.position(found[0].document), IN_PLACE_HALF_M)


def _put_country_first(
    gazetteer: Gazetteer, query: Understood, filters: Filters, results: list[Result]
) -> list[Result]:
    """Return the results of a country's name or code alone, behind the country itself."""
    code = query.words[0].country
    document = gazetteer.country_documents.get(code, -1)
    is_narrow = filters.keep is not None or filters.bbox is not None
    if document < 0 or is_narrow or not filters.allows("admin", "place"):
        return results
    if filters.countries and code not in filters.countries:
        return results
    top = results[0] if results else None
    if top is not None and top.confidence == 1.0 and gazetteer.kind[top.document] == PLACE:
        return results
    matched = [{"word": word.text, "as": "name", "by": "exact"} for word in query.words]
    found = Result(document, score=1.0, confidence=1.0, match={"matched": matched, "unmatched": []})
    return [found, *(result for result in results if result.document != document)]


def rank(
    gazetteer: Gazetteer,
    query: Understood,
    filters: Filters,
    focus: Focus | None,
    wanted: int,
    *,
    complete: bool,
) -> Ranking:
    """Return the candidates of a query, ranked: all words first, then most words.

    The best `wanted` are in their final order.
    """
    matcher = Matcher(
        gazetteer, query, filters, complete=complete,
        limit=MAX_CANDIDATES if focus is None and filters.keep is None else MAX_FOCUSED,
        favor=partial(_favor, gazetteer, query, focus),
    )  # fmt: skip
    candidates = matcher.judge(filters.pick(gazetteer, matcher.find_all()))
    ranking = Ranking(gazetteer, query, candidates, focus, wanted, explain=filters.explain)
    if not ranking.is_good:
        more = filters.pick(gazetteer, matcher.find_most())
        candidates = matcher.judge(distinct(candidates.documents, more))
        ranking = Ranking(gazetteer, query, candidates, focus, wanted, explain=filters.explain)
    return ranking


def _favor(
    gazetteer: Gazetteer, query: Understood, focus: Focus | None, documents: Documents
) -> NDArray[np.int32]:
    """Return how documents stand to each other that the words match equally: the higher the better.

    About as the ranking will see it, in whole numbers: a country has more streets called
    Hauptstraße than candidates are looked at, and the one near the focus is meant, or the one that
    is called so and nothing more.
    """
    g = gazetteer
    words = sum(not word.slot.is_little for word in query.words)
    named = np.minimum(1.0, words / g.words[documents])
    bias: Floats = g.importance[documents].astype(np.float64)
    if focus is not None:
        east_deg = np.abs(g.lon[documents] / E7 - focus.lon)
        east_deg = np.minimum(east_deg, 360.0 - east_deg) * np.cos(np.radians(focus.lat))
        distance_m = np.hypot(east_deg, g.lat[documents] / E7 - focus.lat) * DEGREE_M
        bias = lean(bias, distance_m, focus)
    favor: NDArray[np.int32] = np.rint(
        (NAMED * PARTLY * named + BIAS * bias) * _FAVOR_SCALE
    ).astype(np.int32)
    return favor


def _find_near(
    gazetteer: Gazetteer, query: Understood, limit: int, filters: Filters, *, complete: bool
) -> list[Result]:
    """Return things of a kind around a place, nearest first: "museum near Schaan"."""
    words = [word.text for word in query.words]
    around = find(gazetteer, " ".join(words[query.near :]), 1, complete=complete)
    if not around or (around[0].confidence or 0) < 0.75:
        return []
    lon, lat = gazetteer.position(around[0].document)
    asked = words[: query.near]
    while len(asked) > 1 and asked[-1] in NEAR_WORDS | IN_WORDS:
        asked.pop()
    kind = understand(gazetteer, " ".join(asked))
    if not filters.allows("poi"):
        return []
    filters = filters._replace(layer="poi")
    wanted = max(limit, _NEAREST_OF)
    ranking = rank(gazetteer, kind, filters, Focus(lon, lat, 1_000.0), wanted, complete=False)
    results = ranking.results(wanted)
    documents = np.array([result.document for result in results], np.int64)
    distance_m = haversine_m(gazetteer.lon[documents] / E7, gazetteer.lat[documents] / E7, lon, lat)
    place = " ".join(words[query.near :])
    return [
        _say_near(results[i], place) for i in np.argsort(distance_m, kind="stable")[:limit].tolist()
    ]


def _say_near(result: Result, place: str) -> Result:
    report = dict(result.match or {})
    unmatched = [w for w in report.get("unmatched", ()) if w not in NEAR_WORDS | IN_WORDS]
    return result._replace(match={**report, "unmatched": unmatched, "near": place})
