"""Boundary lines and labels: what the members of boundary relations say, way by way.

An extract holds only parts of its neighbors, so lines come from ways, not from polygons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.sphere import EARTH_RADIUS_M
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store
from mapyard.tiles.schema import BOUNDARY_LABEL_ZOOMS

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class BoundaryLines(NamedTuple):
    """Ways that are boundaries, one entry each, by row."""

    rows: Ints
    admin_level: Ints
    maritime: Mask
    disputed: Mask


def find_boundary_relations(store: Store, level: str) -> Ints:
    """Return the rows of administrative boundary relations of a level."""
    rows = store.rows_with_tag("type", "boundary")
    for key, value in (("boundary", "administrative"), ("admin_level", level)):
        rows = np.intersect1d(rows, store.rows_with_tag(key, value), assume_unique=True)
    return rows[rows >= store.relation_start].astype(np.int64)


def find_label_inputs(store: Store) -> Ints:
    """Return the rows of what the labels of boundaries are made of."""
    return distinct(*(find_boundary_relations(store, level) for level in BOUNDARY_LABEL_ZOOMS))


def find_line_inputs(store: Store) -> Ints:
    """Return the rows of what the lines of boundaries are made of."""
    disputes = store.rows_with_tag("boundary", "disputed").astype(np.int64)
    relations = distinct(find_label_inputs(store), disputes[disputes >= store.relation_start])
    return distinct(relations, _member_ways(store, relations))


def find_boundary_lines(store: Store) -> BoundaryLines:
    """Return the member ways of boundaries of level 2 and 4, each with the lower of its levels."""
    ways, levels = [], []
    for level in BOUNDARY_LABEL_ZOOMS:
        found = _member_ways(store, find_boundary_relations(store, level))
        ways.append(found)
        levels.append(np.full(len(found), int(level), np.int64))
    rows, first = np.unique(np.concatenate(ways), return_index=True)
    disputes = store.rows_with_tag("boundary", "disputed").astype(np.int64)
    disputes = disputes[disputes >= store.relation_start]
    of_type = store.tag_values(disputes, "type") == store.find_kv("type", "boundary")
    level_kv = store.tag_values(disputes, "admin_level")
    known = [store.find_kv("admin_level", level) for level in BOUNDARY_LABEL_ZOOMS]
    disputes = disputes[
        of_type & ((level_kv < 0) | np.isin(level_kv, [k for k in known if k >= 0]))
    ]
    disputed = np.isin(rows, store.rows_with_tag("disputed", "yes"))
    disputed |= np.isin(rows, _member_ways(store, disputes))
    maritime = np.isin(rows, store.rows_with_tag("maritime", "yes"))
    maritime |= np.isin(rows, store.rows_with_tag("natural", "coastline"))
    return BoundaryLines(rows, np.concatenate(levels)[first], maritime, disputed)


def find_label_points(store: Store, relations: Ints) -> tuple[Ints, NDArray[np.float64]]:
    """Return the relations that can be labeled, and (n, 2) lon, lat, degrees.

    The point is the member with the role `label`, else one inside the area.
    """
    points = np.full((len(relations), 2), np.nan)
    inner = shapely.point_on_surface(store.geometries(relations))
    is_area = store.is_area(relations)
    points[is_area, 0] = shapely.get_x(inner[is_area])
    points[is_area, 1] = shapely.get_y(inner[is_area])
    members = store.members(relations)
    if "label" in store.roles:
        chosen = members.role == store.roles.index("label")
        chosen &= (members.row >= 0) & (members.row < store.way_start)
        nodes = members.row[chosen]
        points[members.relation[chosen], 0] = store.lon[nodes] / 1e7
        points[members.relation[chosen], 1] = store.lat[nodes] / 1e7
    known = ~np.isnan(points[:, 0])
    return relations[known], points[known]


def label_minzooms(level: str, areas_km2: NDArray[np.float64]) -> Ints:
    """Return the zoom from which the labels of areas are shown."""
    zooms = np.zeros(len(areas_km2), np.int64)
    for least_km2, minzoom in reversed(BOUNDARY_LABEL_ZOOMS[level]):
        zooms[areas_km2 >= least_km2] = minzoom
    return zooms


def areas_km2(store: Store, rows: Ints) -> NDArray[np.float64]:
    """Return the areas of rows on the sphere; 0 for what is no area."""

    def equal_area(lon_lat: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([np.radians(lon_lat[:, 0]), np.sin(np.radians(lon_lat[:, 1]))])

    areas = shapely.area(shapely.transform(store.geometries(rows), equal_area))
    return np.nan_to_num(areas) * (EARTH_RADIUS_M / 1000) ** 2


def _member_ways(store: Store, relations: Ints) -> Ints:
    rows = store.members(relations).row
    return distinct(rows[(rows >= store.way_start) & (rows < store.relation_start)])
