"""Every address of small maps of the world is found, in every way that is permitted to write it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

from mapyard.geo.sphere import haversine_m
from mapyard.geocoding.geocoder import Geocoder
from mapyard.store.reader import E7
from mapyard.text.analysis import name_keys

OpenMap = Callable[[str], Geocoder]
#: street, number, city, postcode
Address = tuple[str, str, str, str]
WAYS: dict[str, Callable[[Address], str]] = {
    "street number, postcode city": lambda a: f"{a[0]} {a[1]}, {a[3]} {a[2]}",
    "number street, city": lambda a: f"{a[1]} {a[0]}, {a[2]}",
    "city, street number": lambda a: f"{a[2]}, {a[0]} {a[1]}",
    "lower case, no commas": lambda a: f"{a[0]} {a[1]} {a[3]} {a[2]}".lower(),
    "upper case": lambda a: f"{a[0]} {a[1]}, {a[2]}".upper(),
}


def iter_addresses(geocoder: Geocoder) -> Iterator[tuple[Address, tuple[float, float], str]]:
    """Yield the addresses of a map, the position and the element of each."""
    store = geocoder.gazetteer.store
    rows = store.rows_with_key("addr:housenumber")
    for row, box in zip(rows.tolist(), (store.boxes(rows) / E7).tolist(), strict=True):
        tags = store.tags(row)
        if "addr:street" in tags:
            address = (tags["addr:street"], tags["addr:housenumber"],
                       tags.get("addr:city", ""), tags.get("addr:postcode", ""))  # fmt: skip
            yield address, ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), store.name_of(row)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("where", "least"),
    [
        ("vaduz-cut", 1.0),
        ("baltimore-cut", 1.0),
        ("queens-cut", 1.0),
        ("moscow-2013-11", 0.99),
        ("taipei-2024-03", 0.98),
    ],
)
def test_every_address_is_found(open_map: OpenMap, where: str, least: float, way: str) -> None:
    geocoder = open_map(where)
    known = list(iter_addresses(geocoder))
    twins = defaultdict(list)
    for address, position, name in known:
        twins[name_keys(address[0])[-1], address[1]].append((position, name))
    step = max(1, len(known) // 80)
    missed = []
    for address, _, _ in known[::step]:
        found = geocoder.forward(WAYS[way](address), 1)
        lon, lat = found[0]["geometry"]["coordinates"] if found else (0.0, 0.0)
        if not any(
            found and (found[0].get("id") == name or float(haversine_m(lon, lat, *at)) < 50)
            for at, name in twins[name_keys(address[0])[-1], address[1]]
        ):
            missed.append(WAYS[way](address))
    assert len(missed) <= (1 - least) * len(known[::step]), missed
