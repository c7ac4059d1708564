"""Areas that can be reached from a position within a time or a distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.geo.azimuthal import project
from mapyard.geo.sphere import DEGREE_M
from mapyard.routing.choice import USUAL, Choice
from mapyard.routing.config import MAX_CONTOURS
from mapyard.routing.contraction.table import Metric
from mapyard.routing.engine import Engine
from mapyard.routing.modes import ASSUMED_DEPARTURE, Mode
from mapyard.routing.outline import find_outlines
from mapyard.routing.snapping import (
    CONNECTED_REACH,
    DEFAULT_RADIUS_M,
    check_positions,
    explain,
    find_connected,
    find_roads,
    look_over_meridian,
    make_locations,
)

MIN_TIME_S: Final = 1.0
MAX_TIME_S: Final = 7_200.0
MAX_DISTANCE_M: Final = 200_000.0

#: Tolerance of the outline, metres: well below the engine's grid of 100 to 200 m.
_GENERALIZE_M: Final = 10.0
#: Radius of the area within a time too short for the engine's grid, metres.
_SMALLEST_M: Final = 10.0
_ANGLES: Final = np.linspace(0.0, 2 * np.pi, 25)[:-1]
_UNIT_CIRCLE: Final = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=-1)


@dataclass(frozen=True, slots=True)
class Isochrone:
    """A valid Polygon or MultiPolygon, within all larger ones of the same request."""

    limit: float  #: seconds or metres
    geometry: shapely.Geometry
    area_m2: float


def find_isochrones(
    engine: Engine,
    lon: float,
    lat: float,
    limits: NDArray[np.float64] | list[float],
    mode: Mode = "auto",
    *,
    metric: Metric = "time",
    radius_m: float = DEFAULT_RADIUS_M,
    toward: bool = False,
    choice: Choice = USUAL,
    least_share: float = 0.0,
) -> list[Isochrone]:
    """Return one area per limit (seconds or metres), in the order asked for.

    Args:
        engine: the open graph.
        lon: of the position.
        lat: of the position.
        limits: seconds or meters, ascending or not.
        mode: how to travel.
        metric: what the limits are.
        radius_m: a position farther from every road is refused.
        toward: from where the position is reached, instead of what is reached from it.
        choice: which roads are taken, and when.
        least_share: separate parts and holes smaller than this share of the largest part are left
            out; 0 keeps all.

    Raises `InvalidRequest`, `TooLarge` and `NoRoad`.
    """
    wanted = np.asarray(limits, np.float64)
    _check_limits(wanted, metric)
    position = np.array([[lon, lat]])
    check_positions(position, "position")
    position = look_over_meridian(engine, position, mode, radius_m)
    distinct = np.unique(wanted)
    table = engine.tables.find(choice.find_profile(mode))
    found = None
    if table is not None:
        places = table.find_places(position, radius_m)
        if not len(places.edge):
            raise explain(engine, position, mode, radius_m)
        found = find_outlines(
            table, places, position, mode, radius_m, distinct, metric,
            toward=toward, least_share=least_share,
        )  # fmt: skip
    if found is None:
        found = _ask_engine(
            engine, position, mode, radius_m, distinct, metric, toward, choice, least_share
        )
    at, parts = found
    areas: list[shapely.Geometry] = []
    inner = _circle(*at, _SMALLEST_M)
    for part in parts:
        # Each contour is simplified by itself; the union with the smaller ones nests them again.
        if not shapely.covers(part, inner):
            part = shapely.union_all([inner, part])
        inner = _polygons_of(part)
        areas.append(inner)
    by_limit = dict(zip(distinct.tolist(), areas, strict=True))
    return [
        Isochrone(limit, by_limit[limit], measure_area_m2(by_limit[limit], lon, lat))
        for limit in wanted.tolist()
    ]


def _ask_engine(
    engine: Engine,
    position: NDArray[np.float64],
    mode: Mode,
    radius_m: float,
    limits: NDArray[np.float64],
    metric: Metric,
    toward: bool,
    choice: Choice,
    least_share: float,
) -> tuple[tuple[float, float], list[shapely.Geometry]]:
    """Do what `find_outlines` does, for any mode and choice; raise `NoRoad`."""
    nearest = find_roads(engine, position, mode, radius_m, reach=1)[0]
    if not nearest:
        raise explain(engine, position, mode, radius_m)
    # From a road without connection, the area holds both what routes reach from there and what they
    # reach from the connected road that they are moved on to.
    _, moved = find_connected(
        engine, position, mode, radius_m, "destination" if toward else "origin"
    )
    reach = CONNECTED_REACH if moved[0] else 1
    scale = 60.0 if metric == "time" else 1000.0
    request: dict[str, Any] = (
        choice.write(mode)
        | _write_time(choice)
        | {
            "locations": make_locations(position, radius_m, reach),
            "contours": [{metric: limit / scale} for limit in limits.tolist()],
            "polygons": True,
            "denoise": least_share,
            "reverse": toward,
            "generalize": _GENERALIZE_M,
        }
    )
    answer = engine.call("isochrone", request)
    parts: list[list[shapely.Geometry]] = [[] for _ in limits]
    for feature in answer["features"]:
        contour = feature["properties"]["contour"] * scale
        parts[int(np.abs(limits - contour).argmin())].append(_read_area(feature["geometry"]))
    return (nearest[0].lon, nearest[0].lat), [shapely.union_all(part) for part in parts]


def _write_time(choice: Choice) -> dict[str, Any]:
    """Return the time of an area, which the engine wants as a departure."""
    when = ASSUMED_DEPARTURE if choice.travel is None else choice.travel.write()
    return {"date_time": when["date_time"] | {"type": 1}}


def _check_limits(limits: NDArray[np.float64], metric: Metric) -> None:
    if not len(limits):
        raise InvalidRequest.of(metric, "needs one value or more")
    if len(limits) > MAX_CONTOURS:
        raise TooLarge(
            f"{metric}: {len(limits)} values, at most {MAX_CONTOURS}",
            details={"parameter": metric, "limit": MAX_CONTOURS, "count": len(limits)},
        )
    least, most, unit = (
        (MIN_TIME_S, MAX_TIME_S, "seconds") if metric == "time" else (1.0, MAX_DISTANCE_M, "metres")
    )
    bad = ~((limits >= least) & (limits <= most))
    if bad.any():
        value = limits[bad][0]
        raise InvalidRequest.of(metric, f"{value:g} is outside {least:g} to {most:g} {unit}")


def _read_area(geometry: dict[str, Any]) -> shapely.Geometry:
    if not geometry["coordinates"] or not geometry["coordinates"][0]:
        return shapely.Polygon()
    return _polygons_of(shapely.make_valid(shapely.from_geojson(orjson.dumps(geometry))))


def _polygons_of(geometry: shapely.Geometry) -> shapely.Geometry:
    """Return the areal parts of a geometry, without points and lines, wound by RFC 7946."""
    if geometry.geom_type not in ("Polygon", "MultiPolygon"):
        parts = [part for part in shapely.get_parts(geometry) if part.geom_type.endswith("Polygon")]
        geometry = shapely.union_all(parts) if parts else shapely.Polygon()
    return shapely.orient_polygons(geometry, exterior_cw=False)


def _circle(lon: float, lat: float, radius_m: float) -> shapely.Geometry:
    radius_deg = radius_m / DEGREE_M
    width_deg = radius_deg / max(math.cos(math.radians(lat)), 0.01)
    return shapely.Polygon(_UNIT_CIRCLE * (width_deg, radius_deg) + (lon, lat))


def measure_area_m2(geometry: shapely.Geometry, lon: float, lat: float) -> float:
    """Return the size of an area, measured around a position in or near it."""
    plane = shapely.transform(geometry, lambda xy: project(xy[:, 0], xy[:, 1], lon, lat))
    return round(float(shapely.area(plane)), 1)
