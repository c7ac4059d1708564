"""What is known of each document by its words: names, context, category."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import orjson

from mapyard.caches import cache_method
from mapyard.geocoding.build.assembly import Assembly
from mapyard.geocoding.build.columns import Ints, count_pairs, group_offsets
from mapyard.geocoding.build.places import COUNTRY
from mapyard.geocoding.kinds import PLACE, POSTCODE
from mapyard.geocoding.search.postings import PostingsWriter
from mapyard.geocoding.words.categories import CATEGORY_KEYS, FURTHER_KEYS, find_brand_names
from mapyard.geocoding.words.regions import expand_areas, list_codes, list_context
from mapyard.text.analysis import (
    count_words,
    name_keys,
    part_terms,
    postcode_terms,
    script_terms,
    whole_terms,
)
from mapyard.text.names import iter_names, split_values

#: Documents whose tags are read at once.
_BLOCK: Final = 512


def add_documents(writer: PostingsWriter, made: Assembly, documents: Ints) -> None:
    """Write the terms of these documents; others' are not touched."""
    source = DocumentTexts(made, documents)
    for document in documents.tolist():
        names, local, categories = source.names(document)
        made.words[document] = max(1, min(255, count_words(names[0]))) if names else 1
        wholes: dict[str, None] = {}
        parts: dict[str, None] = {}
        keys: dict[str, None] = {}
        for name in dict.fromkeys(names):
            wholes |= dict.fromkeys(whole_terms(name))
            parts |= dict.fromkeys(part_terms(name))
            keys |= dict.fromkeys(name_keys(name))
        if made.kind[document] == POSTCODE:
            wholes |= dict.fromkeys(postcode_terms(names[0]))
        for name in local:
            wholes |= dict.fromkeys(script_terms(name))
        writer.add(
            document,
            (
                ("name", wholes),
                ("part", [term for term in parts if term not in wholes]),
                ("context", source.context(document)),
                ("key", keys),
                ("category", dict.fromkeys(categories)),
            ),
        )


class DocumentTexts:
    """Names and context of some documents of an assembly."""

    def __init__(self, made: Assembly, documents: Ints) -> None:
        self._made = made
        self._documents = documents
        self._tags: dict[int, dict[str, str]] = {}
        self._is_wanted = np.zeros(made.count, np.bool_)
        self._is_wanted[documents] = True
        self._street_names = made.street_names()
        self._first_street = made.first_street
        self._around_terms = cache_method(self._find_around_terms, 4_096)
        self._of_place: dict[int, dict[str, None]] = {}

    def names(self, document: int) -> tuple[list[str], list[str], list[str]]:
        """Return all names of a document, the local ones, and its categories as "key=value"."""
        made = self._made
        if document < len(made.places):
            tags = made.places[document].tags
            names = [name for _, _, name in iter_names(tags)] + list_codes(tags)
            return names, _local_names(tags), _categories(tags)
        label = made.labels.get(document)
        street = document - self._first_street
        if label is None and 0 <= street < len(self._street_names):
            names = self._street_names[street]
            return names, names, []
        if label is not None and made.row[document] < 0:
            return [label], [label], []
        tags = self._read_tags(document)
        names = [name for _, _, name in iter_names(tags)]
        for key in ("addr:housename", "brand", "operator"):
            # An operator is a name only where nothing else is.
            if key in tags and (key != "operator" or not names):
                names += split_values(tags[key])
        number = tags.get("addr:housenumber", "")
        if number and not any(map(str.isdigit, number)):
            names.append(number)  # the name of a house, as such houses without another one have it
        names += find_brand_names(tags.get("brand") or tags.get("name", ""))
        if label is not None and label not in names:
            names.append(label)
        return names, _local_names(tags), _categories(tags)

    def _read_tags(self, document: int) -> dict[str, str]:
        """Return the tags of a document, those of the next ones are read with them."""
        if document not in self._tags:
            start = int(np.searchsorted(self._documents, document))
            part = self._documents[start : start + _BLOCK]
            part = part[self._made.row[part] >= 0]
            texts = self._made.store.tags_json(self._made.row[part])
            self._tags = dict(zip(part.tolist(), map(orjson.loads, texts), strict=True))
        return self._tags[document]

    def context(self, document: int) -> dict[str, None]:
        """Return the terms of where a document is: areas, town, postcode, street."""
        made = self._made
        around = (int(made.chain[document]), int(made.town[document]), int(made.part[document]))
        # The context of a place is what is larger; places are sorted so.
        largest = document if document < len(made.places) else len(made.places)
        found = dict(self._around_terms(*around, largest))
        entry = int(made.entry[document])
        if entry >= 0:
            street = int(made.assignment.parent[entry])
            found |= self._name_terms(street)
            found |= _context_terms(made.addresses.city.get(entry))
            found |= self._area_terms(document, made.addresses.areas.get(entry))
        elif made.street[document] >= 0:
            found |= self._name_terms(int(made.street[document]))
        postcode = int(made.postcode[document])
        if made.city[document] >= 0:
            found |= _context_terms(made.addresses.city.texts[made.city[document]])
        if postcode >= 0:
            found |= dict.fromkeys(postcode_terms(made.postcode_texts[postcode]))
        if made.state[document] >= 0:
            found |= self._area_terms(document, made.state_texts[made.state[document]])
        for column, code in self._written(document):
            if column is made.addresses.areas.texts:
                found |= self._area_terms(document, column[code])
            elif column is made.postcode_texts:
                found |= dict.fromkeys(postcode_terms(column[code]))
            else:
                found |= _context_terms(column[code])
        return found

    def _area_terms(self, document: int, text: str) -> dict[str, None]:
        country = str(self._made.country_codes[self._made.country[document]])
        return _read_area_terms(country, text)

    def _find_around_terms(self, chain: int, town: int, part: int, largest: int) -> dict[str, None]:
        found: dict[str, None] = {}
        for place in (*self._made.chains.chains[chain], town, part):
            if 0 <= place < largest:
                found |= self._place_terms(place)
        return found

    def _place_terms(self, place: int) -> dict[str, None]:
        if place not in self._of_place:
            self._of_place[place] = self._find_place_terms(place)
        return self._of_place[place]

    def _find_place_terms(self, place: int) -> dict[str, None]:
        p = self._made.places[place]
        if p.rank <= COUNTRY:
            return {}  # countries are understood by themselves, see query.py
        return {term: None for name in list_context(p.tags) for term in _context_terms(name)}

    def _name_terms(self, document: int) -> dict[str, None]:
        if document < 0:
            return {}
        return {term: None for name in self.names(document)[0] for term in _context_terms(name)}

    @cached_property
    def _cities_and_postcodes(self) -> list[tuple[list[str], memoryview, memoryview]]:
        """For streets: every city and postcode that addresses of it have.

        Each as texts, offsets by document, and numbers of texts.
        """
        made = self._made
        parent = made.assignment.parent
        found = []
        for texts, codes in (
            (made.addresses.city.texts, made.addresses.city.codes),
            (made.postcode_texts, made.address_postcode),
            (made.addresses.areas.texts, made.addresses.areas.codes),
        ):
            chosen = np.flatnonzero((parent >= 0) & self._is_wanted[parent] & (codes >= 0))
            documents, values, _ = count_pairs(parent[chosen], codes[chosen])
            offsets = group_offsets(documents, made.count)
            found.append((texts, memoryview(offsets), memoryview(values)))
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
        for texts, offsets, values in self._cities_and_postcodes:
            found += [(texts, code) for code in values[offsets[document] : offsets[document + 1]]]
        return found


def find_town_postcodes(made: Assembly) -> tuple[Ints, Ints]:
    """Return (town, postcode) for the postcodes of a tenth and more of the addresses in a town."""
    town, codes = made.address_town, made.address_postcode
    chosen = np.flatnonzero((town >= 0) & (codes >= 0))
    places, values, counts = count_pairs(town[chosen], codes[chosen])
    totals = np.bincount(town[chosen], minlength=len(made.places))
    often = counts * 10 >= totals[places]
    return places[often], values[often]


def _local_names(tags: dict[str, str]) -> list[str]:
    """Return the names that are in no particular language."""
    return [name for _, lang, name in iter_names(tags) if not lang]


@lru_cache(maxsize=8_192)
def _read_area_terms(country: str, text: str) -> dict[str, None]:
    areas = expand_areas(country, text) if text else []
    return {term: None for area in areas for term in _context_terms(area)}


@lru_cache(maxsize=8_192)
def _context_terms(name: str) -> dict[str, None]:
    """Return the terms of a name that says where something is; shared, not to be changed."""
    return dict.fromkeys((*whole_terms(name), *script_terms(name)))


def _categories(tags: dict[str, str]) -> list[str]:
    found = [
        f"{key}={value}"
        for key in CATEGORY_KEYS
        if key in tags
        for value in split_values(tags[key])
    ]
    found += [
        f"{key}={value}"
        for key in FURTHER_KEYS
        if key in tags
        for value in split_values(tags[key])
        if value
    ]
    return found
