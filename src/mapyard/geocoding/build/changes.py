"""Which documents an update has to read again; what is known of the others is taken over.

A document is known again by its section and anchor: the element that it is, or stands for it. It is
read again when its digest, of all that documents.py writes of it, is another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.geocoding.build.assembly import Assembly
from mapyard.geocoding.build.columns import Ints, count_pairs
from mapyard.geocoding.build.documents import find_town_postcodes
from mapyard.geocoding.build.places import COUNTRY, Place
from mapyard.geocoding.words.regions import list_context
from mapyard.text.names import iter_names

Digests = NDArray[np.uint64]

_PLACES, _STREETS, _ORPHANS, _RIVERS, _POIS, _HOUSES, _POSTCODES = range(7)
_ANCHOR_BITS: Final = 55


class Plan(NamedTuple):
    """What an update is to do."""

    #: Documents to be read.
    fresh: Ints
    #: For each document of the build before what it is now, −1 where that is to be read again.
    kept: Ints


def plan_documents(made: Assembly) -> Plan:
    """Compare the documents with those of the build before, and take over their count of words."""
    memo = made.memo
    sections = np.searchsorted(made.sections, np.arange(made.count), side="right") - 1
    anchors, digests = _find_anchors(made), _find_digests(made)
    count = made.count
    plan = Plan(np.arange(count), np.empty(0, np.int64))
    if memo.previous is not None:
        old_sections, old_anchors = memo.get("document_sections"), memo.get("document_anchors")
        of_text = old_sections == _POSTCODES
        old_anchors = np.where(
            of_text, old_anchors, memo.previous.map_rows(np.where(of_text, -1, old_anchors))
        )
        old_keys = np.where(old_anchors < 0, -1, _join(old_sections, old_anchors))
        order = np.argsort(old_keys, kind="stable")
        keys = _join(sections, anchors)
        place = np.minimum(np.searchsorted(old_keys[order], keys), len(order) - 1)
        old = order[place] if len(order) else np.zeros(count, np.int64)
        same = old_keys[old] == keys if len(order) else np.zeros(count, np.bool_)
        own_tags = (sections == _RIVERS) | (sections == _POIS) | (sections == _HOUSES)
        same &= ~(own_tags & memo.previous.is_touched(anchors))
        same[same] = memo.get("document_digests")[old[same]] == digests[same]
        made.words[same] = memo.get("document_words")[old[same]]
        kept = np.full(len(old_keys), -1, np.int64)
        kept[old[same]] = np.flatnonzero(same)
        plan = Plan(np.flatnonzero(~same), kept)
    memo.put("document_sections", sections.astype(np.int8))
    memo.put("document_anchors", anchors)
    memo.put("document_digests", digests)
    return plan


def remember_words(made: Assembly) -> None:
    """Put into the memo what reading the documents gave."""
    made.memo.put("document_words", made.words)


def _join(sections: NDArray[np.integer], anchors: Ints) -> Ints:
    return (sections.astype(np.int64) << _ANCHOR_BITS) | anchors


def _find_anchors(made: Assembly) -> Ints:
    """Return the row that each document is known by; of a postcode a number of its text."""
    anchors = made.row.copy()
    first = made.sections[_ORPHANS]
    anchors[first : first + len(made.orphan_rows)] = made.orphan_rows
    first = made.sections[_POSTCODES]
    texts = [made.labels[document] for document in range(first, made.count)]
    anchors[first:] = (_hash_texts(texts) >> np.uint64(64 - _ANCHOR_BITS)).astype(np.int64)
    return anchors


# ---- digests ----------------------------------------------------------------------------------


def _find_digests(made: Assembly) -> Digests:
    """Return a number per document of all that documents.py writes of it but its own tags."""
    names = _digest_names(made)
    places = _hash_texts(["\n".join(_list_context(place)) for place in made.places])
    postcodes, cities = _hash_texts(made.postcode_texts), _hash_texts(made.addresses.city.texts)
    parent = np.append(made.assignment.parent, -1)[made.entry]
    entry_city = np.append(made.addresses.city.codes, -1)[made.entry]
    areas, states = _hash_texts(made.addresses.areas.texts), _hash_texts(made.state_texts)
    entry_areas = np.append(made.addresses.areas.codes, -1)[made.entry]
    digest = names.copy()
    # The order of places is that of rank and size: what moves in it is written again.
    digest[: len(places)] = _hash_bytes(
        [orjson.dumps([p.tags, p.rank, p.area_deg2]) for p in made.places]
    )
    for column in (
        _digest_chains(made, places),
        _take(places, _larger(made, made.town)),
        _take(places, _larger(made, made.part)),
        _take(names, parent),
        _take(names, made.street),
        _take(cities, entry_city),
        _take(cities, made.city),
        _take(postcodes, made.postcode),
        _take(areas, entry_areas),
        _take(states, made.state),
        _digest_written(made, cities, postcodes, areas),
        _hash_texts([str(code) for code in made.country_codes])[made.country],
    ):
        digest = _mix(digest) + column
    return _mix(digest)


def _digest_names(made: Assembly) -> Digests:
    """Return a number of what places, streets and labelled documents are called; 0 for others."""
    digest = np.zeros(made.count, np.uint64)
    called = [[name for _, _, name in iter_names(place.tags)] for place in made.places]
    digest[: len(called)] = _hash_texts(["\n".join(names) for names in called])
    streets = made.street_names()
    # All names of a street, in their order.
    place = np.arange(len(streets.codes)) - np.repeat(
        streets.offsets[:-1], np.diff(streets.offsets)
    )
    said = _mix(_hash_texts(streets.texts)[streets.codes] ^ _mix(place.astype(np.uint64)))
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(said, dtype=np.uint64)])
    first = made.first_street
    digest[first : first + len(streets)] = np.diff(ends[streets.offsets])
    labelled = np.fromiter(made.labels, np.int64, len(made.labels))
    digest[labelled] = _hash_texts(list(made.labels.values()))
    return digest


def _digest_chains(made: Assembly, places: Digests) -> Digests:
    """Return a number of the areas around each document; of those larger than a place is."""
    chains = made.chains.chains
    of_chain = np.array([_sum(places, chain) for chain in chains], np.uint64)
    digest = of_chain[made.chain]
    for place in range(len(places)):
        around = [other for other in chains[made.chain[place]] if other < place]
        digest[place] = _sum(places, around)
    return digest


def _larger(made: Assembly, around: Ints) -> Ints:
    """Return the places around documents, −1 for those that are no larger than the document."""
    document = np.arange(made.count)
    return np.where((document < len(made.places)) & (around >= document), -1, around)


def _sum(values: Digests, indexes: Iterable[int]) -> int:
    return sum(values[list(indexes)].tolist()) % 2**64


def _list_context(place: Place) -> list[str]:
    return list_context(place.tags) if place.rank > COUNTRY else []


def _digest_written(made: Assembly, cities: Digests, postcodes: Digests, areas: Digests) -> Digests:
    """Return a number of the cities, postcodes and areas that the addresses of a document have."""
    digest = np.zeros(made.count, np.uint64)
    parent = made.assignment.parent
    for texts, codes in (
        (cities, made.addresses.city.codes),
        (postcodes, made.address_postcode),
        (areas, made.addresses.areas.codes),
    ):
        chosen = np.flatnonzero((parent >= 0) & (codes >= 0))
        documents, values, _ = count_pairs(parent[chosen], codes[chosen])
        np.add.at(digest, documents, _mix(texts[values]))
    towns, codes = find_town_postcodes(made)
    np.add.at(digest, towns, _mix(postcodes[codes] + np.uint64(1)))
    return digest


def _take(values: Digests, indexes: Ints) -> Digests:
    """Return the values at indexes, 0 for −1."""
    return np.append(values, np.uint64(0))[indexes]


def _hash_texts(texts: list[str]) -> Digests:
    return _hash_bytes([text.encode() for text in texts])


def _hash_bytes(items: list[bytes]) -> Digests:
    joined = b"".join(blake2b(item, digest_size=8).digest() for item in items)
    return np.frombuffer(joined, "<u8").astype(np.uint64)


def _mix(values: Digests) -> Digests:
    """Return numbers spread over all 64 bits (the finish of SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
