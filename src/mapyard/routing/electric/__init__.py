"""Ways of electric cars: what they use, where they charge, which stops are quickest.

`consumption` models the car, `stations` reads charging stations from the map, `search` chooses
stops on a small graph of places, `trips` puts them together.
"""

from __future__ import annotations

from mapyard.routing.electric.stations import Station, find_stations
from mapyard.routing.electric.trips import ElectricTrip, find_electric_trip, find_search_box
from mapyard.routing.electric.vehicle import ElectricVehicle

__all__ = [
    "ElectricTrip",
    "ElectricVehicle",
    "Station",
    "find_electric_trip",
    "find_search_box",
    "find_stations",
]
