"""What the text index holds of each document: names, context, category, layer, country."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import orjson

from mapyard.geocoding.assembly import Assembly
from mapyard.geocoding.categories import CATEGORY_KEYS
from mapyard.geocoding.columns import Ints, count_pairs
from mapyard.geocoding.kinds import LAYERS, NAMES, PLACE
from mapyard.geocoding.places import COUNTRY, Place
from mapyard.store.reader import E7
from mapyard.text.analysis import name_keys, slots, terms
from mapyard.text.index import IndexWriter
from mapyard.text.names import iter_names, split_values

#: Languages whose names of areas are context of what lies in them, when there are many.
CONTEXT_LANGS: Final = frozenset(
    ("", "en", "de", "fr", "it", "es", "pt", "nl", "ca", "ja", "zh", "ar", "ru", "dv", "gsw", "rm")
)
_MANY: Final = 16
_OLD: Final = frozenset(("old_name", "uic_name"))


def add_documents(writer: IndexWriter, made: Assembly, documents: Ints) -> None:
    """Write these documents to the index; others' are not touched."""
    source = DocumentTexts(made, documents)
    lon = np.round(made.lon[documents] * E7).astype(np.int64).tolist()
    lat = np.round(made.lat[documents] * E7).astype(np.int64).tolist()
    numbers = made.numbers[documents].tolist()
    for document, number, x, y in zip(documents.tolist(), numbers, lon, lat, strict=True):
        names, categories = source.names(document)
        made.words[document] = count_words(names)
        kind = int(made.kind[document])
        country = str(made.country_codes[made.country[document]])
        writer.add(
            terms=(
                ("place_name", dict.fromkeys(term for name in names for term in terms(name))),
                ("context", source.context(document)),
            ),
            keys=(
                ("place_key", dict.fromkeys(key for name in names for key in name_keys(name))),
                ("category", categories),
                ("layer", (LAYERS[kind], NAMES[kind]) if LAYERS[kind] != NAMES[kind] else ("poi",)),
                ("country", (country,) if country else ()),
            ),
            numbers=(("document", number), ("lon", x), ("lat", y)),
        )


class DocumentTexts:
    """Names and context of some documents of an assembly."""

    def __init__(self, made: Assembly, documents: Ints) -> None:
        self._made = made
        self._is_wanted = np.zeros(made.count, np.bool_)
        self._is_wanted[documents] = True
        self._street_names = made.street_names()
        self._first_street = made.first_street
        self._of_chain: dict[int, dict[str, None]] = {}
        self._of_place: dict[int, dict[str, None]] = {}

    def names(self, document: int) -> tuple[list[str], list[str]]:
        """Return all names of a document, and its categories as "key=value"."""
        made = self._made
        if document < len(made.places):
            tags = made.places[document].tags
            return [name for _, _, name in iter_names(tags)], _categories(tags)
        label = made.labels.get(document)
        street = document - self._first_street
        if label is None and 0 <= street < len(self._street_names):
            return self._street_names[street], []
        if label is not None and made.row[document] < 0:
            return [label], []
        tags = orjson.loads(made.store.tags_json(made.row[document : document + 1])[0])
        names = [name for _, _, name in iter_names(tags)]
        for key in ("addr:housename", "brand", "operator"):
            # An operator is a name only where nothing else is.
            if key in tags and (key != "operator" or not names):
                names += split_values(tags[key])
        if label is not None and label not in names:
            names.append(label)
        return names, _categories(tags)

    def context(self, document: int) -> dict[str, None]:
        """Return the terms of where a document is: areas, town, postcode, street."""
        made = self._made
        chain = int(made.chain[document])
        found = dict(self._chain_terms(chain, document))
        is_place = document < len(made.places)
        for place in (int(made.town[document]), int(made.part[document])):
            # The context of a place is what is larger; places are sorted so.
            if place >= 0 and (not is_place or place < document):
                found |= self._place_terms(place)
        entry = int(made.entry[document])
        if entry >= 0:
            street = int(made.assignment.parent[entry])
            found |= self._name_terms(street)
            found |= dict.fromkeys(terms(made.addresses.city.get(entry)))
        postcode = int(made.postcode[document])
        if made.city[document] >= 0:
            found |= dict.fromkeys(terms(made.addresses.city.texts[made.city[document]]))
        if postcode >= 0:
            found |= dict.fromkeys(terms(made.postcode_texts[postcode]))
        for column, code in self._written(document):
            found |= dict.fromkeys(terms(column[code]))
        return found

    def _chain_terms(self, chain: int, document: int) -> dict[str, None]:
        places = self._made.chains.chains[chain]
        if document < len(self._made.places):
            return {t: None for p in places if p < document for t in self._place_terms(p)}
        if chain not in self._of_chain:
            self._of_chain[chain] = {t: None for p in places for t in self._place_terms(p)}
        return self._of_chain[chain]

    def _place_terms(self, place: int) -> dict[str, None]:
        if place not in self._of_place:
            self._of_place[place] = self._find_place_terms(place)
        return self._of_place[place]

    def _find_place_terms(self, place: int) -> dict[str, None]:
        return {t: None for name in list_context(self._made.places[place]) for t in terms(name)}

    def _name_terms(self, document: int) -> dict[str, None]:
        if document < 0:
            return {}
        return {term: None for name in self.names(document)[0] for term in terms(name)}

    @cached_property
    def _cities_and_postcodes(self) -> dict[int, list[tuple[list[str], int]]]:
        """For streets: every city and postcode that addresses of it have."""
        made = self._made
        parent = made.assignment.parent
        found: dict[int, list[tuple[list[str], int]]] = {}
        for texts, codes in (
            (made.addresses.city.texts, made.addresses.city.codes),
            (made.postcode_texts, made.address_postcode),
        ):
            chosen = np.flatnonzero((parent >= 0) & self._is_wanted[parent] & (codes >= 0))
            documents, values, _ = count_pairs(parent[chosen], codes[chosen])
            for document, code in zip(documents.tolist(), values.tolist(), strict=True):
                found.setdefault(document, []).append((texts, code))
        return found

    @cached_property
    def _town_postcodes(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for place, code in zip(*find_town_postcodes(self._made), strict=True):
            found.setdefault(int(place), []).append(int(code))
        return found

    def _written(self, document: int) -> list[tuple[list[str], int]]:
        if self._made.kind[document] == PLACE:
            codes = self._town_postcodes.get(document, ())
            found = [(self._made.postcode_texts, code) for code in codes]
        else:
            found = []
        return found + self._cities_and_postcodes.get(document, [])


def list_context(place: Place) -> list[str]:
    """Return the names of a place that are context of what lies in it."""
    if place.rank <= COUNTRY:
        return []  # countries are understood by themselves, see query.py
    names = list(iter_names(place.tags))
    if len(names) > _MANY:
        names = [n for n in names if n[1] in CONTEXT_LANGS]
    return [name for base, _, name in names if base not in _OLD]


def find_town_postcodes(made: Assembly) -> tuple[Ints, Ints]:
    """Return (town, postcode) for the postcodes of a tenth and more of the addresses in a town."""
    town, codes = made.address_town, made.address_postcode
    chosen = np.flatnonzero((town >= 0) & (codes >= 0))
    places, values, counts = count_pairs(town[chosen], codes[chosen])
    totals = np.bincount(town[chosen], minlength=len(made.places))
    often = counts * 10 >= totals[places]
    return places[often], values[often]


def count_words(names: list[str]) -> int:
    """Return the number of words of the first name, little ones aside; at least 1."""
    words = slots(names[0]) if names else []
    return max(1, min(255, sum(not slot.is_little for slot in words)))


def _categories(tags: dict[str, str]) -> list[str]:
    found = [
        f"{key}={value}"
        for key in CATEGORY_KEYS
        if key in tags
        for value in split_values(tags[key])
    ]
    found += [f"cuisine={value}" for value in split_values(tags.get("cuisine", "")) if value]
    return found
