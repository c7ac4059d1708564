"""Charging stations of the map: which plugs, how much power, who may use them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from mapyard.geo.bbox import Bbox
from mapyard.osm.elements import TYPE_NAMES
from mapyard.routing.tagging.access import read_access
from mapyard.store.reader import Store

#: The keys socket:… of OSM and other names, by the name of the plug.
_PLUGS: Final = {
    "type2": "type2", "type2_cable": "type2", "mennekes": "type2",
    "type2_combo": "type2_combo", "ccs": "type2_combo", "ccs2": "type2_combo",
    "combo": "type2_combo", "chademo": "chademo", "type1": "type1", "j1772": "type1",
    "type1_combo": "type1_combo", "ccs1": "type1_combo", "tesla_supercharger": "tesla",
    "tesla_supercharger_ccs": "type2_combo", "tesla_destination": "tesla", "tesla": "tesla",
    "nacs": "tesla", "schuko": "schuko", "typee": "schuko", "cee_blue": "schuko",
}  # fmt: skip
CONNECTORS: Final = tuple(dict.fromkeys(_PLUGS.values()))
#: Power of a plug that has no figure, kW: the least that is usual.
_USUAL_KW: Final = {
    "type2": 11.0, "type2_combo": 50.0, "chademo": 50.0, "type1": 3.7, "type1_combo": 50.0,
    "tesla": 50.0, "schuko": 2.3,
}  # fmt: skip
#: Of a station of which only is known that it charges cars.
_UNKNOWN_KW: Final = 11.0
_POWER: Final = re.compile(r"(\d+(?:[.,]\d+)?)\s*(kva|kw|va|w)?", re.IGNORECASE)
#: Below this a bare number is kilowatts; above, watts.
_MOST_KW: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class Station:
    """A place to charge at."""

    lon: float
    lat: float
    osm_type: str
    osm_id: int
    name: str | None
    operator: str | None
    #: kW per plug; empty where the map does not say which plugs there are.
    plugs: dict[str, float]
    power_kw: float  #: of the strongest plug that fits


def find_stations(
    store: Store,
    box: Bbox,
    connectors: Collection[str] = (),
    least_kw: float = 0.0,
) -> list[Station]:
    """Return the stations in a box at which cars with such plugs may charge.

    A station without a word about plugs is taken for one with type 2, 11 kW.
    """
    wanted = frozenset(connectors)
    rows = store.rows_with_tag("amenity", "charging_station")
    if not len(rows):
        return []
    west, south, east, north = (store.boxes(rows).T * 1e-7).tolist()
    found = []
    for row, lon, lat in zip(
        rows.tolist(),
        ((np.array(west) + np.array(east)) / 2).tolist(),
        ((np.array(south) + np.array(north)) / 2).tolist(),
        strict=True,
    ):
        if not (box.west <= lon <= box.east and box.south <= lat <= box.north):
            continue
        tags = store.tags(row)
        plugs = read_plugs(tags)
        power_kw = find_power_kw(tags, plugs, wanted)
        if power_kw is None or power_kw < least_kw or not is_for_cars(tags):
            continue
        kind = TYPE_NAMES[int(store.types(np.array([row]))[0])]
        found.append(
            Station(
                lon=lon,
                lat=lat,
                osm_type=kind,
                osm_id=int(store.ids[row]),
                name=tags.get("name"),
                operator=tags.get("operator") or tags.get("network"),
                plugs=plugs,
                power_kw=power_kw,
            )
        )
    return found


def read_connectors(names: Collection[str]) -> frozenset[str] | None:
    """Return the plugs of names in any of their spellings; None where one is unknown."""
    plugs = [_PLUGS.get(name.strip().lower().replace("-", "_")) for name in names]
    if None in plugs:
        return None
    return frozenset(plug for plug in plugs if plug is not None)


def is_for_cars(tags: dict[str, str]) -> bool:
    """Return whether any car may charge here: not only bicycles, customers of nobody, or trucks."""
    state, key = read_access(tags, "motorcar")
    if state == "closed" or tags.get("access") in ("private", "residents", "employees"):
        return False
    if state is None or key == "access":
        # A station that names bicycles or trucks alone is for them alone.
        others = [name for name in ("bicycle", "hgv", "scooter") if tags.get(name) == "yes"]
        return not others or tags.get("motorcar") == "yes" or bool(read_plugs(tags))
    return True


def read_plugs(tags: dict[str, str]) -> dict[str, float]:
    """Return the kW per plug that tags speak of."""
    plugs: dict[str, float] = {}
    for key, value in tags.items():
        parts = key.split(":")
        if len(parts) != 2 or parts[0] != "socket" or value in ("no", "0"):
            continue
        plug = _PLUGS.get(parts[1])
        if plug is None:
            continue
        power_kw = read_power_kw(tags.get(f"{key}:output", "")) or _USUAL_KW[plug]
        plugs[plug] = max(plugs.get(plug, 0.0), power_kw)
    return plugs


def find_power_kw(
    tags: dict[str, str], plugs: dict[str, float], wanted: Collection[str]
) -> float | None:
    """Return the kW of the strongest plug that fits; None where none does."""
    station_kw = read_power_kw(
        tags.get("charging_station:output") or tags.get("maxpower") or tags.get("output") or ""
    )
    if not plugs:
        fits = not wanted or "type2" in wanted
        return (station_kw or _UNKNOWN_KW) if fits else None
    fitting = [power_kw for plug, power_kw in plugs.items() if not wanted or plug in wanted]
    return max(fitting, default=None)


def read_power_kw(text: str) -> float | None:
    """Return the most of a text such as "22 kW", "11;22 kW", "50000"; None where there is none."""
    found = []
    for number, unit in _POWER.findall(text):
        value = float(number.replace(",", "."))
        small = unit.lower() in ("w", "va") or (not unit and value > _MOST_KW)
        found.append(value / 1_000.0 if small else value)
    return max(found, default=None) or None
