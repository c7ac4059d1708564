"""Results as GeoJSON features: names in the wanted language, the address, the match report."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Required, TypedDict

import numpy as np

from mapyard.caches import cache_method
from mapyard.geocoding.answer.formats import country_name, format_lines, join_lines
from mapyard.geocoding.build.places import COUNTY, SETTLEMENT, STATE, SUBURB
from mapyard.geocoding.kinds import HOUSE, PLACE, POI, POSTCODE, STREET
from mapyard.geocoding.search.gazetteer import Gazetteer, House
from mapyard.geocoding.words.categories import get_category
from mapyard.geocoding.words.regions import find_subdivision
from mapyard.store.reader import E7
from mapyard.text.names import get_name

PRECISION: Final = 7
_PARTS: Final = ("number", "street", "postcode", "city", "state", "state_code", "country")


class Region(NamedTuple):
    """The areas around something, as they are called in one language; "" where there is none."""

    suburb: str
    city: str
    county: str
    state: str
    country: str
    country_code: str
    #: ISO 3166-2 of the smallest area that has one.
    iso: str = ""


class Area(TypedDict, total=False):
    """An area around a result, or the result."""

    name: Required[str]
    osm_type: Required[str]
    osm_id: Required[int]
    #: place=* of it or of its label.
    place: str
    admin_level: int
    iso3166_2: str


class Result(NamedTuple):
    """One found thing, before it is written."""

    document: int
    #: Address entry, −1 for none.
    entry: int = -1
    #: A point for a number that is not mapped.
    house: House | None = None
    #: House number as asked for or as mapped, "" for none.
    number: str = ""
    score: float = 0.0
    confidence: float | None = None
    match: dict[str, Any] | None = None
    distance_m: float | None = None
    #: Position of the answer in degrees, None: the document's or address's own.
    position: tuple[float, float] | None = None
    #: The element, −1: the document's or address's own.
    row: int = -1
    #: The other street, where the result is the crossing of two; −1.
    crossing: int = -1
    #: Whether `row` is an element in the place `document`, without a document of its own.
    is_element: bool = False
    #: The parts of the score, where they are asked for.
    explain: dict[str, Any] | None = None


class Body(NamedTuple):
    """What a feature says whatever was asked; not to be changed."""

    feature: dict[str, Any]
    coordinates: tuple[float, float]
    #: Properties before and behind those that say how well it answers.
    before: dict[str, Any]
    behind: dict[str, Any]


class Writer:
    """Writes results of one gazetteer; caches what regions are called."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self._gazetteer = gazetteer
        self._region = cache_method(self._find_region, 4_096)
        self._areas = cache_method(self._find_areas, 4_096)
        self._body = cache_method(self._write_body, 4_096)
        self._extent = cache_method(self._find_extent, 4_096)

    # ---- where ------------------------------------------------------------------------------

    def region(self, document: int, entry: int, langs: tuple[str, ...]) -> Region:
        """Return the areas of an address entry, or of a document when the entry is −1."""
        g = self._gazetteer
        country = int(g.country[document])
        if entry >= 0:
            return self._region(
                int(g.address_chain[entry]), int(g.address_town[entry]),
                int(g.address_part[entry]), country, langs,
            )  # fmt: skip
        return self._region(
            int(g.chain[document]), int(g.town[document]), int(g.part[document]), country, langs
        )

    def _find_region(
        self, chain: int, town: int, part: int, country: int, langs: tuple[str, ...]
    ) -> Region:
        g = self._gazetteer
        code = g.country_codes[country] if country >= 0 else ""
        suburb = county = state = country_text = iso = ""
        for place in g.chain_places(chain):
            rank, level = int(g.place_rank[place]), int(g.place_admin_level[place])
            iso = g.tags(place).get("ISO3166-2", iso)
            name = get_name(g.tags(place), langs)
            if level == 2 or g.place_types[place] == "country":
                country_text = name
            elif level == 4 or (rank == STATE and not state):
                state = name
            elif level in (5, 6) or rank == COUNTY:
                county = name
            elif rank >= SUBURB - 1 and place != town:
                suburb = name
        if part >= 0 and not suburb:
            suburb = get_name(g.tags(part), langs)
        city = get_name(g.tags(town), langs) if town >= 0 else ""
        if not country_text:
            country_text = country_name(code, langs)
        return Region(
            suburb if suburb != city else "", city, county, state, country_text, code, iso
        )

    def areas(self, result: Result, langs: tuple[str, ...]) -> list[Area]:
        """Return the areas around something and itself, large to small.

        The settlement and its part are among them where they are mapped as points.
        """
        g = self._gazetteer
        document = result.document
        entry = result.entry if result.entry >= 0 else int(g.entry[document])
        columns = (g.chain, g.town, g.part) if entry < 0 else (
            g.address_chain, g.address_town, g.address_part
        )  # fmt: skip
        chain, town, part = (int(column[document if entry < 0 else entry]) for column in columns)
        is_place = g.kind[document] == PLACE and result.entry < 0 and result.house is None
        found: list[Area] = self._areas(
            chain, town, part, document if is_place and not result.is_element else -1, langs
        )
        return found

    def _find_areas(
        self, chain: int, town: int, part: int, own: int, langs: tuple[str, ...]
    ) -> list[Area]:
        g = self._gazetteer
        around = g.chain_places(chain)
        around += [place for place in (town, part, own) if place >= 0 and place not in around]
        # Places are numbered from the large to the small.
        found = []
        for place in sorted(around):
            if own >= 0 and place != own and g.place_rank[place] >= g.place_rank[own]:
                continue
            tags, level = g.tags(place), int(g.place_admin_level[place])
            kind, _, number = g.store.name_of(int(g.row[place])).partition("/")
            area: Area = {"name": get_name(tags, langs), "osm_type": kind, "osm_id": int(number)}
            if g.place_types[place]:
                area["place"] = g.place_types[place]
            if level:
                area["admin_level"] = level
            if "ISO3166-2" in tags:
                area["iso3166_2"] = tags["ISO3166-2"]
            found.append(area)
        return found

    # ---- what -------------------------------------------------------------------------------

    def name(self, document: int, langs: tuple[str, ...]) -> str:
        """Return what a document is called."""
        g = self._gazetteer
        label = g.label(document)
        if label and int(g.row[document]) < 0:
            return label
        name = get_name(g.tags(document), langs)
        return name or label or g.tags(document).get("brand", "")

    def write(
        self, result: Result, langs: tuple[str, ...], *, areas: bool = False
    ) -> dict[str, Any]:
        """Return the feature of a result."""
        # Documents and mapped addresses are written again and again while somebody types.
        is_plain = result.house is None and result.row < 0 and result.crossing < 0
        if is_plain and result.position is None and not result.is_element:
            key = Result(result.document, result.entry, number=result.number)
            body: Body = self._body(key, langs)
        else:
            body = self._write_body(result, langs)
        properties = {**body.before, "score": round(result.score, 4)}
        if result.house is not None:
            properties["confidence"] = round(result.house.certainty, 2)
        elif result.confidence is not None:
            properties["confidence"] = round(result.confidence, 2)
        if result.distance_m is not None:
            properties["distance_m"] = round(result.distance_m, 2)
        if result.match is not None:
            properties["match"] = result.match
        if result.explain is not None:
            properties["explain"] = result.explain
        if areas:
            properties["areas"] = self.areas(result, langs)
        properties |= body.behind
        geometry = {"type": "Point", "coordinates": list(body.coordinates)}
        return {**body.feature, "geometry": geometry, "properties": properties}

    def _write_body(self, result: Result, langs: tuple[str, ...]) -> Body:
        g = self._gazetteer
        document, kind = result.document, int(g.kind[result.document])
        if result.is_element:
            kind = POI
        entry = result.entry if result.entry >= 0 else int(g.entry[document])
        is_house = result.entry >= 0 or result.house is not None
        region = self.region(document, entry, langs)
        name = "" if is_house or result.is_element else self.name(document, langs)
        street, number = self._street_and_number(result, entry, langs)
        postcode = self._postcode(document, entry)
        written = g.city_text(entry, document)
        city = written or region.city
        if written and langs and self.region(document, entry, ()).city == written:
            city = region.city  # the same in the asked language
        if result.crossing >= 0:
            name = street = f"{name} & {self.name(result.crossing, langs)}"
        row = result.row if result.row >= 0 else self._row(result)
        tags = g.store.tags(row) if row >= 0 and (is_house or kind != PLACE) else g.tags(document)
        if result.is_element:
            name = get_name(tags, langs)
        if is_house and kind != POI and get_name(tags) and result.house is None:
            name = get_name(tags, langs)
        category, subcategory = self._category(kind, tags, is_house)
        if result.crossing >= 0:
            category, subcategory = "highway", "intersection"
        lon, lat = result.position or self._position(result)
        state = region.state or g.state_text(document)
        if kind == PLACE and not is_house:
            region = _keep_wider(region, int(g.place_rank[document]), self._iso_of_place(document))
            city = region.city
            state = region.state
            lines = [name, region.city, region.county, region.state, region.country]
            address: list[str] = []
        else:
            parts = {
                "number": number if street else "",
                # A bare number, or the quarter where there is no street.
                "street": street or number or (region.suburb if kind != POSTCODE else ""),
                "postcode": postcode,
                # The house of a village without streets: "5 Oldtown", not "5 Oldtown, Oldtown".
                "city": city if city != street or postcode else "", "state": state,
                "state_code": self._state_code(region.country_code, state),
                "country": region.country,
            }  # fmt: skip
            own = "" if kind == POSTCODE or name == street else name
            address, lines = self._format(own, tuple(parts.values()), region.country_code)
        properties: dict[str, Any] = {
            "display_name": join_lines(lines),
            "label": self._label(name or address_line(street, number, address), city)
            or region.country,
            "name": name or None,
            "house_number": number or None,
            "street": street or None,
            "suburb": region.suburb or None,
            "postcode": postcode or None,
            "city": city or None,
            "county": region.county or None,
            "state": state or None,
            "country": region.country or None,
            "country_code": region.country_code or None,
            "iso3166_2": self._iso(region, state) or None,
            "category": category or None,
            "subcategory": subcategory or None,
            "class": category or None,
            "type": subcategory or None,
            "full_address": join_lines(address) or None,
            "osm_type": _type_name(g, row) if row >= 0 else None,
            "osm_id": int(g.store.ids[row]) if row >= 0 else None,
            "source": "interpolation"
            if result.house is not None
            else ("address" if result.entry >= 0 else "place"),
            "interpolated": result.house is not None,
        }
        before = {name: value for name, value in properties.items() if value is not None}
        behind: dict[str, Any] = {}
        if not is_house and kind in (PLACE, POI, HOUSE):
            # Of the element itself; names may come from its label node as well.
            behind["tags"] = g.store.tags(row) if kind == PLACE else tags
        wikipedia = tags.get("wikipedia")
        if wikipedia and not is_house:
            behind["wikipedia"] = wikipedia
        if result.house is not None:
            behind |= {"osm_id": None, "osm_type": None}
        feature: dict[str, Any] = {"type": "Feature"}
        if row >= 0:
            feature["id"] = g.store.name_of(row)
        if box := self._box(result, row):
            feature["bbox"] = box
        return Body(feature, (round(lon, PRECISION), round(lat, PRECISION)), before, behind)

    def _format(
        self, name: str, values: tuple[str, ...], country_code: str
    ) -> tuple[list[str], list[str]]:
        """Return the lines of an address, without a name and with it."""
        parts = dict(zip(_PARTS, values, strict=True))
        address = format_lines(parts, country_code)
        if not name:
            return address, address
        return address, format_lines({**parts, "name": name}, country_code)

    def _label(self, what: str, city: str) -> str:
        return what if city and city in what else join_lines([what, city])

    def _iso(self, region: Region, state: str) -> str:
        code = self._state_code(region.country_code, state)
        return region.iso or (f"{region.country_code}-{code}" if code else "")

    def _iso_of_place(self, document: int) -> str:
        """Return the code of a place, or of the smallest area that has one and is no smaller."""
        g = self._gazetteer
        iso = ""
        for place in (*g.chain_places(int(g.chain[document])), document):
            if g.place_rank[place] <= g.place_rank[document]:
                iso = g.tags(place).get("ISO3166-2", iso)
        return iso

    def _box(self, result: Result, row: int) -> list[float] | None:
        """Return west, south, east, north of what has an extent, of all pieces of a street."""
        g = self._gazetteer
        if row < g.store.way_start or result.house is not None or result.crossing >= 0:
            return None
        is_street = result.entry < 0 and g.kind[result.document] == STREET
        found: list[float] | None = self._extent(row, result.document if is_street else -1)
        return found

    def _find_extent(self, row: int, street: int) -> list[float] | None:
        g = self._gazetteer
        rows = g.rows_of(np.array([street]))[0] if street >= 0 else np.array([row])
        boxes = g.store.boxes(rows).astype(np.int64)
        boxes = boxes[boxes[:, 0] <= boxes[:, 2]]
        if not len(boxes):
            return None
        west, south = boxes[:, :2].min(axis=0).tolist()
        east, north = boxes[:, 2:].max(axis=0).tolist()
        return [value / E7 for value in (west, south, east, north)]

    def _state_code(self, country_code: str, state: str) -> str:
        found = find_subdivision(country_code, state) if state else None
        return found[0] if found else ""

    def _street_and_number(
        self, result: Result, entry: int, langs: tuple[str, ...]
    ) -> tuple[str, str]:
        g = self._gazetteer
        kind = int(g.kind[result.document])
        if result.is_element:
            tags = g.store.tags(result.row)
            return tags.get("addr:street", ""), tags.get("addr:housenumber", "")
        if result.house is not None:
            return self.name(result.document, langs), result.number
        if entry >= 0:
            parent = int(g.address_parent[entry])
            street = self.name(parent, langs) if parent >= 0 else ""
            number = g.number_text(entry)
            if result.entry >= 0 and result.number:
                number = result.number
            return street, number
        if kind == STREET:
            return self.name(result.document, langs), ""
        if kind == POI:
            own: str = g.tags(result.document).get("addr:street", "")
            near = int(g.street[result.document])
            return own or (self.name(near, langs) if near >= 0 else ""), ""
        return "", ""

    def _postcode(self, document: int, entry: int) -> str:
        g = self._gazetteer
        kind = int(g.kind[document])
        if kind == POSTCODE:
            return g.label(document)
        if kind == PLACE and entry < 0:
            return ""
        code = int(g.address_postcode[entry]) if entry >= 0 else int(g.postcode[document])
        return g.postcode_text(code)

    def _row(self, result: Result) -> int:
        g = self._gazetteer
        if result.house is not None:
            return -1
        if result.entry >= 0:
            return int(g.address_row[result.entry])
        return int(g.row[result.document])

    def _position(self, result: Result) -> tuple[float, float]:
        g = self._gazetteer
        if result.house is not None:
            return result.house.lon, result.house.lat
        if result.entry >= 0:
            return float(g.address_lon[result.entry]) / 1e7, float(
                g.address_lat[result.entry]
            ) / 1e7
        return g.position(result.document)

    def _category(self, kind: int, tags: dict[str, str], is_house: bool) -> tuple[str, str]:
        if kind == POSTCODE:
            return "place", "postcode"
        if kind == PLACE and not is_house:
            place = tags.get("place")
            return ("place", place) if place else ("boundary", tags.get("boundary", "place"))
        if kind == STREET and not is_house:
            return "highway", tags.get("highway", "street")
        found = get_category(tags)
        return ("place", "house") if is_house and found[0] in ("", "building") else found


def address_line(street: str, number: str, address: list[str]) -> str:
    """Return the line of an address that has its street and number, "" where it has none."""
    return next((line for line in address if street and street in line and number in line), "")


def _keep_wider(region: Region, rank: int, iso: str) -> Region:
    """Return the areas that a place of a rank lies in, without itself and what lies in it."""
    return region._replace(
        iso=iso,
        suburb="",
        city=region.city if rank > SETTLEMENT else "",
        county=region.county if rank > COUNTY else "",
        state=region.state if rank > STATE else "",
    )


def _type_name(gazetteer: Gazetteer, row: int) -> str:
    return gazetteer.store.name_of(row).partition("/")[0]
