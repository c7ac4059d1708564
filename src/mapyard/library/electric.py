"""Routes of electric cars: stations out of the store, heights out of the rasters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.elevation.profile import NoElevation, find_heights
from mapyard.errors import InvalidRequest, NotInstalled, Unsupported
from mapyard.library.call import Call
from mapyard.library.ways import get_engine, get_rasters
from mapyard.routing.avoid import write_avoided
from mapyard.routing.choice import Choice
from mapyard.routing.electric import (
    ElectricTrip,
    ElectricVehicle,
    find_electric_trip,
    find_search_box,
    find_stations,
)
from mapyard.routing.electric.stations import CONNECTORS, read_connectors
from mapyard.routing.stops import Stop
from mapyard.routing.trip import Route

if TYPE_CHECKING:
    from mapyard.library.questions.routes import RouteQuestion

type Floats = NDArray[np.float64]

#: What has no meaning beside charging stops, and what is asked for then.
_ALONE: Final = (
    ("alternatives", "charging stops are chosen for one route"),
    ("depart_at", "rules of hours are not followed over charging stops"),
    ("arrive_by", "rules of hours are not followed over charging stops"),
    ("headings", "positions have no headings between charging stops"),
    ("sides", "positions have no sides between charging stops"),
    ("through", "waypoints are stops between charging stops"),
    ("snap_radiuses", "all positions have the snap_radius"),
    ("snap_exclude", "positions go to any road between charging stops"),
)


def find(
    call: Call,
    params: RouteQuestion,
    vehicle: ElectricVehicle,
    ask: Callable[[Floats, list[Stop] | None], Sequence[Route]],
) -> ElectricTrip:
    """Return the trip of an electric car through the positions of a question."""
    from mapyard.library.questions.routes import read_positions

    if params.mode not in ("auto", "taxi"):
        raise Unsupported(
            f"ev: mode {params.mode} is not served; auto and taxi are",
            details={"ev": ["is served for modes auto and taxi"]},
        )
    for name, why in _ALONE:
        if getattr(params, name):
            raise Unsupported(f"{name}: with ev {why}; leave it out", details={name: [why]})
    if vehicle.initial_charge_pct < vehicle.min_charge_pct:
        raise InvalidRequest.of("ev[initial_charge_pct]", "is below ev[min_charge_pct]")
    connectors = read_connectors(vehicle.connector_types)
    if connectors is None:
        known = ", ".join(CONNECTORS)
        raise InvalidRequest.of("ev[connector_types]", f"knows {known} (and ccs)")
    positions = read_positions(params)
    stations = find_stations(
        call.store, find_search_box(positions), connectors, vehicle.min_power_kw
    )
    choice = Choice(
        params.costing,
        params.exclude,
        write_avoided(
            None if params.avoid_points is None else params.avoid_points.lonlat,
            None if params.avoid_lines is None else params.avoid_lines.shape,
            None if params.avoid_polygons is None else params.avoid_polygons.shape,
        ),
    )
    return find_electric_trip(
        get_engine(call),
        positions,
        vehicle,
        stations,
        lambda places: ask(places, None)[0],
        mode=params.mode,
        choice=choice,
        find_heights=_get_heights(call),
        deadline=call.deadline,
    )


def _get_heights(call: Call) -> Callable[[Floats], Floats] | None:
    """Return what gives heights; None, for flat ways, where no elevation is installed."""
    try:
        rasters = get_rasters(call)
    except NotInstalled:
        return None

    def find_known(positions: Floats) -> Floats:
        try:
            return find_heights(rasters, positions).heights_m
        except NoElevation:
            return np.full(len(positions), np.nan)

    return find_known


def describe(trip: ElectricTrip) -> dict[str, Any]:
    """Return the properties of a trip beside those of its route; times are with charging."""
    driving_s = trip.route.duration_s
    duration_s = round(driving_s + trip.charging_s, 1)
    return {
        "duration": duration_s,
        "duration_s": duration_s,
        "driving_s": round(driving_s, 1),
        "charging_s": trip.charging_s,
        "energy_used_wh": trip.energy_wh,
        "charge_profile": trip.profile.tolist(),
        "charging_stops": [
            {
                "location": [stop.station.lon, stop.station.lat],
                "osm_type": stop.station.osm_type,
                "osm_id": stop.station.osm_id,
                "name": stop.station.name,
                "operator": stop.station.operator,
                "connectors_kw": stop.station.plugs,
                "power_kw": stop.station.power_kw,
                "leg": stop.leg,
                "fraction": stop.fraction,
                "arrival_charge_pct": stop.arrival_charge,
                "departure_charge_pct": stop.departure_charge,
                "energy_wh": stop.energy_wh,
                "duration_s": stop.duration_s,
            }
            for stop in trip.stops
        ],
        "slopes_counted": trip.has_slopes,
    }
