"""Importance of things, 0–1, from one extract alone.

What people look for: countries and cities before villages, villages before streets, streets before
shops. Inside a class: population, capital, wikidata and wikipedia links, the number of languages a
name is known in.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Container
from math import log2, log10
from pathlib import Path
from typing import IO, Final

from mapyard.errors import InvalidRequest

#: place=* → importance of one without further marks.
PLACES: Final[dict[str, float]] = {
    "country": 0.80, "state": 0.68, "archipelago": 0.55, "region": 0.55, "province": 0.62,
    "atoll": 0.5, "county": 0.55, "district": 0.5, "municipality": 0.5, "city": 0.62, "town": 0.55,
    "village": 0.48, "island": 0.45, "borough": 0.45, "suburb": 0.42, "quarter": 0.38,
    "hamlet": 0.38, "neighbourhood": 0.34, "locality": 0.26, "islet": 0.24, "farm": 0.24,
    "isolated_dwelling": 0.26, "square": 0.30,
}  # fmt: skip
#: Importance of an area with only an administrative level, by level.
LEVELS: Final[dict[int, float]] = {
    2: 0.80, 3: 0.66, 4: 0.66, 5: 0.56, 6: 0.55, 7: 0.5, 8: 0.5, 9: 0.4, 10: 0.36, 11: 0.34,
}  # fmt: skip
#: Tags of points of interest that are looked for more, or less, than the others.
POIS: Final[dict[str, float]] = {
    "aeroway=aerodrome": 0.42, "railway=station": 0.40, "railway=halt": 0.34,
    "amenity=university": 0.34, "amenity=hospital": 0.34, "tourism=museum": 0.32,
    "tourism=attraction": 0.32, "historic=castle": 0.32, "leisure=stadium": 0.32,
    "amenity=townhall": 0.30, "natural=peak": 0.32, "tourism=hotel": 0.26, "amenity=theatre": 0.28,
    "leisure=park": 0.26, "waterway=river": 0.34, "waterway=stream": 0.2, "natural=water": 0.26,
    "amenity=casino": 0.28, "leisure=marina": 0.28, "amenity=bus_station": 0.28,
    "tourism=viewpoint": 0.2, "tourism=information": 0.1, "highway=bus_stop": 0.16,
    "public_transport=platform": 0.14, "public_transport=stop_position": 0.12,
    "public_transport=stop_area": 0.13, "aeroway=helipad": 0.12, "amenity=bench": 0.05,
    "amenity=post_box": 0.08, "amenity=waste_basket": 0.05, "amenity=vending_machine": 0.06,
    "amenity=parking": 0.16, "amenity=bicycle_parking": 0.1, "leisure=pitch": 0.14,
    "natural=tree": 0.08, "barrier=gate": 0.05, "amenity=recycling": 0.1,
}  # fmt: skip
STREET: Final = 0.28
POI: Final = 0.2
UNNAMED: Final = 0.06


def rate(tags: dict[str, str], base: float) -> float:
    """Return the importance of an element with these tags in a class of this base."""
    value = base
    if "wikidata" in tags:
        value += 0.03
    keys = "\0".join(("", *tags))  # one search through all keys, which have no such sign
    if "\0wikipedia" in keys:
        value += 0.03
    langs = keys.count("\0name:")
    value += min(0.07, 0.012 * log2(1 + langs))
    population = read_population(tags)
    if population:
        value += min(0.12, 0.017 * log10(population))
    if tags.get("capital") in ("yes", "2"):
        value += 0.06
    elif tags.get("capital") in ("4", "6"):
        value += 0.03
    return min(value, 0.99)


def rate_place(tags: dict[str, str], place: str, admin_level: int) -> float:
    """Return the importance of a place."""
    return rate(tags, PLACES.get(place, LEVELS.get(admin_level, 0.3)))


def rate_poi(tags: dict[str, str], category: tuple[str, str], *, has_name: bool) -> float:
    """Return the importance of a point of interest."""
    base = POIS.get(f"{category[0]}={category[1]}", POI)
    if category[0] == "route":
        base = 0.1
    elif category[0] in ("building", "barrier", "bridge"):
        base = 0.15
    return rate(tags, base if has_name else min(base, UNNAMED))


def read_population(tags: dict[str, str]) -> int:
    """Return the population, 0 when unknown or unreadable."""
    if "population" not in tags:
        return 0
    digits = tags["population"].replace(" ", "").replace(",", "").replace("'", "")
    return int(digits) if digits.isdigit() and len(digits) < 12 else 0


def read_importance_file(path: Path, wanted: Container[str]) -> dict[str, float]:
    """Return wikidata id → importance of the wanted ids.

    The file is CSV or tab-separated, plain or .gz, with a header line that names the columns
    wikidata (or wikidata_id) and importance (0–1), such as Nominatim's wikimedia-importance.csv.gz.
    """
    try:
        with _open_text(path) as file:
            header = file.readline()
            delimiter = max("\t,;", key=header.count)
            names = [name.strip().lower() for name in header.split(delimiter)]
            key = "wikidata" if "wikidata" in names else "wikidata_id"
            if key not in names or "importance" not in names:
                raise InvalidRequest(
                    f"{path.name}: the first line must name the columns wikidata and importance"
                )
            at, value_at = names.index(key), names.index("importance")
            found: dict[str, float] = {}
            for row in csv.reader(file, delimiter=delimiter):
                if len(row) == len(names) and row[at] in wanted:
                    value = min(1.0, max(0.0, float(row[value_at])))
                    found[row[at]] = max(value, found.get(row[at], 0.0))
            return found
    except (OSError, ValueError, csv.Error) as error:
        raise InvalidRequest(
            f"{path.name}: cannot be read as an importance file: {error}"
        ) from None


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")
