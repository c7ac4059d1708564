"""Dispatch of a small fleet: which car takes which order when, out of two tables.

    python examples/dispatch/dispatch.py              # prints a plan, writes tours.geojson

Cars have room for crates and working hours, orders a time window each; what cannot be taken is
listed with the reason. Needs `pip install mapyard`, and a server in MAPYARD_SERVER with a key in
MAPYARD_KEY, or a data folder of your own in MAPYARD_DATA.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from pathlib import Path
from typing import Any

import mapyard

FOLDER = Path(__file__).parent


def open_map() -> Any:
    """Return a server's map where there is a key, else that of the data folder."""
    if os.environ.get("MAPYARD_KEY"):
        server = os.environ.get("MAPYARD_SERVER", "http://localhost:4000")
        return mapyard.connect(server, key=os.environ["MAPYARD_KEY"])
    return mapyard.open(os.environ.get("MAPYARD_DATA", "data"))


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def seconds(clock: str) -> int:
    """Return 09:30 as seconds of the day."""
    hours, _, minutes = clock.partition(":")
    return int(hours) * 3600 + int(minutes) * 60


def write_clock(of_day_s: float) -> str:
    """Return seconds of the day as 09:30."""
    return f"{int(of_day_s) // 3600:02}:{int(of_day_s) // 60 % 60:02}"


def mode_of(car: dict[str, str]) -> str:
    """Return how a car of the fleet moves."""
    return "bicycle" if car["car"] == "bike" else "auto"


def plan(source: Any, cars: list[dict[str, str]], orders: list[dict[str, str]]) -> dict[str, Any]:
    """Return VROOM's plan; ids are the rows of the tables."""
    vehicles = [
        {
            "id": index,
            "profile": mode_of(car),
            "start": [float(car["lon"]), float(car["lat"])],
            "end": [float(car["lon"]), float(car["lat"])],
            "capacity": [int(car["crates"])],
            "time_window": [seconds(car["from"]), seconds(car["to"])],
        }
        for index, car in enumerate(cars)
    ]
    jobs = [
        {
            "id": index,
            "location": [float(order["lon"]), float(order["lat"])],
            "delivery": [int(order["crates"])],
            "service": int(order["minutes"]) * 60,
            "time_windows": [[seconds(order["from"]), seconds(order["to"])]],
        }
        for index, order in enumerate(orders)
    ]
    found: dict[str, Any] = source.plan_tours(vehicles, jobs).to_json()
    return found


def print_plan(
    found: dict[str, Any], cars: list[dict[str, str]], orders: list[dict[str, str]]
) -> None:
    """Print each tour as a table, and what nobody takes."""
    for route in found["routes"]:
        km = route["distance"] / 1000
        print(f"{cars[route['vehicle']]['car']}: {km:.1f} km")
        for step in route["steps"]:
            name = f"order {orders[step['id']]['order']}" if step["type"] == "job" else step["type"]
            wait = f", waits {step['waiting_time'] // 60} min" if step.get("waiting_time") else ""
            print(f"  {write_clock(step['arrival'])}  {name}{wait}")
    for task in found["unassigned"]:
        print(f"nobody takes order {orders[task['id']]['order']}: {task['reason']}")


def draw_tour(source: Any, route: dict[str, Any], car: dict[str, str]) -> dict[str, Any]:
    """Return a tour as a line on the roads."""
    first, *middle, last = (tuple(step["location"]) for step in route["steps"])
    drawn = source.route(first, last, waypoints=middle, mode=mode_of(car))
    feature: dict[str, Any] = drawn.to_geojson()
    return {**feature, "properties": {"car": car["car"], "distance_m": route["distance"]}}


def main() -> None:
    """Plan, print, and write the tours as lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cars", type=Path, default=FOLDER / "cars.csv")
    parser.add_argument("--orders", type=Path, default=FOLDER / "orders.csv")
    parser.add_argument("--out", type=Path, default=Path("tours.geojson"))
    options = parser.parse_args()
    cars, orders = read_rows(options.cars), read_rows(options.orders)
    with open_map() as source:
        found = plan(source, cars, orders)
        lines = [draw_tour(source, route, cars[route["vehicle"]]) for route in found["routes"]]
    print_plan(found, cars, orders)
    options.out.write_text(json.dumps({"type": "FeatureCollection", "features": lines}))


if __name__ == "__main__":
    main()
