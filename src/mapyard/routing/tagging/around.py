"""What lies in and around areas: ways that people walk on, and what they do not walk over.

Read as arrays, in one pass; only what lies near becomes objects.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.area_rule import AREA, NOT_AREA, area_bits
from mapyard.osm.elements import NODE, WAY
from mapyard.osm.pbf import Block, iter_blocks
from mapyard.routing.tagging.access import is_open_by_kind, read_states
from mapyard.routing.tagging.areas import Area, Positions, Ring, Tags

type Ints = NDArray[np.int64]

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


@dataclass(slots=True)
class Around:
    """What lies in and around areas: ways by id with their nodes, and what they are."""

    refs: dict[int, Ring] = field(default_factory=dict)
    walked: dict[int, Tags] = field(default_factory=dict)
    obstacles: set[int] = field(default_factory=set)
    areas: set[int] = field(default_factory=set)
    #: Obstacles of several ways: their outer rings and holes, or the ways that are known of them.
    composed: list[tuple[list[Ring], list[Ring]]] = field(default_factory=list)


def _find_cells(areas: list[Area], positions: Positions) -> Ints:
    """Return the cells in and around areas, sorted."""
    cells: set[int] = set()
    for area in areas:
        at = np.array([positions[node] for ring in area.outers for node in ring])
        west, south = ((at.min(axis=0) - AROUND_DEG) * 1e7 // CELL).astype(int).tolist()
        east, north = ((at.max(axis=0) + AROUND_DEG) * 1e7 // CELL).astype(int).tolist()
        cells.update(
            x * CELLS_AROUND + y for x in range(west, east + 1) for y in range(south, north + 1)
        )
    return np.array(sorted(cells), np.int64)


def _find_near(block: Block, cells: Ints) -> Ints:
    """Return the ids of the nodes in cells."""
    assert block.lon is not None and block.lat is not None
    x, y = block.lon.astype(np.int64) // CELL, block.lat.astype(np.int64) // CELL
    return block.ids[_is_in(x * CELLS_AROUND + y, cells)]


def _is_in(values: Ints, wanted: Ints) -> NDArray[np.bool_]:
    """Return which values are in the sorted `wanted`."""
    if not len(wanted):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    return np.asarray(wanted[at] == values)


def read_around(pbf: Path, areas: list[Area], positions: Positions) -> Around:
    """Return the ways with a node in or near one of the areas, and the multipolygons of such ways.

    `positions` has those of the areas' rims.
    """
    cells = _find_cells(areas, positions)
    around = Around()
    near: list[Ints] = []
    known = np.zeros(0, np.int64)
    before = NODE
    for block in iter_blocks(pbf):  # nodes, then ways, then relations
        if block.type != before:
            before = block.type
            known = np.sort(
                np.concatenate([known[:0], *near])
                if block.type == WAY
                else np.array(list(around.refs), np.int64)
            )
        if block.type == NODE:
            near.append(_find_near(block, cells))
        elif block.type == WAY:
            for row in _find_rows(block, known):
                _add_way(around, block, row)
        else:
            for row in _find_rows(block, known):
                _add_relation(around, block, row)
    return around


def _find_rows(block: Block, wanted: Ints) -> list[int]:
    """Return the rows that have a ref in the sorted `wanted`."""
    assert block.refs is not None and block.offsets is not None
    hits = np.flatnonzero(_is_in(block.refs, wanted))
    return np.unique(np.searchsorted(block.offsets, hits, side="right") - 1).tolist()


def _read_tags(block: Block, row: int) -> Tags:
    run = slice(int(block.tag_offsets[row]), int(block.tag_offsets[row + 1]))
    return {
        block.strings[key].decode("utf-8", "replace"): block.strings[value].decode(
            "utf-8", "replace"
        )
        for key, value in zip(
            block.tag_keys[run].tolist(), block.tag_values[run].tolist(), strict=True
        )
    }


def _add_way(around: Around, block: Block, row: int) -> None:
    assert block.refs is not None and block.offsets is not None
    way_id = int(block.ids[row])
    tags = _read_tags(block, row)
    refs = block.refs[block.offsets[row] : block.offsets[row + 1]]
    around.refs[way_id] = array("q", refs.tobytes())  # a fifth of what a list takes
    if _is_obstacle(tags):
        around.obstacles.add(way_id)
        if _is_area(tags):
            around.areas.add(way_id)
    if _is_walked(tags):
        around.walked[way_id] = tags


def _add_relation(around: Around, block: Block, row: int) -> None:
    tags = _read_tags(block, row)
    if tags.get("type") != "multipolygon" or not _is_obstacle(tags):
        return
    assert block.refs is not None and block.offsets is not None
    assert block.member_types is not None and block.member_roles is not None
    run = slice(int(block.offsets[row]), int(block.offsets[row + 1]))
    outers: list[Ring] = []
    holes: list[Ring] = []
    for kind, ref, role in zip(
        block.member_types[run].tolist(),
        block.refs[run].tolist(),
        block.member_roles[run].tolist(),
        strict=True,
    ):
        if kind == WAY and ref in around.refs:
            rings = holes if block.strings[role] == b"inner" else outers
            rings.append(around.refs[ref])
    around.composed.append((outers, holes))


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


def leads_onto(tags: Tags) -> bool:
    """Return whether one gets from a way onto what lies beside it."""
    return (
        tags["highway"] != "steps"
        and tags.get("layer", "0") == "0"
        and all(tags.get(key, "no") == "no" for key in _APART)
    )
