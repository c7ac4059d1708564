"""Where: spatial conditions on elements, tested exactly on arrays of rows.

A region gives the boxes in which to look for candidates, and a test of rows. An element without
geometry is in no region, nor in the complement of one.
"""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol

import h3
import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.features.distance import Center
from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import haversine_m
from mapyard.results.shaping import buffer_geometries
from mapyard.store.reader import E7, Rows, Store

type Mask = NDArray[np.bool_]
type Relation = Literal["within", "intersects", "contains", "crosses", "touches"]

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
        boxes = store.boxes(rows)
        passed = np.zeros(len(rows), np.bool_)
        for box in self.boxes or []:
            passed |= _lie_inside(boxes, box)
            open_places = np.flatnonzero(_overlap(boxes, box) & ~passed)
            if len(open_places):
                passed[open_places] = _meet_box(store, rows[open_places], box)
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
    x0, y0, x1, y1 = _to_units(box)
    return (
        (boxes[:, 0] >= x0) & (boxes[:, 2] <= x1) & (boxes[:, 1] >= y0) & (boxes[:, 3] <= y1)
        & (boxes[:, 0] <= boxes[:, 2])
    )  # fmt: skip


def _overlap(boxes: NDArray[np.int32], box: Bbox) -> Mask:
    x0, y0, x1, y1 = _to_units(box)
    return (
        (boxes[:, 0] <= x1) & (boxes[:, 2] >= x0) & (boxes[:, 1] <= y1) & (boxes[:, 3] >= y0)
        & (boxes[:, 0] <= boxes[:, 2])
    )  # fmt: skip


def _to_units(box: Bbox) -> tuple[float, float, float, float]:
    """Return the first and last stored coordinates in a box; 1e-3 absorbs binary rounding."""
    return (
        float(np.ceil(box.west * E7 - 1e-3)),
        float(np.ceil(box.south * E7 - 1e-3)),
        float(np.floor(box.east * E7 + 1e-3)),
        float(np.floor(box.north * E7 + 1e-3)),
    )


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
        """Return which boxes lie wholly within the radius, and which need their geometry."""
        x0, y0, x1, y1 = (boxes.T / E7).astype(np.float64)
        lon, lat = self.center.lon, self.center.lat
        has = x0 <= x1
        # The corner farther in longitude, moved to the center's side of the antimeridian.
        far_lon = np.where(np.abs(_turn(x0 - lon)) > np.abs(_turn(x1 - lon)), x0, x1)
        farthest = np.maximum(
            haversine_m(lon, lat, far_lon, y0), haversine_m(lon, lat, far_lon, y1)
        )
        inside = has & (farthest <= self.radius_m) & (x1 - x0 < 180.0)
        is_point = (x0 == x1) & (y0 == y1)
        nearest = haversine_m(lon, lat, np.clip(lon, x0, x1), np.clip(lat, y0, y1))
        # The nearest place of a box is not quite the clamped one, and near the poles not at all;
        # across the antimeridian clamping is wrong too, so there the geometry decides.
        clear = (nearest > self.radius_m * 1.01 + 1.0) & (abs(lat) < 80.0) & (abs(lon) < 170.0)
        return inside, has & ~inside & ~clear & ~is_point


class ShapeRegion:
    """Geometry stands in a relation to a shape; `negated` takes all others that have a geometry."""

    def __init__(
        self,
        relation: Relation,
        shape: Any,
        *,
        radius_m: float | None = None,
        negated: bool = False,
    ) -> None:
        parameter = f"not_{relation}" if negated else relation
        check_shape(shape, parameter, measured=radius_m is not None)
        self.key: tuple[Any, ...] = (parameter, shapely.to_wkb(shape), radius_m)
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
        if self._negated:
            return ~passed & ~shapely.is_missing(geometries)
        return np.asarray(passed)


def read_h3(cell: str) -> ShapeRegion:
    """Return the region of an H3 cell: geometry and cell have a point in common."""
    text = cell.strip().lower().removeprefix("0x")
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


def _turn(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return differences of longitude as −180 to 180."""
    return (degrees + 180.0) % 360.0 - 180.0
