"""Places: settlements, administrative areas, islands; a boundary and its label node are one.

`rank` orders places from the large to the small, so that a chain of containing areas reads
country, state, county, settlement, suburb. Administrative levels count twice (level 8 = 16); a
settlement that a boundary is linked to decides instead, because levels mean other things in other
countries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from typing import Final

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.geocoding.build.columns import Floats, Ints, iter_portions
from mapyard.geocoding.build.memo import Memo
from mapyard.osm.elements import NODE
from mapyard.store.distinct import distinct_rows
from mapyard.store.reader import E7, Store
from mapyard.text.analysis import name_key
from mapyard.text.names import get_name

COUNTRY, STATE, COUNTY, SETTLEMENT, SUBURB = 4, 8, 12, 16, 19
#: place=* → rank.
PLACE_RANKS: Final[dict[str, int]] = {
    "country": 4, "archipelago": 5, "region": 7, "state": 8, "province": 8, "atoll": 9,
    "district": 10, "county": 12, "municipality": 14, "island": 15, "city": 16, "town": 16,
    "village": 16, "borough": 18, "suburb": 19, "quarter": 20, "hamlet": 20, "neighbourhood": 21,
    "islet": 22, "isolated_dwelling": 22, "farm": 22, "allotments": 22, "city_block": 22,
    "locality": 23, "square": 24, "plot": 24, "sea": 6, "ocean": 3, "continent": 2,
}  # fmt: skip
SETTLEMENTS: Final = frozenset(("city", "town", "village"))
#: How far a place node without a boundary reaches, metres.
REACH_M: Final[dict[str, float]] = {
    "city": 15_000, "town": 4_000, "village": 2_000, "suburb": 1_500, "borough": 3_000,
    "quarter": 1_000, "hamlet": 1_000, "neighbourhood": 700, "isolated_dwelling": 300,
    "farm": 300, "island": 3_000,
}  # fmt: skip


@dataclass(slots=True)
class Place:
    """One place; `row` is the element that stands for it, boundary before node."""

    row: int
    tags: dict[str, str]
    place: str
    admin_level: int
    rank: int
    lon: float
    lat: float
    #: Whether points can lie inside.
    is_area: bool = False
    area_deg2: float = 0.0
    rows: list[int] = field(default_factory=list)


def find_places(memo: Memo) -> list[Place]:
    """Return all named places of the store, in order of rank, then size."""
    store = memo.store
    rows = _candidate_rows(store)
    shapes = memo.by_row("place_shape", rows, lambda rows: _measure_shapes(store, rows))
    places: list[Place] = []
    nodes: list[Place] = []
    for portion in iter_portions(store, rows):
        part = rows[portion]
        read = zip(part.tolist(), store.tags_json(part), shapes[portion].tolist(), strict=True)
        for row, text, shape in read:
            tags = orjson.loads(text)
            if shape[0] != shape[0] or not get_name(tags):
                continue
            place = _read_place(row, tags, *shape)
            if place is not None:
                (places if row >= store.way_start else nodes).append(place)
    linked = _link(memo, places, nodes)
    places += [node for index, node in enumerate(nodes) if index not in linked]
    places.sort(key=lambda p: (p.rank, -p.area_deg2, p.row))
    return places


def _measure_shapes(store: Store, rows: Ints) -> Floats:
    """Return lon and lat of a point on each row, and its area; NaN where there is none of them."""
    found = np.full((len(rows), 3), np.nan)
    for part in iter_portions(store, rows):
        shapes = store.geometries(rows[part])
        points = np.where(
            shapely.get_type_id(shapes) == 0, shapes, shapely.point_on_surface(shapes)
        )
        found[part, 0], found[part, 1] = shapely.get_x(points), shapely.get_y(points)
        is_area = shapely.get_dimensions(shapes) == 2
        found[part, 2][is_area] = shapely.area(shapes[is_area])
    return found


def _candidate_rows(store: Store) -> NDArray[np.int64]:
    parts = [store.rows_with_key("place"), store.rows_with_tag("boundary", "administrative")]
    rows = distinct_rows(parts).astype(np.int64)
    # Border ways carry the tags of the boundary; only their relation is the place.
    is_line = (rows >= store.way_start) & ~store.is_area(rows)
    return rows[~is_line]


def _read_place(
    row: int, tags: dict[str, str], lon: float, lat: float, area_deg2: float
) -> Place | None:
    kind = tags.get("place", "")
    level = tags.get("admin_level", "")
    admin_level = int(level) if level.isdigit() and 2 <= int(level) <= 11 else 0
    if tags.get("boundary") != "administrative":
        admin_level = 0
    is_area = not isnan(area_deg2)
    if kind not in PLACE_RANKS:
        if not (is_area and admin_level):
            return None
        kind = ""
    if admin_level and not is_area and not kind:
        return None
    rank = PLACE_RANKS.get(kind, admin_level * 2)
    if admin_level and kind not in SETTLEMENTS:
        rank = admin_level * 2
    return Place(
        row=row, tags=tags, place=kind, admin_level=admin_level, rank=rank,
        lon=lon, lat=lat, is_area=is_area, area_deg2=area_deg2 if is_area else 0.0, rows=[row],
    )  # fmt: skip


def _link(memo: Memo, areas: list[Place], nodes: list[Place]) -> set[int]:
    """Merge label nodes into their areas; return the indexes of merged nodes."""
    store = memo.store
    if not areas or not nodes:
        _find_held(memo, [])
        return set()
    members = _label_members(store, areas)
    by_row = {node.row: index for index, node in enumerate(nodes)}
    by_wikidata: dict[str, list[int]] = {}
    by_key: dict[str, list[int]] = {}
    for index, node in enumerate(nodes):
        if wikidata := node.tags.get("wikidata"):
            by_wikidata.setdefault(wikidata, []).append(index)
        by_key.setdefault(name_key(get_name(node.tags)), []).append(index)
    linked: set[int] = set()
    boxes = (store.boxes(np.array([area.row for area in areas])) / E7).tolist()
    box_of = {area.row: tuple(box) for area, box in zip(areas, boxes, strict=True)}
    near: dict[int, list[int]] = {}
    for area in areas:
        alike = by_key.get(name_key(get_name(area.tags)), ())
        near[area.row] = [
            i for i in alike
            if _may_be_same(area, nodes[i]) and _lies_in(nodes[i], box_of[area.row])
        ]  # fmt: skip
    pairs = [(area, nodes[i]) for area in areas for i in near[area.row]]
    held = _find_held(memo, pairs)
    # The smallest area of a name gets the node: the municipality, not the country around it.
    for area in sorted(areas, key=lambda a: a.area_deg2):
        key = name_key(get_name(area.tags))
        choices = [(0, by_row[row]) for row in members.get(area.row, ()) if row in by_row]
        choices = [
            (0, i) for _, i in choices
            if name_key(get_name(nodes[i].tags)) == key
            or nodes[i].tags.get("wikidata", "-") == area.tags.get("wikidata")
        ]  # fmt: skip
        choices += [(1, i) for i in by_wikidata.get(area.tags.get("wikidata", "-"), ())]
        choices += [(2, i) for i in near[area.row] if (area.row, nodes[i].row) in held]
        for _, index in sorted(choices):
            if index not in linked:
                linked.add(index)
                _merge(area, nodes[index])
                break
    return linked


def _may_be_same(area: Place, node: Place) -> bool:
    """Whether a node with the area's name is its label, should it be inside."""
    if area.place and area.place != node.place and not area.admin_level:
        return False
    if node.place == "country" and area.admin_level != 2:
        return False
    return not (
        area.admin_level and area.admin_level < 6 and node.place not in ("state", "country")
    )


def _lies_in(node: Place, box: tuple[float, float, float, float]) -> bool:
    west, south, east, north = box
    return west <= node.lon <= east and south <= node.lat <= north


def _find_held(memo: Memo, pairs: list[tuple[Place, Place]]) -> set[tuple[int, int]]:
    """Return the rows of the area and the node of those pairs whose area holds the node."""

    def compute(places: Ints) -> NDArray[np.bool_]:
        chosen = [pairs[place] for place in places.tolist()]
        found = np.empty(len(chosen), np.bool_)
        rows = np.array([area.row for area, _ in chosen], np.int64)
        for part in iter_portions(memo.store, rows):
            lon = [node.lon for _, node in chosen[part]]
            lat = [node.lat for _, node in chosen[part]]
            found[part] = shapely.contains_xy(memo.store.geometries(rows[part]), lon, lat)
        return found

    areas = np.array([area.row for area, _ in pairs], np.int64)
    nodes = np.array([node.row for _, node in pairs], np.int64)
    is_held = memo.by_pair("label_held", areas, nodes, compute).tolist()
    return {
        (area.row, node.row)
        for (area, node), is_inside in zip(pairs, is_held, strict=True)
        if is_inside
    }


def _label_members(store: Store, areas: list[Place]) -> dict[int, list[int]]:
    rows = np.array([a.row for a in areas if a.row >= store.relation_start], np.int64)
    if not len(rows):
        return {}
    members = store.members(rows)
    wanted = [i for i, role in enumerate(store.roles) if role in ("label", "admin_centre")]
    chosen = np.isin(members.role, wanted) & (members.row >= 0) & (members.eid & 3 == NODE)
    found: dict[int, list[int]] = {}
    for relation, row in zip(members.relation[chosen], members.row[chosen], strict=True):
        found.setdefault(int(rows[relation]), []).append(int(row))
    return found


def _merge(area: Place, node: Place) -> None:
    area.rows.append(node.row)
    area.lon, area.lat = node.lon, node.lat
    area.tags = {**node.tags, **area.tags}
    if node.place in PLACE_RANKS and not area.place:
        area.place = node.place
        if node.place in SETTLEMENTS:
            area.rank = PLACE_RANKS[node.place]
    if "population" in node.tags:
        area.tags.setdefault("population", node.tags["population"])


def place_nodes(places: list[Place]) -> tuple[Ints, Floats, Floats, Floats]:
    """Return index, lon, lat and reach in metres of the places that have no area."""
    chosen = [i for i, p in enumerate(places) if not p.is_area and p.place in REACH_M]
    lon = np.array([places[i].lon for i in chosen], np.float64)
    lat = np.array([places[i].lat for i in chosen], np.float64)
    reach = np.array([REACH_M[places[i].place] for i in chosen], np.float64)
    return np.array(chosen, np.int64), lon, lat, reach


def find_degrees(meters: float, lat: float) -> float:
    """Return a longitude span in degrees that covers a distance at a latitude."""
    return float(meters / (111_195.0 * max(0.01, np.cos(np.radians(lat)))))


__all__ = [
    "COUNTRY", "COUNTY", "E7", "PLACE_RANKS", "SETTLEMENT", "SETTLEMENTS", "STATE", "SUBURB",
    "Place", "find_degrees", "find_places", "place_nodes",
]  # fmt: skip
