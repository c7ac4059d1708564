"""What questions about ways and heights share: the open graph, parameters, geometry, output."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
import orjson
import shapely
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.elevation import Rasters, open_elevation
from mapyard.errors import NotInstalled
from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.geo.bbox import Bbox
from mapyard.geo.geojson import DEFAULT_PRECISION, write_geometries
from mapyard.library.call import Call
from mapyard.library.resources import Resources
from mapyard.library.snapshot import Snapshot, register_part
from mapyard.osm.elements import WAY
from mapyard.params.parser import Geometry, Params, Positions, spelled
from mapyard.routing import Engine, open_routing
from mapyard.routing.avoid import MAX_AVOID_POINTS, write_avoided
from mapyard.routing.choice import Choice
from mapyard.routing.config import MAX_AVOID_VERTICES
from mapyard.routing.costing import CostingOptions, check_slopes
from mapyard.routing.modes import Mode
from mapyard.routing.times import read_travel
from mapyard.store.reader import Store

type ModeField = Annotated[
    Mode,
    Meta(
        description="how to travel: auto (a car), truck, motor_scooter, motorcycle, taxi, bus, "
        "bicycle, foot, wheelchair, hike"
    ),
]
type CostingField = Annotated[
    CostingOptions | None,
    Meta(
        description="how the mode moves, where it differs from the defaults: vehicle, speeds, "
        "what it likes and avoids"
    ),
]
type DepartAt = Annotated[
    str | None,
    Meta(
        description="time of the departure, as 2026-06-17T08:30 in the local time of the place, or "
        "with an offset or Z; without any, noon of a working day counts",
        max_length=32,
    ),
]
type SnapRadius = Annotated[
    float,
    Meta(gt=0, le=5_000, description="a position farther from every road is refused, meters"),
]


class WayChoice(Params, kw_only=True):
    """Which roads are taken, and when."""

    costing: CostingField = None
    depart_at: DepartAt = None
    exclude: Annotated[
        tuple[str, ...],
        Meta(
            description="toll, motorway, ferry, unpaved (motor vehicles only), tunnel, bridge",
            max_length=20,
        ),
    ] = ()
    avoid_polygons: Annotated[
        Geometry | None,
        spelled("area not to enter: Polygon or MultiPolygon", max_points=MAX_AVOID_VERTICES),
    ] = None
    avoid_lines: Annotated[
        Geometry | None,
        spelled("not to cross: LineString or MultiLineString", max_points=MAX_AVOID_VERTICES),
    ] = None
    avoid_points: Annotated[
        Positions | None,
        spelled("places whose nearest roads are not taken", max_points=MAX_AVOID_POINTS),
    ] = None


def read_choice(params: WayChoice, place: tuple[float, float], engine: Engine) -> Choice:
    """Return the choice as the engine is asked; `place` (lon, lat) has the local time."""
    check_slopes(params.costing, has_slopes=engine.has_slopes)
    return Choice(
        params.costing,
        params.exclude,
        write_avoided(
            None if params.avoid_points is None else params.avoid_points.lonlat,
            None if params.avoid_lines is None else params.avoid_lines.shape,
            None if params.avoid_polygons is None else params.avoid_polygons.shape,
        ),
        read_travel(params.depart_at, None, place),
    )


def _open_engine(snapshot: Snapshot) -> Engine:
    return open_routing(snapshot.folder / "routing", snapshot.own_speeds)


register_part("routing", _open_engine)


def get_engine(call: Call) -> Engine:
    """Return the road graph of the dataset; raise NotInstalled when it was built without."""
    engine: Engine = call.part("routing")
    return engine


def get_rasters(call: Call) -> Rasters:
    """Return the elevation rasters; raise NotInstalled when there are none."""
    try:
        rasters: Rasters = call.resources.get("elevation", _open_rasters)
    except FileNotFoundError:
        raise NotInstalled(
            "no elevation data is installed; put rasters (.hgt, .hgt.zip, GeoTIFF, VRT) into the "
            "folder elevation/ of the data folder",
            details={"part": "elevation"},
        ) from None
    return rasters.with_spots(lambda box: find_spots(call.store, Bbox(*box)))


def has_rasters(resources: Resources) -> bool:
    """Return whether there are elevation rasters."""
    try:
        resources.get("elevation", _open_rasters)
    except FileNotFoundError:
        return False
    return True


#: What stands on the ground that its tag `ele` tells the height of.
HEIGHT_TAGS: Final = (
    ("natural", "peak"), ("natural", "volcano"), ("natural", "saddle"), ("natural", "hill"),
    ("mountain_pass", "yes"), ("man_made", "survey_point"),
)  # fmt: skip


def find_spots(store: Store, box: Bbox) -> NDArray[np.float64]:
    """Return heights that the map knows in a box: rows of lon, lat, meters."""
    rows = np.concatenate([store.rows_with_tag(key, value) for key, value in HEIGHT_TAGS])
    rows = np.unique(rows[rows < store.node_count]).astype(np.int64)
    lon, lat = store.lon.take(rows) * 1e-7, store.lat.take(rows) * 1e-7
    inside = (lon >= box.west) & (lon <= box.east) & (lat >= box.south) & (lat <= box.north)
    spots = []
    for row, x, y in zip(
        rows[inside].tolist(), lon[inside].tolist(), lat[inside].tolist(), strict=True
    ):
        height = store.tags(row).get("ele", "").removesuffix("m").strip()
        if height.replace(".", "", 1).removeprefix("-").isdecimal():
            spots.append((x, y, float(height)))
    return np.array(spots).reshape(-1, 3)


def _open_rasters(resources: Resources) -> Rasters:
    return open_elevation(resources.settings.data / "elevation")


class WayOutput(msgspec.Struct, frozen=True):
    """`output[…]` of the routing and elevation endpoints."""

    fields: Annotated[
        tuple[str, ...] | None, Meta(description="only these properties", max_length=50)
    ] = None
    include: Annotated[
        tuple[Literal["bbox", "center", "distance"], ...],
        Meta(description="bbox (member bbox) and center (property @center) of the geometry"),
    ] = ()
    precision: Annotated[int, Meta(ge=1, le=15, description="decimals of coordinates")] = (
        DEFAULT_PRECISION
    )
    geometry: Annotated[bool, Meta(description="false: geometry is null")] = True
    simplify: Annotated[
        float | None,
        Meta(gt=0, le=100_000, description="simplify by this tolerance in meters"),
    ] = None


#: One degree, roughly, for tolerances.
_METERS_PER_DEGREE: Final = 111_195.0


def write_shape(geometry: shapely.Geometry, output: WayOutput) -> orjson.Fragment | None:
    """Return the GeoJSON of a geometry, cut at the antimeridian, or None when not wanted."""
    if not output.geometry:
        return None
    if output.simplify is not None:
        geometry = shapely.simplify(geometry, output.simplify / _METERS_PER_DEGREE)
    cut = cut_antimeridian(np.array([geometry], np.object_))
    return orjson.Fragment(write_geometries(cut, precision=output.precision)[0])


def make_feature(
    geometry: shapely.Geometry,
    properties: dict[str, Any],
    output: WayOutput,
    members: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a GeoJSON feature as `output` asks for it."""
    bounds = geometry.bounds if output.include else None
    return _make_feature(write_shape(geometry, output), bounds, properties, output, members)


def make_point_feature(
    lon: float,
    lat: float,
    properties: dict[str, Any],
    output: WayOutput,
    members: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the feature of one position, as `output` asks for it."""
    position = [round(lon, output.precision), round(lat, output.precision)]
    shape = {"type": "Point", "coordinates": position} if output.geometry else None
    return _make_feature(shape, (lon, lat, lon, lat), properties, output, members)


def _make_feature(
    shape: orjson.Fragment | dict[str, Any] | None,
    bounds: tuple[float, float, float, float] | None,
    properties: dict[str, Any],
    output: WayOutput,
    members: dict[str, Any] | None,
) -> dict[str, Any]:
    if output.fields is not None:
        properties = {name: properties[name] for name in output.fields if name in properties}
    feature: dict[str, Any] = {"type": "Feature"}
    if bounds is not None and output.include:
        west, south, east, north = bounds
        if "bbox" in output.include:
            feature["bbox"] = [west, south, east, north]
        if "center" in output.include:
            properties["@center"] = [(west + east) / 2, (south + north) / 2]
    return feature | {"geometry": shape, "properties": properties, **(members or {})}


def make_line(positions: NDArray[np.float64]) -> shapely.Geometry:
    """Return the LineString of positions (n, 2) or (n, 3); one position is given twice."""
    return shapely.linestrings(positions if len(positions) > 1 else np.repeat(positions, 2, axis=0))


def find_way_tags(call: Call, way_id: int) -> dict[str, str]:
    """Return the tags of a way of the dataset, empty when it is not there."""
    store = call.store
    row = store.find_row(WAY, way_id)
    return store.tags(row) if row >= 0 else {}
