"""The opened geocoder of a dataset: postings, columns, house numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.caches import cache_method
from mapyard.geo.sphere import DEGREE_M
from mapyard.geocoding.build.interpolation import position_on_line, project_on_line
from mapyard.geocoding.build.places import COUNTRY
from mapyard.geocoding.kinds import HOUSE_SHIFT, PLACE
from mapyard.geocoding.search.postings import open_postings
from mapyard.geocoding.words.categories import Kinds
from mapyard.geocoding.words.country_names import add_names, read_country_names
from mapyard.geocoding.words.housenumbers import leading_number
from mapyard.geocoding.words.regions import expand_areas, list_context
from mapyard.osm.elements import TYPE_NAMES
from mapyard.store.columns import Heap, open_column
from mapyard.store.reader import E7, Store
from mapyard.text.analysis import postcode_terms, script_terms, terms
from mapyard.text.folding import fold
from mapyard.text.latin import MARK
from mapyard.text.names import iter_names

Ints = NDArray[np.int64]

#: Gaps between known numbers wider than this are not bridged by guessing.
MAX_GAP_NUMBERS: Final = 40
MAX_GAP_M: Final = 600.0
_CORPUS = re.compile(r"(?:[ksc]\d{1,3})+$")
#: A number of Queens: block and house.
_BLOCK_NUMBER = re.compile(r"^(\d{1,4})-(\d{2,3})$")


class House(NamedTuple):
    """Where a house number is: an address entry, or a point between known ones (entry −1)."""

    entry: int
    lon: float
    lat: float
    #: How sure the point is, 0–1: 1 for a mapped address.
    certainty: float


class Projected(NamedTuple):
    """A number at a place of an interpolation way, of the street `document`."""

    document: int
    number: int
    lon: float
    lat: float
    distance_m: float


class Gazetteer:
    """All that forward, reverse and autocomplete ask; may be used by several threads."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.postings = open_postings(folder)
        self.store = store
        self._folder = folder / "documents"
        column = self._column
        self.kind: NDArray[np.int8] = column("document_kind")
        self.row: Ints = column("document_row")
        self.lon: NDArray[np.int32] = column("document_lon")
        self.lat: NDArray[np.int32] = column("document_lat")
        self.importance: NDArray[np.float32] = column("document_importance")
        self.words: NDArray[np.uint8] = column("document_words")
        self.chain: NDArray[np.int32] = column("document_chain")
        self.town: NDArray[np.int32] = column("document_town")
        self.part: NDArray[np.int32] = column("document_part")
        self.country: NDArray[np.int16] = column("document_country")
        self.postcode: NDArray[np.int32] = column("document_postcode")
        self.city: NDArray[np.int32] = column("document_city")
        self.entry: NDArray[np.int32] = column("document_entry")
        #: Street that a point of interest without an address stands on, −1.
        self.street: NDArray[np.int32] = column("document_street")
        self.address_row: NDArray[np.uint32] = column("address_row")
        self.address_lon: NDArray[np.int32] = column("address_lon")
        self.address_lat: NDArray[np.int32] = column("address_lat")
        self.address_parent: NDArray[np.int32] = column("address_parent")
        self.address_postcode: NDArray[np.int32] = column("address_postcode")
        self.address_city: NDArray[np.int32] = column("address_city")
        self.address_chain: NDArray[np.int32] = column("address_chain")
        self.address_town: NDArray[np.int32] = column("address_town")
        self.address_part: NDArray[np.int32] = column("address_part")
        self.address_number: NDArray[np.int32] = column("address_number")
        #: Numbers of states; and of what addresses say of the areas around them; −1 none.
        self.state = self._optional("document_state", len(self.kind))
        self.address_areas = self._optional("address_areas", len(self.address_row))
        self._states = Heap(self._folder, "state_text")
        self._areas = Heap(self._folder, "areas_text")
        self._house_offsets: Ints = column("house_offsets")
        #: document * 2^20 + number + 1, ascending.
        self._house_order: Ints = column("house_order")
        self._house_number: NDArray[np.int32] = column("house_number")
        self._house_key: NDArray[np.int32] = column("house_key")
        self._house_address: NDArray[np.int32] = column("house_address")
        self._keys = Heap(self._folder, "key_text")
        self._numbers = Heap(self._folder, "number_text")
        self._cities = Heap(self._folder, "city_text")
        self._postcodes = Heap(self._folder, "postcode_text")
        self._labels = Heap(self._folder, "label_text")
        self._label_documents: Ints = column("label_documents")
        self.country_codes = [code.decode() for code in self._heap("country_text")]
        self.place_rank: NDArray[np.int16] = column("place_rank")
        self.place_admin_level: NDArray[np.int16] = column("place_admin_level")
        self.place_is_area: NDArray[np.bool_] = column("place_is_area")
        self._place_tags = Heap(self._folder, "place_tags")
        self._chain_offsets: Ints = column("chain_offsets")
        self._chain_places: NDArray[np.int32] = column("chain_places")
        self._member_rows: NDArray[np.uint32] = column("document_member_rows")
        self._member_documents: NDArray[np.int32] = column("document_member_documents")
        self._stretch_offsets: Ints = column("stretch_offsets")
        self._nodes: tuple[Ints, NDArray[np.float64]] | None = None
        self.tags = cache_method(self._read_tags, 4_096)
        self._place_terms = cache_method(self._find_place_terms, 4_096)
        self._where_terms = cache_method(self._find_where_terms, 4_096)
        self._area = cache_method(self._read_area, 256)
        #: The documents in the country of a code.
        self.documents_in = cache_method(self._find_in, 16)

    def _column(self, name: str) -> NDArray[Any]:
        return open_column(self._folder, name)

    def _optional(self, name: str, count: int) -> NDArray[Any]:
        """Return a column that is written where it says something; −1 everywhere else."""
        if (self._folder / f"{name}.npy").exists():
            return self._column(name)
        return np.broadcast_to(np.int16(-1), (count,))

    def _heap(self, name: str) -> list[bytes]:
        heap = Heap(self._folder, name)
        return heap.span(0, len(heap))

    @cached_property
    def place_types(self) -> list[str]:
        """place=* of each place, "" without."""
        return [text.decode() for text in self._heap("place_type")]

    @cached_property
    def country_set(self) -> tuple[str, ...]:
        """Codes of the countries that documents lie in, without ""."""
        return tuple(code for code in self.country_codes if code)

    @cached_property
    def country_phrases(self) -> dict[tuple[str, ...], str]:
        """Folded words → code, of all names of these countries."""
        found = dict(read_country_names(self.country_set))
        for code, document in self.country_documents.items():
            add_names(found, code, (name for _, _, name in iter_names(self.tags(document))))
        return found

    @cached_property
    def country_firsts(self) -> frozenset[str]:
        """First words of these names."""
        return frozenset(words[0] for words in self.country_phrases)

    @cached_property
    def country_documents(self) -> dict[str, int]:
        """Code → document, of the countries that are places of the extract."""
        found: dict[str, int] = {}
        for document in np.flatnonzero(self.place_rank <= COUNTRY).tolist():
            tags = self.tags(document)
            code = tags.get("ISO3166-1:alpha2") or tags.get("ISO3166-1", "")
            if len(code) == 2 and code.upper() in self.country_set:
                found.setdefault(code.upper(), document)
        return found

    @cached_property
    def postcodes(self) -> frozenset[str]:
        """All postcodes, folded."""
        return frozenset(fold(text.decode()) for text in self._heap("postcode_text"))

    @cached_property
    def kinds(self) -> Kinds:
        """The words for kinds of things that there are."""
        return Kinds(lambda tag: self.postings.frequency("category", tag) > 0)

    @cached_property
    def has_other_scripts(self) -> bool:
        """Whether names are written in another script than Latin."""
        return bool(self.postings.complete("name", MARK, 1))

    @property
    def place_count(self) -> int:
        """Number of places; they are the first documents."""
        return len(self.place_rank)

    def _read_area(self, place: int) -> Any:
        shape = self.store.geometries(self.row[place : place + 1])[0]
        if shape is not None:
            shapely.prepare(shape)
        return shape

    @cached_property
    def _bounds(self) -> tuple[float, float, float, float]:
        if not len(self.lon):
            return 0.0, 0.0, 0.0, 0.0
        lon, lat = self.lon / E7, self.lat / E7
        return float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max())

    def holds(self, lon: float, lat: float) -> bool:
        """Return whether a position lies among what is known."""
        west, south, east, north = self._bounds
        return west <= lon <= east and south <= lat <= north

    def area_contains(self, place: int, lon: float, lat: float) -> bool:
        """Return whether the area of a place holds a position."""
        shape = self._area(place)
        return shape is not None and bool(shapely.intersects_xy(shape, lon, lat))

    def place_nodes(self, reach_m: Mapping[str, float]) -> tuple[Ints, NDArray[np.float64]]:
        """Return the places without an area that have a reach, and the reach in meters."""
        if self._nodes is None:
            types = self.place_types
            chosen = [
                i for i in range(self.place_count)
                if types[i] in reach_m and not self.place_is_area[i]
            ]  # fmt: skip
            reach = np.array([reach_m[types[i]] for i in chosen], np.float64)
            self._nodes = np.array(chosen, np.int64), reach
        return self._nodes

    # ---- what a document is -----------------------------------------------------------------

    def _read_tags(self, document: int) -> dict[str, str]:
        """Return the tags that name a document: of a boundary and its label node together."""
        tags: dict[str, str] = {}
        if self.kind[document] == PLACE:
            tags = orjson.loads(self._place_tags[document])
        elif self.row[document] >= 0:
            tags = self.store.tags(int(self.row[document]))
        return tags

    def label(self, document: int) -> str:
        """Return the written name of a document without an element of that name, else ""."""
        place = int(np.searchsorted(self._label_documents, document))
        if place < len(self._label_documents) and self._label_documents[place] == document:
            return self._labels[place].decode()
        return ""

    def chain_places(self, chain: int) -> list[int]:
        """Return the places of a chain, large to small."""
        found: list[int] = self._chain_places[
            self._chain_offsets[chain] : self._chain_offsets[chain + 1]
        ].tolist()
        return found

    def _find_in(self, country_code: str) -> NDArray[np.int32]:
        if country_code not in self.country_codes:
            return np.empty(0, np.int32)
        number = self.country_codes.index(country_code)
        return np.flatnonzero(self.country == number).astype(np.int32)

    def position(self, document: int) -> tuple[float, float]:
        """Return lon, lat in degrees."""
        return float(self.lon[document]) / E7, float(self.lat[document]) / E7

    def postcode_text(self, code: int) -> str:
        """Return a postcode by its number, "" for −1."""
        return self._postcodes[code].decode() if code >= 0 else ""

    def city_text(self, entry: int, document: int = -1) -> str:
        """Return the written city of an address entry, or of a document when the entry is −1."""
        code = int(self.address_city[entry] if entry >= 0 else self.city[document])
        return self._cities[code].decode() if code >= 0 else ""

    def address_terms(self, entry: int) -> frozenset[str]:
        """Return the terms of where an address is: its areas, town, postcode."""
        document = int(self.address_parent[entry])
        return self._where_terms(
            int(self.address_chain[entry]), int(self.address_town[entry]),
            int(self.address_part[entry]), int(self.address_city[entry]),
            int(self.address_postcode[entry]), int(self.address_areas[entry]),
            int(self.state[document]) if document >= 0 else -1, self.country_code(document),
        )  # fmt: skip

    def _find_where_terms(
        self, chain: int, town: int, part: int, city: int, postcode: int, areas: int, state: int,
        country_code: str,
    ) -> frozenset[str]:  # fmt: skip
        texts = [self._cities[city].decode() if city >= 0 else ""]
        for code, heap in ((areas, self._areas), (state, self._states)):
            if code >= 0:
                texts += expand_areas(country_code, heap[code].decode())
        places = (*self.chain_places(chain), town, part)
        return frozenset(
            term
            for group in (
                *(self._place_terms(place) for place in places if place >= 0),
                postcode_terms(self.postcode_text(postcode)),
                *map(terms, texts),
                *map(script_terms, texts),
            )
            for term in group
        )

    def state_text(self, document: int) -> str:
        """Return the state of a document that lies in no mapped one, else ""."""
        code = int(self.state[document])
        return self._states[code].decode() if code >= 0 else ""

    def country_code(self, document: int) -> str:
        """Return the code of the country of a document, "" where it is unknown."""
        return self.country_codes[int(self.country[document])] if document >= 0 else ""

    def _find_place_terms(self, place: int) -> frozenset[str]:
        return frozenset(
            term
            for name in list_context(self.tags(place))
            for term in (*terms(name), *script_terms(name))
        )

    def number_text(self, entry: int) -> str:
        """Return the number of an address as it is written in the data."""
        return self._numbers[int(self.address_number[entry])].decode()

    def find_row(self, name: str) -> int:
        """Return the row of "way/5", −1 without one."""
        kind, _, number = name.partition("/")
        if not number.isdigit():
            return -1
        return self.store.find_row(TYPE_NAMES.index(kind), int(number))

    def documents_of(self, rows: NDArray[Any]) -> tuple[Ints, Ints]:
        """Return (place in `rows`, document) for the sorted rows that belong to documents."""
        if not len(self._member_rows) or not len(rows):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        start = np.searchsorted(self._member_rows, rows, side="left")
        stop = np.searchsorted(self._member_rows, rows, side="right")
        found = np.flatnonzero(stop > start)
        return found, self._member_documents[start[found]].astype(np.int64)

    @cached_property
    def _members_by_document(self) -> tuple[Ints, Ints]:
        order = np.argsort(self._member_documents, kind="stable")
        return self._member_documents[order].astype(np.int64), order

    def rows_of(self, documents: Ints) -> tuple[Ints, Ints]:
        """Return the rows that belong to documents, and the place in `documents` of each."""
        known, order = self._members_by_document
        starts = np.searchsorted(known, documents, side="left")
        stops = np.searchsorted(known, documents, side="right")
        spans = [order[start:stop] for start, stop in zip(starts, stops, strict=True)]
        owners = np.repeat(np.arange(len(documents)), stops - starts)
        at = np.concatenate(spans) if spans else np.empty(0, np.int64)
        return self._member_rows[at].astype(np.int64), owners

    def entries_of(self, rows: NDArray[Any]) -> tuple[Ints, Ints]:
        """Return (place in `rows`, address entry) for the rows that have an address."""
        if not len(self.address_row) or not len(rows):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        place = np.searchsorted(self.address_row, np.asarray(rows).astype(np.uint32))
        place[place == len(self.address_row)] = 0
        found = np.flatnonzero(self.address_row[place] == rows)
        return found, place[found]

    # ---- house numbers ----------------------------------------------------------------------

    @cached_property
    def _key_numbers(self) -> dict[bytes, int]:
        heap = self._keys
        return {key: i for i, key in enumerate(heap.span(0, len(heap)))}

    @cached_property
    def _is_block_number(self) -> NDArray[np.bool_]:
        keys = self._keys.span(0, len(self._keys))
        return np.array([_BLOCK_NUMBER.match(key.decode()) is not None for key in keys], np.bool_)

    def has_houses(self, documents: Ints) -> NDArray[np.bool_]:
        """Return which documents have numbered addresses."""
        return self._house_offsets[documents + 1] > self._house_offsets[documents]

    def is_number(self, key: str) -> bool:
        """Return whether any house has this number."""
        return key.encode() in self._key_numbers

    def find_exact(self, documents: Ints, key: str) -> Ints:
        """Return for each document one address entry with exactly this number, −1 none."""
        found = np.full(len(documents), -1, np.int64)
        owners, entries = self.find_same(documents, key)
        # The last one counts: rows ascend, so an outline comes before a point in it.
        found[owners] = entries
        return found

    def find_same(self, documents: Ints, key: str) -> tuple[Ints, Ints]:
        """Return (place in `documents`, address entry) of all with exactly this number."""
        code = self._key_numbers.get(key.encode())
        if code is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        target = documents * HOUSE_SHIFT + leading_number(key) + 1
        start = np.searchsorted(self._house_order, target, side="left")
        stop = np.searchsorted(self._house_order, target, side="right")
        lengths = stop - start
        owner = np.repeat(np.arange(len(documents)), lengths)
        at = np.arange(len(owner)) + np.repeat(start - np.cumsum(lengths) + lengths, lengths)
        same = self._house_key[at] == code
        return owner[same], self._house_address[at[same]].astype(np.int64)

    def find_prefixed(self, document: int, key: str, limit: int) -> list[int]:
        """Return address entries of a document whose number begins with a text, in their order."""
        part = slice(self._house_offsets[document], self._house_offsets[document + 1])
        keys, addresses = self._house_key[part], self._house_address[part]
        begin = key.encode()
        found: dict[int, None] = {}
        for code, address in zip(keys.tolist(), addresses.tolist(), strict=True):
            if self._keys[code].startswith(begin):
                found[address] = None
                if len(found) >= limit:
                    break
        return list(found)

    def find_corpus(self, document: int, key: str) -> int:
        """Return the first address of a number with a corpus or structure: 13/12 с1 for 13/12; −1.

        Where the number itself has none.
        """
        part = self._part_of(document, leading_number(key))
        for code, entry in zip(
            self._house_key[part].tolist(), self._house_address[part].tolist(), strict=True
        ):
            other = self._keys[code].decode()
            if other.startswith(key) and _CORPUS.match(other[len(key) :]):
                return int(entry)
        return -1

    def _part_of(self, document: int, number: int) -> slice:
        """Return where the houses of a document are whose number begins with a number."""
        target = document * HOUSE_SHIFT + number + 1
        first, stop = np.searchsorted(self._house_order, (target, target + 1))
        return slice(int(first), int(stop))

    def interpolate(self, document: int, key: str) -> House | None:
        """Return a point for a number that is not mapped: on an interpolation way, or in a gap.

        Of 104-41 the first part is the block: it lies between other houses of the block.
        """
        number = leading_number(key)
        if match := _BLOCK_NUMBER.match(key):
            part = self._part_of(document, number)
            keys = [self._keys[code].decode() for code in self._house_key[part].tolist()]
            found = [_BLOCK_NUMBER.match(other) for other in keys]
            second = np.array([int(m[2]) if m else 0 for m in found], np.int64)
            order = np.argsort(second, kind="stable")
            return self._find_gap(second[order], self._house_address[part][order], int(match[2]))
        if not key.isdigit() or number <= 0:
            return None
        part = slice(self._house_offsets[document], self._house_offsets[document + 1])
        is_plain = ~self._is_block_number[self._house_key[part]]
        numbers, addresses = self._house_number[part][is_plain], self._house_address[part][is_plain]
        return self._find_stretch(document, number) or self._find_gap(numbers, addresses, number)

    @cached_property
    def _stretches(self) -> dict[str, Ints]:
        names = ("way", "first", "last", "first_number", "last_number", "step", "address")
        return {name: self._column(f"stretch_{name}") for name in names}

    def _find_stretch(self, document: int, number: int) -> House | None:
        table = self._stretches
        for i in range(self._stretch_offsets[document], self._stretch_offsets[document + 1]):
            one, other = int(table["first_number"][i]), int(table["last_number"][i])
            low, high, step = min(one, other), max(one, other), int(table["step"][i])
            if not low <= number <= high or (number - low) % step:
                continue
            lon, lat = position_on_line(self._stretch_line(i), (number - one) / (other - one))
            return House(-1, lon, lat, 0.8)
        return None

    def _stretch_line(self, i: int) -> NDArray[np.float64]:
        table = self._stretches
        nodes = self.store.way_nodes(np.array([table["way"][i]])).values
        nodes = nodes[int(table["first"][i]) : int(table["last"][i]) + 1].astype(np.int64)
        nodes = nodes[nodes < self.store.node_count]
        return np.column_stack([self.store.lon[nodes], self.store.lat[nodes]]) / E7

    def project(self, rows: NDArray[Any], lon: float, lat: float) -> Projected | None:
        """Return the number on the nearest of these interpolation ways at a position."""
        table = self._stretches
        best: Projected | None = None
        for i in np.flatnonzero(np.isin(table["way"], rows)).tolist():
            line = self._stretch_line(i)
            if len(line) < 2:
                continue
            fraction, x, y, gap = project_on_line(line, lon, lat)
            distance_m = gap * DEGREE_M
            if best is not None and distance_m >= best.distance_m:
                continue
            one, other = int(table["first_number"][i]), int(table["last_number"][i])
            step = int(table["step"][i])
            count = round(abs(other - one) * fraction / step) * step
            number = one + count if other > one else one - count
            address = int(table["address"][i])
            best = Projected(int(self.address_parent[address]), number, x, y, distance_m)
        return best

    def _find_gap(
        self, numbers: NDArray[Any], addresses: NDArray[Any], number: int
    ) -> House | None:
        """Return a point between the nearest smaller and larger numbers of the same parity."""
        side = numbers % 2 == number % 2
        below = np.flatnonzero(side & (numbers < number) & (numbers > 0))
        above = np.flatnonzero(side & (numbers > number))
        if not len(below) or not len(above):
            return None
        low, high = below[-1], above[0]
        gap = int(numbers[high] - numbers[low])
        one, other = int(addresses[low]), int(addresses[high])
        lon = np.array([self.address_lon[one], self.address_lon[other]]) / E7
        lat = np.array([self.address_lat[one], self.address_lat[other]]) / E7
        length_m = float(
            np.hypot((lon[1] - lon[0]) * np.cos(np.radians(lat[0])), lat[1] - lat[0]) * 111_195.0
        )
        if gap > MAX_GAP_NUMBERS or length_m > MAX_GAP_M:
            return None
        share = (number - int(numbers[low])) / gap
        return House(
            -1,
            float(lon[0] + share * (lon[1] - lon[0])),
            float(lat[0] + share * (lat[1] - lat[0])),
            max(0.3, 0.7 - length_m / (2 * MAX_GAP_M)),
        )


def open_gazetteer(folder: Path, store: Store) -> Gazetteer:
    """Open `text/` of a dataset; raises FileNotFoundError where it is not built."""
    return Gazetteer(folder, store)
