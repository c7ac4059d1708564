"""Delivery zones by travel time: who is in which zone, and what a delivery costs there.

    python examples/delivery-zones/zones.py --depot 43.7384,7.4246 "Rue Grimaldi, Monaco"

writes zones.geojson (for QGIS, a map page, geojson.io) and prints the zone of each address. Zones
are rings: each holds what the next quicker one does not. Needs `pip install mapyard`, and a server
in MAPYARD_SERVER with a key in MAPYARD_KEY, or a data folder of your own in MAPYARD_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import shapely

import mapyard

#: Minutes and the price of a delivery within them.
ZONES = ((5, 2.90), (10, 4.90), (20, 7.90))


def open_map() -> Any:
    """Return a server's map where there is a key, else that of the data folder."""
    if os.environ.get("MAPYARD_KEY"):
        server = os.environ.get("MAPYARD_SERVER", "http://localhost:4000")
        return mapyard.connect(server, key=os.environ["MAPYARD_KEY"])
    return mapyard.open(os.environ.get("MAPYARD_DATA", "data"))


def draw_zones(source: Any, depot: tuple[float, float], mode: str) -> list[dict[str, Any]]:
    """Return a feature for each zone, the quickest first."""
    areas = source.isochrone(depot, [minutes * 60 for minutes, _ in ZONES], mode=mode)
    zones, nearer = [], shapely.Polygon()
    for area, (minutes, price) in zip(areas, ZONES, strict=True):
        whole = shapely.make_valid(area.geometry)
        ring = shapely.difference(whole, nearer)
        nearer = shapely.union(nearer, whole)
        zones.append(
            {
                "type": "Feature",
                "geometry": shapely.geometry.mapping(ring),
                "properties": {"minutes": minutes, "price": price},
            }
        )
    return zones


def find_zone(zones: list[dict[str, Any]], position: tuple[float, float]) -> dict[str, Any] | None:
    """Return the properties of the zone of a position, or None beyond all of them."""
    here = shapely.Point(position)
    for zone in zones:
        if shapely.covers(shapely.geometry.shape(zone["geometry"]), here):
            properties: dict[str, Any] = zone["properties"]
            return properties
    return None


def main() -> None:
    """Draw the zones and say in which each address is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", nargs="*")
    parser.add_argument("--depot", required=True, help="latitude,longitude")
    parser.add_argument("--mode", default="bicycle")
    parser.add_argument("--out", type=Path, default=Path("zones.geojson"))
    options = parser.parse_args()
    lat, lon = map(float, options.depot.split(","))
    with open_map() as source:
        zones = draw_zones(source, (lon, lat), options.mode)
        options.out.write_text(json.dumps({"type": "FeatureCollection", "features": zones}))
        print(f"{options.out}: {len(zones)} zones")
        for address in options.addresses:
            places = source.geocode(address, limit=1)
            if not places:
                print(f"{address}: not found")
                continue
            zone = find_zone(zones, places[0].lonlat)
            terms = f"{zone['minutes']} min, {zone['price']:.2f}" if zone else "too far"
            print(f"{places[0]['label']}: {terms}")


if __name__ == "__main__":
    main()
