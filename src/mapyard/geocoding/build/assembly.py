"""Putting the pieces together: documents as columns, and the context each stands in.

An `Assembly` grows while the build goes on; when `finish` is through, every document has a kind, an
element, a position, an importance, a chain of areas, a country and a postcode.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.geocoding.build.addresses import Addresses, Assignment, Parents, StreetPieces
from mapyard.geocoding.build.cells import Cells
from mapyard.geocoding.build.chains import Chains
from mapyard.geocoding.build.columns import (
    Floats,
    Ints,
    TagColumn,
    centers,
    group_offsets,
    number_values,
    round_positions,
)
from mapyard.geocoding.build.importance import STREET, rate_place, rate_poi
from mapyard.geocoding.build.interpolation import Interpolations
from mapyard.geocoding.build.memo import (
    ADDRESS,
    LINE_POINT,
    MIDDLE,
    ORPHAN,
    PLACE_POINT,
    Memo,
    name_points,
)
from mapyard.geocoding.build.places import COUNTY, SETTLEMENT, SETTLEMENTS, Place, place_nodes
from mapyard.geocoding.build.streets import GroupNames, Lines, names_of_groups
from mapyard.geocoding.kinds import HOUSE, PLACE, POI, POSTCODE
from mapyard.geocoding.kinds import STREET as STREET_KIND
from mapyard.geocoding.words.categories import get_category
from mapyard.osm.countries import find_region_indexes, get_regions
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7
from mapyard.text.analysis import name_key
from mapyard.text.names import iter_names, parse_name_key

METERS: Final = 111_195.0
#: A town that an address names is believed within this distance.
WRITTEN_TOWN_M: Final = 15_000.0


class Pois(NamedTuple):
    """Points of interest: elements, where they are, the address entry of each (−1 none)."""

    rows: Ints
    lon: Floats
    lat: Floats
    municipality: Ints
    entry: Ints


class Assembly:
    """All documents of a dataset under construction."""

    addresses: Addresses
    address_chain: Ints
    #: Settlement area that each address lies in, −1 none.
    address_municipality: Ints
    assignment: Assignment
    interpolations: Interpolations
    #: Street that each point of interest stands on, −1 for those with an address; set by pois.py.
    poi_street: Ints
    #: Set by postcodes.py.
    postcode: Ints
    postcode_texts: list[str]
    address_postcode: Ints
    #: Numbers in addresses.city of what lies in no mapped town, −1 elsewhere.
    city: Ints
    address_city: Ints
    #: Numbers in state_texts of what lies in no mapped state, −1 elsewhere; set by regions.py.
    state: Ints
    state_texts: list[str]

    def __init__(self, memo: Memo, places: list[Place], chains: Chains) -> None:
        self.memo = memo
        self.store = memo.store
        self.places = places
        self.chains = chains
        self._kinds: list[NDArray[np.int8]] = []
        self._rows: list[Ints] = []
        self._lons: list[Floats] = []
        self._lats: list[Floats] = []
        self._importances: list[Floats] = []
        #: What the position of each document is known by in the memo.
        self._names: list[Ints] = []
        self._chains: list[Ints] = []
        #: First document of each section: places, streets, streets that only addresses know,
        #: rivers, points of interest, houses, postcodes.
        self.sections: list[int] = []
        self._place_rows = np.array([*(p.row for p in places), -1], np.int64)
        #: Texts of documents that have no element to take a name from.
        self.labels: dict[int, str] = {}
        #: (row, document) pairs: which document an element belongs to.
        self._member_rows: list[Ints] = []
        self._member_documents: list[Ints] = []
        self.count = 0
        self._boxes: list[Floats] = []
        self._streets = (0, 0)
        self._street_names: GroupNames | None = None
        self._nodes = place_nodes(places)
        self._add(
            PLACE,
            np.array([p.row for p in places], np.int64),
            np.array([p.lon for p in places], np.float64),
            np.array([p.lat for p in places], np.float64),
            np.array([rate_place(p.tags, p.place, p.admin_level) for p in places], np.float64),
            name_points(self._place_rows[:-1], PLACE_POINT),
        )
        rows = [(row, i) for i, p in enumerate(places) for row in p.rows]
        self._join(np.array([r for r, _ in rows], np.int64), np.array([i for _, i in rows]))

    # ---- adding -----------------------------------------------------------------------------

    def _add(
        self,
        kind: int,
        rows: Ints,
        lon: Floats,
        lat: Floats,
        importance: Floats,
        names: Ints,
        chain: Ints | None = None,
    ) -> int:
        first = self.count
        lon, lat = round_positions(lon, lat)
        self.sections.append(first)
        self._names.append(names)
        self._chains.append(self.chains.find(lon, lat, names) if chain is None else chain)
        self._kinds.append(np.full(len(rows), kind, np.int8))
        self._rows.append(np.asarray(rows, np.int64))
        self._lons.append(lon)
        self._lats.append(lat)
        self._importances.append(importance)
        self.count += len(rows)
        return first

    def _join(self, rows: Ints, documents: Ints) -> None:
        self._member_rows.append(rows)
        self._member_documents.append(np.asarray(documents, np.int64))

    def add_streets(self, streets: Lines) -> None:
        """Add the mapped streets."""
        importance = STREET + 0.015 * streets.importance_class.astype(np.float64)
        names = name_points(streets.main, LINE_POINT)
        first = self._add(STREET_KIND, streets.main, streets.lon, streets.lat, importance, names)
        self._streets = (first, self.count)
        self._street_lines = streets
        self._join(streets.rows, streets.owners() + first)

    def add_orphans(self, group: Ints, labels: list[str]) -> int:
        """Add streets and places that only addresses know; return the first one's number.

        The groups are renumbered in place, in the order of documents.
        """
        count = len(labels)
        member = np.flatnonzero(group >= 0)
        order = member[np.argsort(group[member], kind="stable")]
        sizes = np.bincount(group[member], minlength=count)
        # The middle one of the group's addresses in the order of rows stands for its position.
        middle = order[(np.cumsum(sizes) - sizes) + sizes // 2] if count else order
        # In the order of these addresses: a change never puts others in another order.
        rank = np.argsort(middle)
        middle = middle[rank]
        #: Rows of the addresses that stand for the position of each orphan.
        self.orphan_rows = self.addresses.rows[middle]
        first = self._add(
            STREET_KIND, np.full(count, -1, np.int64), self.addresses.lon[middle],
            self.addresses.lat[middle], np.full(count, STREET - 0.02),
            name_points(self.orphan_rows, ORPHAN), self.address_chain[middle],
        )  # fmt: skip
        group[member] = np.argsort(rank)[group[member]]
        labels = [labels[number] for number in rank.tolist()]
        self.labels.update({first + i: label for i, label in enumerate(labels)})
        return first

    def add_rivers(self, rivers: Lines) -> None:
        """Add waterways, each as one of its name."""
        tags = self._tags(rivers.main)
        importance = [rate_poi(t, get_category(t), has_name=True) for t in tags]
        names = name_points(rivers.main, LINE_POINT)
        rated = np.array(importance, np.float64)
        first = self._add(POI, rivers.main, rivers.lon, rivers.lat, rated, names)
        self._join(rivers.rows, rivers.owners() + first)

    def add_pois(self, rows: Ints, entry: Ints, of_building: NDArray[np.bool_]) -> None:
        """Add points of interest with the address entry each has, −1 none."""
        lon, lat = centers(self.store, rows)
        known = ~np.isnan(lon)
        rows, entry, of_building = rows[known], entry[known], of_building[known]
        importance = self.memo.by_row("importance", rows, self._rate_pois)
        names = name_points(rows, MIDDLE)
        first = self._add(POI, rows, lon[known], lat[known], importance, names)
        self._join(rows, np.arange(first, self.count))
        self._pois = (first, entry, of_building)

    def pois(self) -> Pois:
        """Return the points of interest."""
        _, entry, _ = self._pois
        return Pois(
            self._rows[-1], self._lons[-1], self._lats[-1],
            self.municipality_of_chain[self._chains[-1]], entry,
        )  # fmt: skip

    def _rate_pois(self, rows: Ints) -> Floats:
        found: list[float] = []
        for start in range(0, len(rows), 10_000):
            for tags in self._tags(rows[start : start + 10_000]):
                has_name = any(parse_name_key(key) for key in tags if "name" in key)
                found.append(rate_poi(tags, get_category(tags), has_name=has_name))
        return np.array(found, np.float64)

    def add_houses(self) -> None:
        """Add houses that are looked for by a name: house names, numbers without a digit."""
        addresses, store = self.addresses, self.store
        wordy = [i for i, t in enumerate(addresses.numbers.texts) if not any(map(str.isdigit, t))]
        by_number = np.isin(addresses.numbers.codes, wordy)
        names = TagColumn(store, addresses.rows, "addr:housename")
        chosen = np.flatnonzero((names.codes >= 0) | by_number)
        taken = self.taken()
        chosen = chosen[~taken[addresses.rows[chosen]]]
        first = self._add(
            HOUSE, addresses.rows[chosen], addresses.lon[chosen], addresses.lat[chosen],
            np.full(len(chosen), 0.16), name_points(addresses.rows[chosen], ADDRESS),
            self.address_chain[chosen],
        )  # fmt: skip
        for offset, index in enumerate(chosen.tolist()):
            self.labels[first + offset] = names.get(index) or addresses.numbers.get(index)
        self._houses = (first, chosen)

    def _tags(self, rows: Ints) -> list[dict[str, str]]:
        return [orjson.loads(text) for text in self.store.tags_json(rows)]

    # ---- asking -----------------------------------------------------------------------------

    def taken(self) -> NDArray[np.bool_]:
        """Return per row of the store whether it belongs to a document."""
        taken = np.zeros(self.store.row_count, np.bool_)
        for rows in self._member_rows:
            taken[rows] = True
        return taken

    @property
    def municipality_of_chain(self) -> Ints:
        """Settlement place of each chain so far, −1 none."""
        return np.array([self.find_settlement(chain) for chain in self.chains.chains], np.int64)

    def find_settlement(self, chain: tuple[int, ...]) -> int:
        """Return the place in a chain that is the town or municipality, −1 none."""
        best = -1
        for place in chain:
            p = self.places[place]
            if p.place in SETTLEMENTS or (p.admin_level and p.rank == SETTLEMENT):
                best = place
        if best < 0:
            for place in chain:
                p = self.places[place]
                if p.admin_level in (7, 9) or p.place == "municipality":
                    best = place
        return best

    def find_smallest(self, chain: tuple[int, ...]) -> int:
        """Return the smallest area of a chain below the counties: an island, an islet; −1 none."""
        return next((p for p in reversed(chain) if self.places[p].rank > COUNTY), -1)

    def municipalities(self, rows: Ints) -> Ints:
        """Return the municipality of the middle of each row."""
        lon, lat = centers(self.store, rows)
        chain = self.chains.find(lon, lat, name_points(rows, MIDDLE))
        return self.municipality_of_chain[chain]

    def municipality(self) -> Ints:
        """Return the municipality of each document so far."""
        return self.municipality_of_chain[np.concatenate(self._chains)]

    def place_rows(self, places: Ints) -> Ints:
        """Return the row of each place, −1 for none."""
        return self._place_rows[places]

    def parents(self) -> Parents:
        """Return what an address can belong to: mapped streets and places."""
        first, stop = self._streets
        lon, lat = self.columns()
        boxes = np.column_stack([lon, lat, lon, lat])
        boxes[first:stop] = self._street_lines.boxes
        for index, place in enumerate(self.places):
            if place.is_area:
                boxes[index] = self.store.boxes(np.array([place.row]))[0] / E7
        keys: dict[str, int] = {}
        of_places = [
            keys.setdefault(key, len(keys)) << 32 | index
            for index, place in enumerate(self.places)
            for key in {name_key(name) for _, _, name in iter_names(place.tags)}
        ]
        names = self.street_names()
        of_text = [keys.setdefault(name_key(text), len(keys)) for text in names.texts]
        numbers = np.array(of_text, np.int64)[names.codes]
        of_streets = numbers << 32 | (names.owners() + self.first_street)
        both = distinct(np.array(of_places, np.int64), of_streets)
        return Parents(
            lon, lat, boxes, self.municipality(), keys,
            group_offsets(both >> 32, len(keys)), both & 0xFFFFFFFF,
        )  # fmt: skip

    @property
    def first_street(self) -> int:
        """Number of the first mapped street."""
        return self._streets[0]

    def street_names(self) -> GroupNames:
        """Return all names of each mapped street."""
        if self._street_names is None:
            self._street_names = names_of_groups(self.store, self._street_lines)
        return self._street_names

    def street_pieces(self) -> StreetPieces:
        """Return the pieces of all mapped streets."""
        lines = self._street_lines
        order = np.argsort(lines.rows)
        return StreetPieces(lines.rows[order], lines.owners()[order] + self._streets[0])

    def written_towns(self, addresses: Addresses, town: Ints) -> Ints:
        """Return the settlement of each address: the one it names, when that is near, else `town`.

        Towns of addresses follow the post; where the border runs between houses, both say more.
        """
        by_key: dict[str, list[int]] = {}
        for index, place in enumerate(self.places):
            if place.rank == SETTLEMENT or place.place in SETTLEMENTS:
                for _, _, name in iter_names(place.tags):
                    by_key.setdefault(name_key(name), []).append(index)
        choices = [by_key.get(name_key(text), []) for text in addresses.city.texts]
        single = np.array([c[0] if len(c) == 1 else -1 for c in choices] + [-1], np.int64)
        written = single[addresses.city.codes]
        place_lon = np.array([p.lon for p in self.places] + [0.0])
        place_lat = np.array([p.lat for p in self.places] + [0.0])
        gap_m = METERS * np.hypot(
            (place_lon[written] - addresses.lon) * np.cos(np.radians(addresses.lat)),
            place_lat[written] - addresses.lat,
        )
        return np.where((written >= 0) & (gap_m < WRITTEN_TOWN_M), written, town)

    def adopt_by_town(self, parent: Ints, town: Ints) -> Ints:
        """Return the parents, those still missing being the municipality or the nearest town."""
        parent = parent.copy()
        lone = np.flatnonzero(parent < 0)
        parent[lone] = town[lone]
        lone = lone[parent[lone] < 0]
        if len(lone):
            place, _ = self.nearest_settlements(
                self.addresses.lon[lone], self.addresses.lat[lone], self.address_chain[lone]
            )
            parent[lone] = place
            parent = self._fill_smallest(parent, self.address_chain)
            last = np.array([c[-1] if c else -1 for c in self.chains.chains], np.int64)
            parent = np.where(parent < 0, last[self.address_chain], parent)
        return parent

    def _fill_smallest(self, town: Ints, chain: Ints) -> Ints:
        smallest = np.array([self.find_smallest(c) for c in self.chains.chains], np.int64)
        return np.where(town < 0, smallest[chain], town)

    def nearest_settlements(self, lon: Floats, lat: Floats, chain: Ints) -> tuple[Ints, Floats]:
        """Return the settlement node (no area) in whose reach each point is, −1; and its distance.

        The one with the smallest distance in units of its reach, never over the border of a county
        or what is larger.
        """
        chosen = np.isin(self._node_places(), list(SETTLEMENTS))
        return self._nearest_nodes(lon, lat, chosen, self._borders(COUNTY), chain)

    def nearest_parts(self, lon: Floats, lat: Floats, chain: Ints) -> tuple[Ints, Floats]:
        """Return the same for suburbs, hamlets and other parts, never over a border of towns."""
        chosen = ~np.isin(self._node_places(), list(SETTLEMENTS))
        return self._nearest_nodes(lon, lat, chosen, self._borders(SETTLEMENT), chain)

    def _borders(self, rank: int) -> Ints:
        """Return a number per chain that is the same inside the same areas up to a rank."""
        numbers: dict[tuple[int, ...], int] = {}
        return np.array(
            [
                numbers.setdefault(
                    tuple(p for p in chain if self.places[p].rank <= rank), len(numbers)
                )
                for chain in self.chains.chains
            ],
            np.int64,
        )

    def _node_places(self) -> list[str]:
        return [self.places[i].place for i in self._nodes[0].tolist()]

    def _nearest_nodes(
        self, lon: Floats, lat: Floats, chosen: NDArray[np.bool_], borders: Ints, chain: Ints
    ) -> tuple[Ints, Floats]:
        index, node_lon, node_lat, reach = (column[chosen] for column in self._nodes)
        inside = borders[chain]
        of_node = borders[self._chains[0][index]] if len(index) else index
        best = np.full(len(lon), -1, np.int64)
        best_share = np.full(len(lon), 1.0)
        best_m = np.full(len(lon), np.inf)
        # Few nodes against many points: one vectorised pass per node over those inside the same
        # areas, in its strip.
        keys = _strip_keys(inside, lat)
        order = np.argsort(keys)
        keys = keys[order]
        for place, x, y, reach_m, own in zip(
            index, node_lon, node_lat, reach, of_node, strict=True
        ):
            reach_deg = reach_m / METERS * 1.001
            ends = _strip_keys(own, np.array([y - reach_deg, y + reach_deg]))
            start, stop = np.searchsorted(keys, ends)
            near = order[start:stop]
            dx = (lon[near] - x) * np.cos(np.radians(y))
            distance_m = np.hypot(dx, lat[near] - y) * METERS
            share = distance_m / reach_m
            nearer = share < best_share[near]
            chosen = near[nearer]
            best[chosen] = place
            best_share[chosen] = share[nearer]
            best_m[chosen] = distance_m[nearer]
        return best, best_m

    # ---- finishing --------------------------------------------------------------------------

    def add_postcodes(self, texts: list[str], lon: Floats, lat: Floats) -> None:
        """Add one document per postcode at the middle of its addresses."""
        nothing = np.full(len(texts), -1, np.int64)
        first = self._add(POSTCODE, nothing, lon, lat, np.full(len(texts), 0.36), nothing)
        self.labels.update({first + i: text for i, text in enumerate(texts)})

    def point_names(self) -> Ints:
        """Return what the position of each document so far is known by in the memo."""
        return np.concatenate(self._names)

    def columns(self) -> tuple[Floats, Floats]:
        """Return lon and lat of all documents so far."""
        return np.concatenate(self._lons), np.concatenate(self._lats)

    def finish(self) -> None:
        """Compute the columns that need all documents."""
        self.kind = np.concatenate(self._kinds)
        self.row = np.concatenate(self._rows)
        self.lon, self.lat = self.columns()
        self.importance = np.concatenate(self._importances).astype(np.float32)
        self.chain = np.concatenate(self._chains)
        #: Words of the main name; documents.py fills it.
        self.words = np.zeros(self.count, np.uint8)
        self.member_rows = np.concatenate(self._member_rows)
        self.member_documents = np.concatenate(self._member_documents)
        order = np.argsort(self.member_rows, kind="stable")
        self.member_rows = self.member_rows[order]
        self.member_documents = self.member_documents[order]
        self.entry = np.full(self.count, -1, np.int64)
        first, entry, of_building = self._pois
        self.entry[first : first + len(entry)] = entry
        self.entry_of_building = np.zeros(self.count, np.bool_)
        self.entry_of_building[first : first + len(entry)] = of_building
        #: Street that a document without an address stands on, −1 none.
        self.street = np.full(self.count, -1, np.int64)
        self.street[first : first + len(entry)] = self.poi_street
        first, chosen = self._houses
        self.entry[first : first + len(chosen)] = chosen
        self._find_towns()
        self._find_countries()

    def number_chains(self) -> None:
        """Give the chains their last numbers, which depend on nothing but what is in use."""
        self.chains.remember()
        self.chain, self.address_chain = self.chains.number_anew(self.chain, self.address_chain)

    def _find_towns(self) -> None:
        """Settlement and part of settlement of documents and addresses without such an area."""

        def towns(lon: Floats, lat: Floats, chain: Ints) -> tuple[Ints, Ints]:
            town = self.municipality_of_chain[chain]
            lone = np.flatnonzero(town < 0)
            if len(lone):
                town = town.copy()
                town[lone] = self.nearest_settlements(lon[lone], lat[lone], chain[lone])[0]
                town = self._fill_smallest(town, chain)
            return town, self.nearest_parts(lon, lat, chain)[0]

        self.town, self.part = towns(self.lon, self.lat, self.chain)
        self.address_town, self.address_part = towns(
            self.addresses.lon, self.addresses.lat, self.address_chain
        )

    def _find_countries(self) -> None:
        """Country code of each document: of its boundary in the extract, else by position."""
        codes = [p.tags.get("ISO3166-1:alpha2") or p.tags.get("ISO3166-1", "") for p in self.places]
        of_chain = [
            next((codes[i].upper() for i in c if len(codes[i]) == 2), "")
            for c in self.chains.chains
        ]
        texts = ["", *dict.fromkeys(code for code in of_chain if code)]
        number = {text: index for index, text in enumerate(texts)}
        numbers = np.array([number[code] for code in of_chain], np.int64)[self.chain]
        open_ = np.flatnonzero(numbers == 0)
        by_region, place = number_values(self._find_regions(open_))
        of_region = [number.setdefault(_unpack_code(code), len(number)) for code in by_region]
        numbers[open_] = np.array(of_region, np.int64)[place]
        # A country's label may lie in the sea or on an island of another one: its own code wins.
        for index, code in enumerate(codes):
            if len(code) == 2:
                numbers[index] = number.setdefault(code.upper(), len(number))
        by_text = sorted(number)
        rank = np.empty(len(number), np.int64)
        rank[[number[text] for text in by_text]] = np.arange(len(number))
        used, self.country = number_values(rank[numbers])
        self.country_codes = [by_text[index] for index in used.tolist()]

    def _find_regions(self, documents: Ints) -> Ints:
        """Return the country of the world's regions that each document lies in, as a number."""
        lon, lat = self.lon[documents], self.lat[documents]

        def compute(open_: Ints) -> Ints:
            codes = [_pack_code(region.code) for region in get_regions()] + [0]
            return np.array(codes, np.int64)[find_region_indexes(lon[open_], lat[open_])]

        return self.memo.by_point(
            "region", lon, lat, compute, Cells(np.empty((0, 4))), self.point_names()[documents],
            translate=lambda old: old.astype(np.int64),
        )  # fmt: skip


def _pack_code(code: str) -> int:
    return ord(code[0]) << 8 | ord(code[1])


def _unpack_code(number: int) -> str:
    return chr(number >> 8) + chr(number & 0xFF) if number else ""


def _strip_keys(numbers: Ints | int, lat: Floats) -> Ints:
    """Return numbers that sort points by the areas they are in, then from south to north."""
    return (np.asarray(numbers, np.int64) << 32) + np.rint((lat + 100) * E7).astype(np.int64)
