"""What lies in and around areas: ways that people walk on, and what they do not walk over.

Read as arrays into mapped files; only what lies around one area becomes objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.area_rule import AREA, NOT_AREA, area_bits
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.osm.pbf import Block, iter_blocks
from mapyard.routing.tagging.access import is_open_by_kind, read_states
from mapyard.routing.tagging.blocks import Ints, Tags, find_rows, is_in, read_tags
from mapyard.routing.tagging.rings import (
    E7,
    NOWHERE,
    Positions,
    Ring,
    Rows,
    name_positions,
    read_member_ways,
    read_nodes,
)
from mapyard.store.columns import ColumnWriter, open_column, ranges
from mapyard.store.distinct import distinct
from mapyard.store.rtree import Boxes, Rtree, write_rtree

#: What people do not walk over: key → values; None for all values but `no`.
OBSTACLES: Final[dict[str, frozenset[str] | None]] = {
    "building": None,
    "barrier": frozenset(
        ("fence", "wall", "hedge", "retaining_wall", "city_wall", "guard_rail", "handrail",
         "ditch", "wire_fence", "railing", "jersey_barrier", "bund")
    ),
    "natural": frozenset(
        ("water", "wood", "scrub", "wetland", "cliff", "bare_rock", "scree", "rock", "spring",
         "earth_bank", "gully", "shrubbery", "heath", "sinkhole", "bay")
    ),
    "water": None,
    "waterway": None,
    "landuse": frozenset(
        ("forest", "basin", "reservoir", "flowerbed", "railway", "construction", "farmland",
         "orchard", "vineyard", "allotments", "cemetery", "plant_nursery",
         "greenhouse_horticulture", "brownfield", "quarry", "landfill", "military", "industrial",
         "farmyard")
    ),
    "leisure": frozenset(
        ("pitch", "garden", "swimming_pool", "playground", "track", "stadium", "sports_centre",
         "golf_course", "dog_park", "miniature_golf", "water_park", "swimming_area", "ice_rink")
    ),
    "amenity": frozenset(
        ("fountain", "school", "kindergarten", "parking", "grave_yard", "theatre", "restaurant",
         "cafe", "prison", "hospital")
    ),
    "tourism": frozenset(("zoo", "camp_site", "caravan_site", "theme_park", "museum")),
    "historic": frozenset(("archaeological_site", "ruins", "castle", "fort", "citywalls")),
    "man_made": frozenset(("embankment", "reservoir_covered", "wastewater_plant", "water_works")),
    "railway": frozenset(
        ("rail", "light_rail", "tram", "narrow_gauge", "miniature", "funicular", "construction",
         "subway", "monorail", "preserved")
    ),
    "highway": frozenset(
        road + link
        for road in ("motorway", "trunk", "primary", "secondary", "busway", "raceway")
        for link in ("", "_link")
    ),
    "power": frozenset(("substation", "plant", "generator")),
}  # fmt: skip
#: Along these one does not get onto a lawn.
_APART: Final = ("bridge", "tunnel", "embankment", "cutting", "indoor", "covered")
#: Side of the cells in which nodes near areas are looked for, 1e-7 degree (about 200 m).
CELL: Final = 20_000
CELLS_AROUND: Final = 1 << 20
#: Ways so near to an area lie around it.
AROUND_DEG: Final = 0.0005


#: What a way is, in bits.
_WALKED, _LEADS_ONTO, _OBSTACLE, _AREA = 1, 2, 4, 8
#: Refs whose positions are looked up together.
_AT_ONCE: Final = 1 << 20


@dataclass(slots=True)
class Around:
    """What lies around one area: ways by number, in the order of their ids, with their nodes."""

    refs: dict[int, Ring] = field(default_factory=dict)
    positions: Positions = field(default_factory=dict)
    #: Ways to walk on, and whether one gets from them onto what lies beside.
    walked: dict[int, bool] = field(default_factory=dict)
    obstacles: list[int] = field(default_factory=list)
    areas: set[int] = field(default_factory=set)
    #: Obstacles of several ways: their outer rings and holes, or the ways that are known of them.
    composed: list[tuple[list[Ring], list[Ring]]] = field(default_factory=list)


class Surroundings:
    """The ways with a node in or near one of the areas, and the multipolygons of such ways.

    They are found by a tree over their boxes, the multipolygons numbered behind the ways.
    """

    def __init__(self, pbf: Path, folder: Path, boxes: Boxes) -> None:
        """Read a file; `boxes` are those of the areas."""
        _read(pbf, folder, find_cells(boxes))
        self._refs: Ints = open_column(folder, "near_refs")
        self._offsets: Ints = open_column(folder, "near_refs_offsets")
        self._bits = open_column(folder, "near_bits")
        #: Of multipolygons, the numbers of their ways, those of holes as -1 - number.
        self._parts: Ints = open_column(folder, "near_parts")
        self._part_offsets: Ints = open_column(folder, "near_parts_offsets")
        self._lon, self._lat = self._find_positions(pbf)
        boxes = self._find_boxes()
        rows = np.flatnonzero(boxes[:, 0] <= boxes[:, 2]).astype(np.uint32)
        write_rtree(folder, "near", rows, boxes[rows])
        self._tree = Rtree(folder, "near")

    def _find_positions(self, pbf: Path) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the positions of all refs."""
        refs = self._refs
        nodes = read_nodes(pbf, distinct(refs))
        lon, lat = np.empty(len(refs), np.int32), np.empty(len(refs), np.int32)
        for start in range(0, len(refs), _AT_ONCE):
            run = slice(start, start + _AT_ONCE)
            lon[run], lat[run] = nodes.find(refs[run])
        return lon, lat

    def _find_boxes(self) -> Boxes:
        """Return the boxes of ways and multipolygons, turned around where there is nothing."""
        sides = []
        for values, turn in ((self._lon, 1), (self._lat, 1), (self._lon, -1), (self._lat, -1)):
            known = np.where(values == NOWHERE, np.iinfo(np.int32).max, values * np.int32(turn))
            of_ways = np.minimum.reduceat(known, self._offsets[:-1])
            of_parts = of_ways[np.where(self._parts < 0, -1 - self._parts, self._parts)]
            # Of an empty run it is the value at its begin; there has to be one.
            padded = np.append(of_parts, np.int32(0))
            of_all = np.minimum.reduceat(padded, self._part_offsets[:-1])
            of_all[np.diff(self._part_offsets) == 0] = np.iinfo(np.int32).max
            sides.append(np.concatenate([of_ways, of_all]) * np.int32(turn))
        return np.column_stack(sides)

    def find(self, box: tuple[int, int, int, int]) -> Around:
        """Return what lies around a box (1e-7 degree)."""
        way_count = len(self._bits)
        found = np.sort(self._tree.search(*box)).astype(np.int64)
        ways, others = found[found < way_count], found[found >= way_count] - way_count
        around = Around()
        for way in ways[self._bits[ways] > 0].tolist():
            self._add_way(around, way)
        for number in others.tolist():
            outers: list[Ring] = []
            holes: list[Ring] = []
            parts = self._parts[self._part_offsets[number] : self._part_offsets[number + 1]]
            for part in parts.tolist():
                ring = self._take(around, max(part, -1 - part))
                (holes if part < 0 else outers).append(ring)
            around.composed.append((outers, holes))
        return around

    def _add_way(self, around: Around, way: int) -> None:
        bits = int(self._bits[way])
        around.refs[way] = self._take(around, way)
        if bits & _OBSTACLE:
            around.obstacles.append(way)
        if bits & _AREA:
            around.areas.add(way)
        if bits & _WALKED:
            around.walked[way] = bool(bits & _LEADS_ONTO)

    def _take(self, around: Around, way: int) -> Ring:
        """Return the nodes of a way, whose positions are then known."""
        run = slice(int(self._offsets[way]), int(self._offsets[way + 1]))
        refs = self._refs[run]
        around.positions |= name_positions(refs, self._lon[run], self._lat[run])
        ring: Ring = refs.tolist()
        return ring


def find_cells(boxes: Boxes) -> Ints:
    """Return the cells in and around boxes, sorted."""
    around = round(AROUND_DEG * E7)
    low, high = (boxes[:, :2].astype(np.int64) - around) // CELL, (boxes[:, 2:] + around) // CELL
    width, height = (high - low + 1).T
    box_of = np.repeat(np.arange(len(boxes)), width)
    x = ranges(low[:, 0], width)
    y = ranges(low[box_of, 1], height[box_of])
    return distinct(np.repeat(x, height[box_of]) * CELLS_AROUND + y)


def _find_near(block: Block, cells: Ints) -> Ints:
    """Return the ids of the nodes in cells."""
    assert block.lon is not None and block.lat is not None
    x, y = block.lon.astype(np.int64) // CELL, block.lat.astype(np.int64) // CELL
    return block.ids[is_in(x * CELLS_AROUND + y, cells)]


def _read(pbf: Path, folder: Path, cells: Ints) -> None:
    """Write the ways with a node in cells, and the multipolygons that are obstacles, of such."""
    _read_nodes(iter_blocks(pbf, (NODE,), with_metadata=False), folder, cells)
    _read_ways(iter_blocks(pbf, (WAY,), with_metadata=False), folder)
    _read_relations(iter_blocks(pbf, (RELATION,), with_metadata=False), folder)


def _read_nodes(blocks: Iterable[Block], folder: Path, cells: Ints) -> None:
    with ColumnWriter(folder, "near_nodes", np.int64) as near:
        for block in blocks:
            near.append(_find_near(block, cells))


def _read_ways(blocks: Iterable[Block], folder: Path) -> None:
    known = open_column(folder, "near_nodes")
    with ExitStack() as files:
        ids = files.enter_context(ColumnWriter(folder, "near_ids", np.int64))
        bits = files.enter_context(ColumnWriter(folder, "near_bits", np.uint8))
        refs = Rows(files, folder, "near_refs", np.int64)
        for block in blocks:
            assert block.refs is not None and block.offsets is not None
            rows = find_rows(block.offsets, is_in(block.refs, known))
            ids.append(block.ids[rows])
            bits.append(np.array([_read_bits(read_tags(block, row)) for row in rows.tolist()]))
            refs.take(block, rows)


def _read_relations(blocks: Iterable[Block], folder: Path) -> None:
    known = open_column(folder, "near_ids")
    with ExitStack() as files:
        parts = Rows(files, folder, "near_parts", np.int64)
        for block in blocks:
            assert block.refs is not None and block.offsets is not None
            for row in find_rows(block.offsets, is_in(block.refs, known)).tolist():
                tags = read_tags(block, row)
                if tags.get("type") == "multipolygon" and _is_obstacle(tags):
                    parts.append(_number_ways(block, row, known))


def _number_ways(block: Block, row: int, known: Ints) -> Ints:
    """Return the numbers of the ways of a multipolygon that are known, of holes as -1 - number."""
    ids, is_inner = read_member_ways(block, row)
    at = np.searchsorted(known, ids)
    return np.where(is_inner, -1 - at, at)[is_in(ids, known)]


def _read_bits(tags: Tags) -> int:
    bits = 0
    if _is_obstacle(tags):
        bits |= _OBSTACLE | (_AREA if _is_area(tags) else 0)
    if _is_walked(tags):
        bits |= _WALKED | (_LEADS_ONTO if _leads_onto(tags) else 0)
    return bits


def _is_obstacle(tags: Tags) -> bool:
    if tags.get("tunnel", "no") != "no" or tags.get("location") == "underground":
        return False
    for key, value in tags.items():
        if key in OBSTACLES and value != "no":
            values = OBSTACLES[key]
            if values is None or value in values:
                return True
    return False


def _is_area(tags: Tags) -> bool:
    bits = [area_bits(key, value) for key, value in tags.items()]
    return AREA in bits and NOT_AREA not in bits


def _is_walked(tags: Tags) -> bool:
    highway = tags.get("highway")
    if highway is None or tags.get("area") == "yes":
        return False
    state = read_states(tags, highway).get("foot")
    return state == "open" or (state is None and is_open_by_kind("foot", highway))


def _leads_onto(tags: Tags) -> bool:
    """Return whether one gets from a way onto what lies beside it."""
    return (
        tags["highway"] != "steps"
        and tags.get("layer", "0") == "0"
        and all(tags.get(key, "no") == "no" for key in _APART)
    )
