"""Where: spatial conditions on elements, tested exactly on arrays of rows.

A region gives the boxes in which to look for candidates, and a test of rows. An element without
geometry is in no region, nor in the complement of one.
"""

from __future__ import annotations

import math
from typing import Any, Final, Literal, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.features.distance import Center
from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M, EARTH_RADIUS_M
from mapyard.results.shaping import buffer_geometries
from mapyard.store.reader import E7, Rows, Store, to_units

type Mask = NDArray[np.bool_]
type Relation = Literal[
    "within", "intersects", "contains", "crosses", "touches", "overlaps", "equals"
]

#: Widest geometry, in degrees, that distances in meters are measured from.
MAX_SPAN_DEG: Final = 20.0


class Region(Protocol):
    """A spatial condition."""

    @property
    def boxes(self) -> list[Bbox] | None:
        """Boxes that meet the box of every element that passes; None for everywhere."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What the region is, for telling queries apart."""

    def test(self, store: Store, rows: Rows) -> Mask:
        """Return which rows (any order) pass."""


class BoxRegion:
    """Geometry and box have a point in common; the box may cross the antimeridian."""

    def __init__(self, bbox: Bbox) -> None:
        self.key: tuple[Any, ...] = ("bbox", *map(float, bbox))
        self.boxes: list[Bbox] | None = bbox.split()

    def test(self, store: Store, rows: Rows) -> Mask:
        """Return which rows meet the box."""
        rows = np.asarray(rows, np.int64)
        passed = np.zeros(len(rows), np.bool_)
        for box in self.boxes or []:
            places, inside = store.find_meeting(rows, *to_units(box))
            passed[places[inside]] = True
            if not inside.all():
                places = places[~inside]
                passed[places[_meet_box(store, rows[places], box)]] = True
        return passed


def _meet_box(store: Store, rows: Rows, box: Bbox) -> Mask:
    """Test rows whose box is partly in a box."""
    passed = _have_way_inside(store, rows, box)
    left = np.flatnonzero(~passed)
    if len(left):
        # The box is not prepared: GEOS has a faster way for a rectangle.
        passed[left] = shapely.intersects(shapely.box(*box), store.geometries(rows[left]))
    return passed


def _have_way_inside(store: Store, rows: Rows, box: Bbox) -> Mask:
    """Return which rows are relations of lines with a member way inside the box.

    Their geometry is made of all their ways, so that decides it without the geometry, which of
    routes and of clipped boundaries is large and would be most of a query's work.
    """
    found = np.zeros(len(rows), np.bool_)
    lines = np.flatnonzero((rows >= store.relation_start) & ~store.is_area(rows))
    if len(lines):
        members = store.members(rows[lines])
        is_way = (members.row >= store.way_start) & (members.row < store.relation_start)
        boxes = store.boxes(members.row[is_way])
        # A way of which one node is left has no line.
        has_line = (boxes[:, 0] < boxes[:, 2]) | (boxes[:, 1] < boxes[:, 3])
        found[lines[members.relation[is_way][has_line & _lie_inside(boxes, box)]]] = True
    return found


def _lie_inside(boxes: NDArray[np.int32], box: Bbox) -> Mask:
    x0, y0, x1, y1 = to_units(box)
    return (
        (boxes[:, 0] >= x0) & (boxes[:, 2] <= x1) & (boxes[:, 1] >= y0) & (boxes[:, 3] <= y1)
        & (boxes[:, 0] <= boxes[:, 2])
    )  # fmt: skip


class AroundRegion:
    """Geometry lies within a radius in meters of a geometry, on the sphere."""

    def __init__(self, shape: Any, radius_m: float, parameter: str = "around") -> None:
        check_shape(shape, parameter, measured=True)
        self.key: tuple[Any, ...] = ("around", shapely.to_wkb(shape), radius_m)
        self.center = Center(shape)
        self.radius_m = radius_m
        self.boxes: list[Bbox] | None = self.center.boxes_within(radius_m)

    def test(self, store: Store, rows: Rows) -> Mask:
        """Return which rows are within the radius."""
        rows = np.asarray(rows, np.int64)
        if not self.center.is_point:
            return self.center.distances_m(store, rows) <= self.radius_m
        passed, open_rows = self._test_boxes(store.boxes(rows))
        places = np.flatnonzero(open_rows)
        if len(places):
            passed[places] = self.center.distances_m(store, rows[places]) <= self.radius_m
        return passed

    def _test_boxes(self, boxes: NDArray[np.int32]) -> tuple[Mask, Mask]:
        """Return which boxes lie wholly within the radius, and which need their geometry.

        Distances to the nearest and farthest place of a box are taken in the flat plane, with a
        margin for its error; near the poles and the antimeridian the geometry decides.
        """
        lon, lat = self.center.lon, self.center.lat
        x0, y0, x1, y1 = boxes.T / E7
        has = x0 <= x1
        if abs(lat) > 75.0 or abs(lon) > 175.0:
            return np.zeros(len(boxes), np.bool_), has
        # A degree of longitude shrinks towards the pole by this share within the radius.
        margin = 0.005 + math.tan(math.radians(abs(lat))) * self.radius_m / EARTH_RADIUS_M
        scale_x = DEGREE_M * math.cos(math.radians(lat))
        far_x = np.maximum(np.abs(x0 - lon), np.abs(x1 - lon)) * scale_x
        far_y = np.maximum(np.abs(y0 - lat), np.abs(y1 - lat)) * DEGREE_M
        near_x = np.maximum(np.maximum(x0 - lon, lon - x1), 0.0) * scale_x
        near_y = np.maximum(np.maximum(y0 - lat, lat - y1), 0.0) * DEGREE_M
        inside = has & (np.hypot(far_x, far_y) <= self.radius_m * (1.0 - margin))
        near = np.hypot(near_x, near_y) <= self.radius_m * (1.0 + margin)
        return inside, has & near & ~inside


class ShapeRegion:
    """Geometry stands in a relation to a shape; `negated` takes all others that have a geometry."""

    def __init__(
        self,
        relation: Relation,
        shape: Any,
        *,
        radius_m: float | None = None,
        negated: bool = False,
        parameter: str = "",
    ) -> None:
        """Take a shape; `parameter` is what errors name, by default the relation."""
        name = f"not_{relation}" if negated else relation
        check_shape(shape, parameter or name, measured=radius_m is not None)
        self.key: tuple[Any, ...] = (name, shapely.to_wkb(shape), radius_m)
        if radius_m is not None:
            shape = buffer_geometries(np.array([shape], np.object_), radius_m)[0]
        shapely.prepare(shape)
        self._shape = shape
        self._relation = relation
        self._negated = negated
        self.boxes: list[Bbox] | None = None if negated else find_shape_boxes(shape)

    def test(self, store: Store, rows: Rows) -> Mask:
        """Return which rows stand in the relation."""
        geometries = store.geometries(rows)
        # The prepared shape comes first, so each relation is said from its side.
        match self._relation:
            case "within":
                passed = shapely.contains(self._shape, geometries)
            case "contains":
                passed = shapely.within(self._shape, geometries)
            case "intersects":
                passed = shapely.intersects(self._shape, geometries)
            case "crosses":
                passed = shapely.crosses(self._shape, geometries)
            case "touches":
                passed = shapely.touches(self._shape, geometries)
            case "overlaps":
                passed = shapely.overlaps(self._shape, geometries)
            case "equals":
                passed = shapely.equals(self._shape, geometries)
        if self._negated:
            return ~passed & ~shapely.is_missing(geometries)
        return np.asarray(passed)


def read_h3(cell: str) -> ShapeRegion:
    """Return the region of an H3 cell: geometry and cell have a point in common."""
    text = cell.strip().lower().removeprefix("0x")
    import h3  # only some requests name a cell, and it takes a while

    if not h3.is_valid_cell(text):
        raise InvalidRequest.of(
            "h3", f"'{cell[:32]}' is not an H3 cell index, such as 881f1d4881fffff"
        )
    ring = [(lon, lat) for lat, lon in h3.cell_to_boundary(text)]
    shape = cut_antimeridian(np.array([shapely.Polygon(ring)], np.object_))[0]
    return ShapeRegion("intersects", shape)


def check_shape(shape: Any, parameter: str, *, measured: bool) -> None:
    """Raise InvalidRequest for a polygon that is not valid, or too wide to measure from."""
    if not shapely.is_valid(shape):
        problem, _, place = shapely.is_valid_reason(shape).rstrip("]").partition("[")
        raise InvalidRequest.of(
            parameter,
            f"the geometry is not valid: {problem.strip().lower()} at longitude and latitude "
            f"{place}; rings may neither cross themselves or each other nor lie outside their "
            "outer ring",
        )
    if measured:
        west, south, east, north = shapely.bounds(shape)
        if max(min(east - west, 360.0), north - south) > MAX_SPAN_DEG and east - west < 180.0:
            raise InvalidRequest.of(
                parameter,
                f"spans more than {MAX_SPAN_DEG:g} degrees; a radius is measured from geometries "
                "up to that size: ask in parts",
            )


def find_shape_boxes(shape: Any) -> list[Bbox]:
    """Return the box of a shape, or two when it has parts on both sides of the antimeridian."""
    west, south, east, north = shapely.bounds(shape).tolist()
    if east - west <= 180.0:
        return [Bbox(west, south, east, north)]
    bounds = shapely.bounds(shapely.get_parts(shape))
    is_west = bounds[:, 0] < 0
    if is_west.all() or (bounds[is_west, 2] > 0).any():
        return [Bbox(west, south, east, north)]
    return [
        Bbox(*side[:, :2].min(axis=0).tolist(), *side[:, 2:].max(axis=0).tolist())
        for side in (bounds[is_west], bounds[~is_west])
    ]
