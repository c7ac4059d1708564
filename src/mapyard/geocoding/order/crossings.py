"""Where two streets meet: "220th Street & Hillside Avenue", "Ecke Städtle und Herrengasse".

What is written so may also be a name ("Fritsch & Co"), so what the whole text finds without doubt
comes first, and streets have to meet on the map.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import shapely

from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.geocoding.answer.answers import Result
from mapyard.geocoding.kinds import STREET
from mapyard.geocoding.order import forward
from mapyard.geocoding.order.ranking import Focus
from mapyard.geocoding.read.query import understand
from mapyard.geocoding.search.gazetteer import Gazetteer, Ints
from mapyard.geocoding.search.matching import NO_FILTERS, Filters
from mapyard.store.reader import E7
from mapyard.text.folding import is_spaceless

_BEFORE = re.compile(
    r"^\s*(?:(?:an?\s+|the\s+|na\s+|на\s+|à\s+l[’'])?(?:der\s+)?"
    r"(?:corner|intersection|crossing|junction|crossroads|ecke|kreuzung|strassenecke|angle|coin|"
    r"croisement|carrefour|intersecci[oó]n|esquina|cruce|cantonada|cru[ïi]lla|angolo|incrocio|hoek|"
    r"kruising|hj[øo]rnet|r[oó]g|skrzy[zż]owanie|roh|k[rř]i[zž]ovatka|угол|перекр[её]сток|"
    r"пересечение|k[öo]şesi)"
    r"(?:\s+(?:of|von|de(?:\s+la)?|des?|di|van|af|улиц))?)\s+",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"\s*,?\s+(?:corner|intersection|crossing|junction|ecke|kreuzung|esquina|угол|перекр[её]сток|"
    r"の交差点|交差点|路口|口)\s*(?=,|$)|(?:の?交差点|路口)\s*$",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"\s*(?:&|/|@|\+)\s*|\s+(?:and|und|et|y|i|e|en|og|och|ja|ve|и|та|at|x|con|mit|corner|ecke|"
    r"esquina|angle|near|s/c)\s+|(?<=[\u3040-\u9fff])\s*(?:与|與|和|と|及)\s*(?=[\u3040-\u9fff])",
    re.IGNORECASE,
)
#: More places to cut a text at are not tried.
_MOST_CUTS: Final = 3
_STREETS_OF_NAME: Final = 40
#: Streets without a node in common may meet where they come as near as this.
_NEAR_M: Final = 150.0
#: Nodes nearer to each other than this are one crossing.
_ONE_CROSSING_M: Final = 80.0
#: What a text finds by itself at least so surely is no crossing.
_SURE: Final = 0.95
#: A longer run of a script without spaces is more than one name.
_LONG_RUN: Final = 6


class _Cut(NamedTuple):
    one: str
    other: str
    #: Town and the like behind a comma.
    around: str


class _Streets(NamedTuple):
    results: list[Result]
    #: The rows of all pieces, and the place in `results` of each.
    rows: Ints
    owners: Ints


def find(
    gazetteer: Gazetteer,
    text: str,
    limit: int,
    *,
    filters: Filters = NO_FILTERS,
    focus: Focus | None = None,
    complete: bool = False,
) -> list[Result]:
    """Return up to `limit` results of a text, crossings of two streets among them, best first."""
    bare, is_said = _strip(text)
    cuts = list(_iter_cuts(bare))[:_MOST_CUTS]
    found: list[Result] = []
    if not is_said or not cuts:
        found = forward.find(
            gazetteer, text, limit, filters=filters, focus=focus, complete=complete
        )
    if not cuts or not filters.allows("address", "street") or filters.keep is not None:
        return found
    if found and (found[0].confidence or 0) >= _SURE and _is_called(found[0]):
        return found
    for cut in cuts:
        crossings = _find_crossings(gazetteer, cut, filters, focus, complete=complete)
        if crossings:
            return [*crossings, *found][:limit]
    if is_said:
        return forward.find(gazetteer, bare, limit, filters=filters, focus=focus, complete=complete)
    return found


def _is_called(result: Result) -> bool:
    """Return whether a result is an address, or is called by all words, not only placed by them."""
    matched = (result.match or {}).get("matched", ())
    return result.entry >= 0 or all(
        word["as"] == "name" and len(word["word"]) < _LONG_RUN
        if is_spaceless(word["word"])
        else word["as"] != "context"
        for word in matched
    )


def _strip(text: str) -> tuple[str, bool]:
    """Return a text without words for a crossing, and whether there were any."""
    bare = _BEHIND.sub("", _BEFORE.sub("", text))
    return bare, bare != text


def _iter_cuts(text: str) -> Iterator[_Cut]:
    for match in _BETWEEN.finditer(text):
        one, behind = text[: match.start()].strip(" ,"), text[match.end() :].strip(" ,")
        other, _, around = behind.partition(",")
        if len(one) > 1 and len(other) > 1:
            yield _Cut(one, other.strip(), around.strip())


def _find_crossings(
    g: Gazetteer, cut: _Cut, filters: Filters, focus: Focus | None, *, complete: bool
) -> list[Result]:
    is_open = complete and not cut.around
    one = _find_streets(g, cut.one, cut.around, filters, complete=False)
    if not one.results:
        return []
    other = _find_streets(g, cut.other, cut.around, filters, complete=is_open)
    if not other.results:
        return []
    found: dict[tuple[int, int], list[Result]] = {}
    for result in _iter_meetings(g, one, other):
        pair = (result.document, result.crossing)
        near = found.setdefault(pair, [])
        if all(_distance_m(result, known) > _ONE_CROSSING_M for known in near):
            near.append(result)
    results = [result for near in found.values() for result in near]
    if focus is not None:
        at = Result(0, position=(focus.lon, focus.lat))
        results.sort(key=lambda result: _distance_m(result, at))
    else:
        results.sort(key=lambda result: (-(result.confidence or 0), -result.score))
    return results


def _distance_m(one: Result, other: Result) -> float:
    assert one.position is not None and other.position is not None
    return float(haversine_m(*one.position, *other.position))


def _find_streets(
    g: Gazetteer, name: str, around: str, filters: Filters, *, complete: bool
) -> _Streets:
    """Return the streets that a name is the name of."""
    text = f"{name}, {around}" if around else name
    results = forward.find(
        g, text, _STREETS_OF_NAME, filters=filters._replace(layer="street"), complete=complete
    )
    lost_before = {word.text for word in understand(g, around).words} if around else set()
    kept: dict[int, Result] = {}
    for result in results:
        report = result.match or {}
        is_called = set(report.get("unmatched", ())) <= lost_before
        is_named = any(word["as"] == "name" for word in report.get("matched", ()))
        if g.kind[result.document] == STREET and is_called and is_named:
            kept.setdefault(result.document, result)
    documents = np.fromiter(kept, np.int64, len(kept))
    rows, owners = g.rows_of(documents)
    return _Streets(list(kept.values()), rows, owners)


def _iter_meetings(g: Gazetteer, one: _Streets, other: _Streets) -> Iterator[Result]:
    store = g.store
    is_way = [(s.rows >= store.way_start) & (s.rows < store.relation_start) for s in (one, other)]
    if not (is_way[0].any() and is_way[1].any()):
        return
    nodes = [
        store.way_nodes(streets.rows[ways])
        for streets, ways in zip((one, other), is_way, strict=True)
    ]
    values = [np.asarray(part.values, np.int64) for part in nodes]
    owners = [
        streets.owners[ways][part.owners()]
        for streets, ways, part in zip((one, other), is_way, nodes, strict=True)
    ]
    shared, at_one, at_other = np.intersect1d(values[0], values[1], return_indices=True)
    is_met = False
    for node, i, j in zip(shared.tolist(), at_one.tolist(), at_other.tolist(), strict=True):
        if node >= store.node_count or owners[0][i] == -1:
            continue
        a, b = one.results[owners[0][i]], other.results[owners[1][j]]
        if a.document == b.document:
            continue
        is_met = True
        lon, lat = float(store.lon[node]) / E7, float(store.lat[node]) / E7
        yield _make_result(a, b, lon, lat, node)
    if is_met:
        return
    lines = [store.geometries(s.rows) for s in (one, other)]
    pairs = shapely.STRtree(lines[0]).query(
        lines[1], predicate="dwithin", distance=_NEAR_M / DEGREE_M
    )
    gaps = shapely.distance(lines[0][pairs[1]], lines[1][pairs[0]])
    for at in np.argsort(gaps, kind="stable").tolist():
        j, i = pairs[:, at]
        a, b = one.results[one.owners[i]], other.results[other.owners[j]]
        if a.document != b.document:
            point = shapely.centroid(shapely.shortest_line(lines[0][i], lines[1][j]))
            result = _make_result(a, b, float(point.x), float(point.y), -1)
            less = 1 - float(gaps[at]) * DEGREE_M / (2 * _NEAR_M)
            yield result._replace(confidence=(result.confidence or 0.0) * less)
            return


def _make_result(one: Result, other: Result, lon: float, lat: float, node: int) -> Result:
    reports = [result.match or {} for result in (one, other)]
    match = {
        "matched": [word for report in reports for word in report.get("matched", ())],
        "unmatched": list(
            dict.fromkeys(word for report in reports for word in report.get("unmatched", ()))
        ),
    }
    return Result(
        one.document,
        score=min(one.score, other.score),
        confidence=min(one.confidence or 0.0, other.confidence or 0.0),
        match=match,
        position=(lon, lat),
        row=node,
        crossing=other.document,
    )
