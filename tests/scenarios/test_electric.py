"""Electric cars on drawn maps: they charge where they must, and only then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.deadline import no_deadline
from mapyard.geo.bbox import Bbox
from mapyard.routing import find_routes, open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.electric import ElectricTrip, ElectricVehicle, Station, find_electric_trip
from mapyard.routing.electric.trips import OutOfRange
from scenarios.ascii_map import Scene, write_scenes

ROAD = {"highway": "residential"}


def make_scenes() -> list[Scene]:
    return [
        Scene(
            "street with stations beside it",
            """
            s---------a---------b---------t
            . . . . . | . . . . |
            . . . . . p . . . . q
            """,
            {"sabt": ROAD, "ap": ROAD, "bq": ROAD},
        ),
        Scene(
            "over a hill or around it",
            """
            s----h----t
            |         |
            c---------d
            """,
            {"sht": ROAD, "scdt": ROAD},
        ),
        Scene(
            "a station on an island",
            """
            s-----------------t
            . . . .
            . . . . p-q
            """,
            {"st": ROAD, "pq": ROAD},
        ),
    ]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    folder: Path = tmp_path_factory.mktemp("electric")
    made = make_scenes()
    write_scenes(made, folder / "map.osm.pbf")
    lons, lats = zip(*(at for scene in made for at in scene.positions.values()), strict=True)
    box = Bbox(min(lons), min(lats), max(lons), max(lats))
    build_graph(folder / "map.osm.pbf", folder / "routing", box, threads=1)
    engine = open_routing(folder / "routing")
    for scene in made:
        scene.engine = engine
    return {scene.name: scene for scene in made}


def station(scene: Scene, letter: str, power_kw: float = 11.0) -> Station:
    lon, lat = scene.positions[letter]
    return Station(lon, lat, "node", ord(letter), letter, None, {"type2": power_kw}, power_kw)


def drive(scene: Scene, stops: str, battery_wh: float, stations: str, **car: float) -> ElectricTrip:
    engine = scene.engine
    assert engine is not None
    powers = {name: car.pop(name) for name in list(car) if name in scene.positions}
    heights = car.pop("heights", None)
    return find_electric_trip(
        engine,
        np.array([scene.positions[letter] for letter in stops]),
        ElectricVehicle(battery_capacity_wh=battery_wh, **car),  # type: ignore[arg-type]
        [station(scene, letter, powers.get(letter, 11.0)) for letter in stations],
        lambda places: find_routes(engine, places, radius_m=50)[0],
        find_heights=heights,  # type: ignore[arg-type]
        deadline=no_deadline(),
    )


def names(trip: ElectricTrip) -> str:
    return "".join(stop.station.name or "" for stop in trip.stops)


def test_enough_charge_needs_no_stop(scenes: dict[str, Scene]) -> None:
    trip = drive(scenes["street with stations beside it"], "st", 50_000, "pq")
    assert names(trip) == ""
    assert trip.charging_s == 0
    assert trip.profile[0].tolist() == [0, 0.8]
    used = trip.energy_wh / 50_000
    assert trip.profile[-1].tolist() == pytest.approx([1, 0.8 - used], abs=1e-3)


def test_a_low_battery_stops_once_on_the_way(scenes: dict[str, Scene]) -> None:
    scene = scenes["street with stations beside it"]
    use_wh = drive(scene, "st", 50_000, "").energy_wh
    # 70 % of the battery are less than the way.
    trip = drive(scene, "st", use_wh, "pq")
    assert len(trip.stops) == 1
    (stop,) = trip.stops
    assert stop.departure_charge > stop.arrival_charge >= 0.1
    assert trip.profile[:, 1].min() >= 0.1
    assert (np.diff(trip.profile[:, 0]) >= 0).all()
    assert trip.profile[-1, 1] == pytest.approx(0.1, abs=0.05)  # no more than needed
    assert stop.duration_s > 300
    assert len(trip.route.legs) == 2
    # Both sides of the balance: what was in, and charged, and used, and is left.
    left = 0.8 + (stop.departure_charge - stop.arrival_charge) - trip.energy_wh / use_wh
    assert left == pytest.approx(trip.profile[-1, 1], abs=0.01)


def test_the_stronger_station_wins_when_both_will_do(scenes: dict[str, Scene]) -> None:
    scene = scenes["street with stations beside it"]
    use_wh = drive(scene, "st", 50_000, "").energy_wh
    assert names(drive(scene, "st", use_wh * 1.1, "pq", p=0.3, q=50.0)) == "q"
    assert names(drive(scene, "st", use_wh * 1.1, "pq", p=50.0, q=0.3)) == "p"


def test_a_small_battery_stops_at_both(scenes: dict[str, Scene]) -> None:
    scene = scenes["street with stations beside it"]
    use_wh = drive(scene, "st", 50_000, "").energy_wh
    assert names(drive(scene, "st", use_wh * 0.65, "pq")) == "pq"


def test_without_a_station_in_reach_there_is_no_way(scenes: dict[str, Scene]) -> None:
    scene = scenes["street with stations beside it"]
    use_wh = drive(scene, "st", 50_000, "").energy_wh
    with pytest.raises(OutOfRange, match="no charging station near"):
        drive(scene, "st", use_wh, "")
    with pytest.raises(OutOfRange, match="none of 1 charging stations"):
        drive(scene, "st", use_wh * 0.4, "q")


def test_waypoints_are_kept_in_order(scenes: dict[str, Scene]) -> None:
    scene = scenes["street with stations beside it"]
    use_wh = drive(scene, "sbat", 50_000, "").energy_wh
    trip = drive(scene, "sbat", use_wh, "pq")
    assert len(trip.stops) >= 1
    passed = scene.letters(trip.route)
    order = [letter for letter in passed if letter in "sbat"]
    at = [order.index("s"), order.index("b")]
    assert at == sorted(at)
    assert "ba" in "".join(order)
    assert order[-1] == "t"


def test_an_unreachable_station_is_not_stopped_at(scenes: dict[str, Scene]) -> None:
    scene = scenes["a station on an island"]
    use_wh = drive(scene, "st", 50_000, "").energy_wh
    with pytest.raises(OutOfRange):
        drive(scene, "st", use_wh, "p")


def test_a_hill_costs_energy(scenes: dict[str, Scene]) -> None:
    scene = scenes["over a hill or around it"]
    middle = scene.positions["h"][0]

    def hill(positions: np.ndarray) -> np.ndarray:
        return 500 - np.abs(positions[:, 0] - middle) * 1e4  # some 70 m up and down again

    flat = drive(scene, "st", 50_000, "")
    steep = drive(scene, "st", 50_000, "", heights=hill)  # type: ignore[arg-type]
    assert steep.has_slopes
    assert not flat.has_slopes
    assert steep.energy_wh > flat.energy_wh + 20
    least = steep.profile[:, 1].min()
    assert least < steep.profile[-1, 1]  # downhill it gains again
