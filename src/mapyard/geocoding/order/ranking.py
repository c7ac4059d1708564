"""Candidates of a text with their scores, and what the best of them become."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.sphere import haversine_m
from mapyard.geocoding.answer.answers import Result
from mapyard.geocoding.kinds import PLACE, POSTCODE, STREET
from mapyard.geocoding.read.query import Understood, Word
from mapyard.geocoding.search.gazetteer import Gazetteer, House
from mapyard.geocoding.search.matching import (
    CATEGORY,
    CONTEXT,
    CONTEXT_PREFIX,
    IS_BOUND,
    IS_NAME,
    IS_WHERE,
    NAME,
    NAME_FUZZY,
    SHORTEST_CODE,
    WORTH,
    Candidates,
)
from mapyard.geocoding.words.housenumbers import Candidate, parse_numbers
from mapyard.store.reader import E7
from mapyard.text.distance import is_near_word

Floats = NDArray[np.float64]

#: Shares of the final score.
TEXT, NAMED, BIAS = 0.60, 0.22, 0.18
#: At a distance of this the pull of a focus is half.
FOCUS_HALF_M: Final = 5_000.0
#: The pull of a focus is as strong as this importance, at no distance.
FOCUS_PULL: Final = 0.75
#: A name of which all words match, but not as the whole name, against the whole name.
PARTLY: Final = 0.85
#: How well the name fits a thing of the kind that was asked for, whatever it is called.
OF_KIND: Final = 0.9
#: What the very house is worth besides: a stop of the street's name may be more important.
HOUSE: Final = 0.06
#: What other things of the name lose where the name is that of a kind.
KIND: Final = 0.1
#: Less of the query matched than this is no match.
MIN_MATCHED: Final = 0.45
#: Confidence with one word that is not part of the answer, less for each further one.
UNSURE: Final = 0.7
MISSING_WORD: Final = 0.1
LEAST_SURE: Final = 0.3
#: Candidates for which a missing house number is looked for between others.
_INTERPOLATED: Final = 8
_INTERPOLATED_NUMBER: Final = 0.8
_LEVEL_NAMES: Final = (
    ("", ""), ("context", "fuzzy"), ("name", "fuzzy"), ("context", "prefix"), ("context", "exact"),
    ("name", "prefix"), ("category", "exact"), ("name", "exact"),
)  # fmt: skip


class Focus(NamedTuple):
    """A position that results are preferred near to."""

    lon: float
    lat: float
    half_m: float = FOCUS_HALF_M


def lean(importance: NDArray[Any], distance_m: Floats, focus: Focus) -> Floats:
    """Return importances with the pull of a focus."""
    pull = FOCUS_PULL * np.exp2(-distance_m / focus.half_m)
    found: Floats = np.maximum(importance, pull + importance * 0.1)
    return found


class Ranking:
    """Judged candidates with their scores."""

    def __init__(
        self,
        gazetteer: Gazetteer,
        query: Understood,
        candidates: Candidates,
        focus: Focus | None,
        wanted: int,
        *,
        explain: bool = False,
    ) -> None:
        self._explains = explain
        self._gazetteer = gazetteer
        self._query = query
        self.documents = candidates.documents
        self._levels = candidates.levels
        self._whole = candidates.whole
        self._whole_start = candidates.whole_start
        self._by_category = candidates.by_category
        self._weights = np.array([word.weight for word in query.words])
        strong = [not (word.slot.is_little or word.is_filler) for word in query.words]
        self._strong = np.array(strong if any(strong) else [True] * len(strong), np.bool_)
        self._worth: Floats = WORTH[self._levels]
        of_kind = np.array([bool(word.categories) for word in query.words])
        # A thing of the kind that is asked for is what is meant, whatever it is called.
        self._worth[(self._levels == CATEGORY) & of_kind] = 1.0
        self._little = np.array([word.slot.is_little for word in query.words])
        self._has_digit = np.array([word.slot.has_digit for word in query.words])
        self._free: dict[Candidate, NDArray[np.bool_]] = {}
        count = len(self.documents)
        #: Address entry of an exact house number, −1 none; and the candidate it answers.
        self._entry = np.full(count, -1, np.int64)
        self._number: list[Candidate | None] = [None] * count
        self._houses: dict[int, House] = {}
        self._kinds = gazetteer.kind[self.documents]
        #: To the focus; None without one.
        self._distance_m: Floats | None = None
        self._bias = self._find_bias(focus)
        if not count:
            self.scores: Floats = np.empty(0)
            return
        self._named, self._is_called = self._find_names()
        self._fixed = NAMED * self._named + BIAS * self._bias
        if query.asks_for_kind:
            # The post office before a street or a car park called Post.
            self._fixed -= KIND * ~(self._by_category | (self._kinds == PLACE))
        if query.numbers:
            self._match_numbers()
            self._compare_towns(max(wanted, _INTERPOLATED))
        self.scores = self._find_scores()
        if query.numbers and self._match_unmapped():
            self.scores = self._find_scores()

    # ---- scores -----------------------------------------------------------------------------

    def _find_bias(self, focus: Focus | None) -> Floats:
        g = self._gazetteer
        bias = g.importance[self.documents].astype(np.float64)
        if focus is not None and len(bias):
            self._distance_m = haversine_m(
                g.lon[self.documents] / E7, g.lat[self.documents] / E7, focus.lon, focus.lat
            )
            bias = lean(bias, self._distance_m, focus)
        return bias

    def _put_in_order(self, scores: Floats) -> NDArray[np.int64]:
        """Return the places of documents by score; of equal ones the nearest to a focus is first.

        Without one it is the first document.
        """
        if self._distance_m is None:
            return np.argsort(-scores, kind="stable")
        return np.lexsort((self._distance_m, -scores))

    def _find_names(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return how well each name fits, and which documents are called so at all."""
        g, words = self._gazetteer, self._query.words
        is_named = IS_NAME[self._levels]
        little = self._little
        strong = np.count_nonzero(is_named & ~little, axis=1)
        share = np.minimum(1.0, strong / g.words[self.documents])
        if self._by_category.any():
            share = np.where(self._by_category, np.maximum(share, OF_KIND), share)
        named = np.where(self._whole > 0, 1.0, PARTLY * share)
        # What is matched only by where it is, or only by "street", is not what was asked for.
        telling = np.array([not (w.is_street_word or w.is_filler or w.is_country) for w in words])
        if not (telling & ~little & ~self._has_digit).any():
            telling[:] = True
        is_called = (is_named & telling).any(axis=1) | (self._whole > 0)
        return named, is_called | (self._kinds == POSTCODE)

    def _find_scores(self) -> Floats:
        self.text = self._worth @ self._weights / self._weights.sum()
        scores: Floats = self._fixed + TEXT * self.text + HOUSE * (self._entry >= 0)
        # A town whose name is all but a number, such as another town's postcode, is one, too.
        others = ~self._has_digit & ~self._little
        is_town = (self._kinds == PLACE) & (self._whole > 0)
        is_town &= (self._worth[:, others] > 0).all(axis=1)
        scores[~(self._is_called & ((self.text >= MIN_MATCHED) | is_town))] = -1.0
        return scores

    @property
    def is_good(self) -> bool:
        """Whether the best candidate matches all of the query but little words.

        A number may be missing, a house name may not.
        """
        if not len(self.scores) or self.scores.max() < 0:
            return False
        worth = self._worth[int(self.scores.argmax())]
        strong = np.array([not (w.slot.is_little or w.is_filler) for w in self._query.words])
        unknown = self._has_digit.copy()
        if self._query.begun >= 0:
            unknown[self._query.begun] = True
        for candidate in self._query.numbers:
            if candidate.is_known and not candidate.key[0].isdigit():
                unknown[candidate.start : candidate.stop] = False
        return bool(((worth > 0) | ~strong | unknown).all())

    # ---- house numbers ----------------------------------------------------------------------

    def _match_numbers(self) -> None:
        g = self._gazetteer
        numbered = g.has_houses(self.documents)
        for candidate in self._query.numbers:
            words = slice(candidate.start, candidate.stop)
            free = numbered & (self._entry < 0) & self._is_free(candidate)
            places = np.flatnonzero(free)
            if not len(places):
                continue
            found = g.find_exact(self.documents[places], candidate.key)
            hit = places[found >= 0]
            self._entry[hit] = found[found >= 0]
            self._worth[hit, words] = 1.0
            if self._starts_range(candidate):
                self._worth[hit, candidate.stop] = 1.0
            for place in hit.tolist():
                self._number[place] = candidate
        if len(self._query.numbers) > 1:
            self._match_lists()

    def _starts_range(self, candidate: Candidate) -> bool:
        """Return whether the words are the first number of a range: 12 of "12-14"."""
        words = self._query.words
        if candidate.stop - candidate.start > 1 or candidate.stop == len(words):
            return False
        return (words[candidate.start].text, words[candidate.stop].text) in self._query.ranges

    def _match_lists(self) -> None:
        """Count further numbers of the same house: "1;3;5"."""
        g = self._gazetteer
        for place in np.flatnonzero(self._entry >= 0).tolist():
            keys = parse_numbers(g.number_text(int(self._entry[place])))
            if len(keys) < 2:
                continue
            for candidate in self._query.numbers:
                if candidate.key in keys and self._number[place] is not candidate:
                    self._worth[place, candidate.start : candidate.stop] = 1.0

    def _is_free(self, candidate: Candidate) -> NDArray[np.bool_]:
        """Return for which documents the words are no part of the name or of the postcode.

        A word of the name that stands beside the whole name is free: "Avenue Albert II 2".
        """
        known = self._free.get(candidate)
        if known is not None:
            return known
        levels = self._levels[:, candidate.start : candidate.stop]
        inside = (self._whole_start < candidate.stop) & (
            candidate.start < self._whole_start + self._whole
        )
        beside = (self._whole > 0) & ~inside
        free = ~IS_BOUND[levels].all(axis=1) | (beside & (levels == NAME).any(axis=1))
        for i in self._find_same(candidate):  # 2段 2號: one of them is the name's
            free |= self._levels[:, i] == NAME
        self._free[candidate] = free
        return free

    def _find_same(self, candidate: Candidate) -> list[int]:
        """Return the other places of the word that a candidate is."""
        words = self._query.words
        if candidate.stop - candidate.start > 1:
            return []
        text = words[candidate.start].text
        return [i for i, w in enumerate(words) if w.text == text and i != candidate.start]

    def _compare_towns(self, wanted: int) -> None:
        """Judge, of houses with the right number, the words that say where by the very house.

        A street along a border has houses of several towns, so its context holds the names of all.
        Only the best `wanted` are judged: nothing becomes better by it.
        """
        is_open = self._entry >= 0
        if not is_open.any():
            return
        is_where = IS_WHERE[self._levels]
        context = np.flatnonzero(is_where.any(axis=0))
        words = [i for i in context.tolist() if not self._query.words[i].country]
        if not words:
            return
        while True:
            best = self._put_in_order(self._find_scores())[:wanted]
            best = best[is_open[best]]
            if not len(best):
                return
            is_open[best] = False
            self._judge_houses(best, words, is_where)

    def _judge_houses(
        self, places: NDArray[np.int64], words: list[int], is_where: NDArray[np.bool_]
    ) -> None:
        g = self._gazetteer
        for place in places.tolist():
            asked = [i for i in words if is_where[place, i]]
            entry = int(self._entry[place])
            lost = self._find_elsewhere(entry, place, asked)
            candidate = self._number[place]
            if lost and candidate is not None:
                # The same number again on this street, in another town.
                _, others = g.find_same(self.documents[place : place + 1], candidate.key)
                for other in others.tolist() if len(others) > 1 else ():
                    lost_there = self._find_elsewhere(other, place, asked)
                    if len(lost_there) < len(lost):
                        self._entry[place], lost = other, lost_there
            self._worth[place, lost] = 0.0
            self._forgive_codes(int(self._entry[place]), place, lost)

    def _forgive_codes(self, entry: int, place: int, lost: list[int]) -> None:
        """Count postcodes that are longer or shorter than that of an address."""
        codes = [i for i in lost if self._query.words[i].text.isdigit()]
        own = self._gazetteer.address_terms(entry) if codes else ()
        for i in codes:
            text = self._query.words[i].text
            if any(_is_beginning(term, text) or _is_beginning(text, term) for term in own):
                self._worth[place, i] = WORTH[CONTEXT_PREFIX]

    def _find_elsewhere(self, entry: int, place: int, asked: list[int]) -> list[int]:
        """Return those of the words that do not say where an address is."""
        own = self._gazetteer.address_terms(entry)
        levels = self._levels[place]
        return [i for i in asked if not _is_own(own, self._query.words[i], int(levels[i]))]

    def _match_unmapped(self) -> bool:
        """Give the best streets a point for a number that is not mapped; POIs their own number.

        Return whether that changed anything.
        """
        g = self._gazetteer
        is_changed = False
        order = self._put_in_order(self.scores)[:_INTERPOLATED]
        for place in order.tolist():
            if self._entry[place] >= 0 or self.scores[place] < 0:
                continue
            document = int(self.documents[place])
            for candidate in self._query.numbers:
                words = slice(candidate.start, candidate.stop)
                if not self._is_free(candidate)[place]:
                    continue
                entry = int(g.entry[document])
                if entry >= 0:
                    if candidate.key in parse_numbers(g.number_text(entry)):
                        self._worth[place, words] = 1.0
                        is_changed = True
                        break
                    continue
                if g.kind[document] != STREET:
                    continue
                entry = g.find_corpus(document, candidate.key)
                if entry >= 0:
                    self._entry[place], self._number[place] = entry, candidate
                    self._worth[place, words] = _INTERPOLATED_NUMBER
                    is_changed = True
                    break
                house = g.interpolate(document, candidate.key)
                if house is not None:
                    self._houses[place] = house
                    self._number[place] = candidate
                    self._worth[place, words] = _INTERPOLATED_NUMBER
                    is_changed = True
                    break
        return is_changed

    # ---- results ----------------------------------------------------------------------------

    def results(self, limit: int) -> list[Result]:
        """Return the best results."""
        best = self._put_in_order(self.scores)[:limit]
        best = best[self.scores[best] >= 0]
        confidences = self._find_confidences(best).tolist()
        return [
            self._make_result(place, confidence)
            for place, confidence in zip(best.tolist(), confidences, strict=True)
        ]

    def _make_result(self, place: int, confidence: float) -> Result:
        g = self._gazetteer
        candidate = self._number[place]
        house = self._houses.get(place)
        entry = int(self._entry[place])
        number = ""
        if candidate is not None:
            number = candidate.key.upper() if house else _written(g, entry, candidate.key)
        return Result(
            int(self.documents[place]), entry, house, number,
            score=float(self.scores[place]),
            confidence=confidence,
            match=self._report(place),
            explain=self._explain(place) if self._explains else None,
        )  # fmt: skip

    def _explain(self, place: int) -> dict[str, Any]:
        """Return the parts of a score."""
        words = [
            {"word": word.text, "weight": round(float(self._weights[i]), 4),
             "worth": round(float(self._worth[place, i]), 4)}
            for i, word in enumerate(self._query.words)
        ]  # fmt: skip
        return {
            "text": round(TEXT * float(self.text[place]), 4),
            "name": round(NAMED * float(self._named[place]), 4),
            "importance": round(BIAS * float(self._bias[place]), 4),
            "house": HOUSE if self._entry[place] >= 0 else 0.0,
            "words": words,
        }

    def _find_confidences(self, places: NDArray[np.int64]) -> Floats:
        """Return 0–1: how much of the query is answered, capped where number or place differ."""
        weights = self._weights[self._strong]
        worth = self._worth[np.ix_(places, self._strong)]
        share = worth @ weights / weights.sum()
        is_partly = (self._whole[places] == 0) & ~IS_NAME[self._levels[places]].all(axis=1)
        share[is_partly & (share > 0.95)] = 0.95
        missing = np.count_nonzero(worth == 0, axis=1)
        most = np.maximum(LEAST_SURE, UNSURE - MISSING_WORD * (missing - 1))
        return np.where(missing > 0, np.minimum(share, most), share)

    def _report(self, place: int) -> dict[str, Any]:
        matched: list[dict[str, str]] = []
        unmatched: list[str] = []
        ignored = list(self._query.ignored)
        candidate = self._number[place]
        inferred: list[str] = []
        first, stop = (candidate.start, candidate.stop) if candidate is not None else (0, 0)
        rows = zip(
            self._query.words, self._levels[place].tolist(), self._worth[place].tolist(),
            strict=True,
        )  # fmt: skip
        for i, (word, level, worth) in enumerate(rows):
            role, means = _LEVEL_NAMES[level]
            if first <= i < stop:
                role, means = "house_number", "exact"
                if place in self._houses:
                    means = "interpolation"
                    inferred.append(role)
            elif level and worth > 0:
                if word.is_unfinished and level == NAME_FUZZY:
                    role, means = "category", "prefix"
            elif worth > 0:
                role, means = "house_number", "exact"
            else:
                (ignored if word.is_filler else unmatched).append(word.text)
                continue
            matched.append({"word": word.text, "as": role, "by": means})
        report: dict[str, Any] = {"matched": matched, "unmatched": unmatched}
        if ignored:
            report["ignored"] = ignored
        if inferred:
            report["inferred"] = sorted(set(inferred))
        return report


def _is_own(own: frozenset[str], word: Word, level: int) -> bool:
    """Return whether a word at a level of context says where something with these terms is."""
    text = word.text
    if level == CONTEXT:
        return any(own.issuperset(alternative) for alternative in word.alternatives)
    if level == CONTEXT_PREFIX:
        return any(term.startswith(text) or _is_beginning(term, text) for term in own)
    most = 2 if len(word.text) >= 8 else 1
    spellings = [a[0] for a in word.alternatives if len(a) == 1 and len(a[0]) >= 4]
    return any(is_near_word(s, term, most) for s in spellings for term in own)


def _is_beginning(code: str, longer: str) -> bool:
    return code.isdigit() and len(code) >= SHORTEST_CODE and longer.startswith(code)


def _written(gazetteer: Gazetteer, entry: int, key: str) -> str:
    """Return a house number as written in the data, or the one of a list that was asked for."""
    text = gazetteer.number_text(entry)
    keys = parse_numbers(text)
    return text if not keys or keys[0] == key or key not in keys else key.upper()
