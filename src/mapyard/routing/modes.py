"""Travel modes and what may be excluded, in the engine's words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal, get_args

import shapely

from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.geo.sphere import haversine_m
from mapyard.routing.config import COSTINGS, MAX_AVOID_PERIMETER_M, MAX_AVOID_VERTICES
from mapyard.routing.tagging.conditions import ASSUMED

Mode = Literal["auto", "foot", "bicycle"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)

#: Costs that differ from the engine's defaults, per costing. A gate takes time to open, and is no
#: reason for a detour. Roads for their ends only are marked as such for cars, and as alleys for
#: walkers and riders (see routing/tagging/access.py). What the tables of matrices cost
#: (contraction/) follows these.
COSTING_DEFAULTS: Final[dict[str, dict[str, float]]] = {
    "auto": {"gate_cost": 10, "gate_penalty": 20, "alley_penalty": 0},
    "pedestrian": {
        "gate_cost": 10, "gate_penalty": 0, "destination_only_penalty": 0, "alley_penalty": 600,
        "alley_factor": 1,
    },
    "bicycle": {
        "gate_cost": 10, "gate_penalty": 20, "private_access_penalty": 0,
        "destination_only_penalty": 0, "alley_penalty": 600,
    },
}  # fmt: skip

#: Without a time, what holds at noon of a working day does: in the local time of each place.
ASSUMED_TIME: Final = {"date_time": {"type": 3, "value": ASSUMED.strftime("%Y-%m-%dT%H:%M")}}
#: The same for areas, for which the engine wants a departure.
ASSUMED_DEPARTURE: Final = {"date_time": ASSUMED_TIME["date_time"] | {"type": 1}}

#: Exclusion → the engine's option.
_EXCLUSIONS: Final = {
    "toll": "exclude_tolls",
    "motorway": "exclude_highways",
    "ferry": "exclude_ferries",
    "unpaved": "exclude_unpaved",
    "tunnel": "exclude_tunnels",
    "bridge": "exclude_bridges",
}


def make_costing(
    mode: Mode, exclude: Collection[str] = (), avoid: shapely.Geometry | None = None
) -> dict[str, Any]:
    """Return the request members `costing`, `costing_options`, `exclude_polygons`.

    Args:
        mode: how to travel.
        exclude: of toll, motorway, ferry, unpaved (auto only), tunnel, bridge.
        avoid: Polygon or MultiPolygon whose roads are not taken.

    Raises `Unsupported` for other exclusions, `TooLarge` for polygons over the limits.
    """
    costing = COSTINGS[mode]
    options = dict(COSTING_DEFAULTS[costing])
    if exclude:
        options |= _read_exclusions(mode, exclude)
    request: dict[str, Any] = {"costing": costing, "costing_options": {costing: options}}
    if avoid is not None:
        request["exclude_polygons"] = _write_rings(avoid)
    return request


def _read_exclusions(mode: Mode, exclude: Collection[str]) -> dict[str, bool]:
    unknown = [name for name in exclude if name not in _EXCLUSIONS]
    if unknown:
        known = ", ".join(_EXCLUSIONS)
        raise Unsupported(
            f"exclude: {', '.join(unknown)} cannot be excluded; only {known}",
            details={"exclude": [f"{name} cannot be excluded" for name in unknown]},
        )
    if "unpaved" in exclude and mode != "auto":
        raise Unsupported(
            f"exclude: unpaved is served for mode auto only, not for {mode}",
            details={"exclude": ["unpaved is served for mode auto only"]},
        )
    return {_EXCLUSIONS[name]: True for name in exclude}


def _write_rings(avoid: shapely.Geometry) -> list[list[list[float]]]:
    if avoid.geom_type not in ("Polygon", "MultiPolygon"):
        raise InvalidRequest.of(
            "avoid_polygons", f"must be a Polygon or MultiPolygon, not a {avoid.geom_type}"
        )
    polygons = [polygon for polygon in shapely.get_parts(avoid) if not polygon.is_empty]
    if any(polygon.interiors for polygon in polygons):
        raise Unsupported(
            "avoid_polygons: polygons with holes are not served; cut them into parts without",
            details={"avoid_polygons": ["holes are not served"]},
        )
    rings = [shapely.get_coordinates(polygon.exterior) for polygon in polygons]
    vertex_count = sum(len(ring) for ring in rings)
    perimeter_m = sum(
        float(haversine_m(ring[:-1, 0], ring[:-1, 1], ring[1:, 0], ring[1:, 1]).sum())
        for ring in rings
    )
    for what, count, limit in (
        ("vertices", vertex_count, MAX_AVOID_VERTICES),
        ("metres around", round(perimeter_m), MAX_AVOID_PERIMETER_M),
    ):
        if count > limit:
            raise TooLarge(
                f"avoid_polygons: {count} {what}, at most {limit}",
                details={"parameter": "avoid_polygons", "limit": limit, "count": count},
            )
    return [ring.tolist() for ring in rings]
