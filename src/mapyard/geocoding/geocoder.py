"""The geocoder as a library: text, structured address or position in, GeoJSON features out.

>>> geocoder = open_geocoder(dataset_folder / "text", store)
>>> geocoder.forward("Landstrasse 5, Schaan")[0]["properties"]["display_name"]
'Landstrasse 5, 9494 Schaan, Liechtenstein'
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import shapely.geometry

from mapyard.geocoding.answer.answers import Result, Writer
from mapyard.geocoding.order import crossings, forward, reverse, structured
from mapyard.geocoding.order.autocomplete import complete
from mapyard.geocoding.order.ranking import Focus
from mapyard.geocoding.order.structured import Address
from mapyard.geocoding.read.coordinates import Coordinates, find_coordinates
from mapyard.geocoding.read.plus_codes import decode_plus_code, find_plus_code
from mapyard.geocoding.search.gazetteer import Gazetteer, open_gazetteer
from mapyard.geocoding.search.matching import NO_FILTERS, Filters, Keep
from mapyard.store.reader import Store

Feature = dict[str, Any]
#: What is at coordinates that were typed is looked for within this distance.
TYPED_RADIUS_M: Final = 1_000.0
#: Focus of coordinates behind a name: "starbucks 48.2,16.36".
TYPED_HALF_M: Final = 500.0


class Output(NamedTuple):
    """What is written of results."""

    #: Elements ("way/5") that are left out.
    exclude: frozenset[str] = frozenset()
    #: Whether geometries are those of the elements, instead of points.
    full_geometry: bool = False
    #: Whether the areas around are listed.
    areas: bool = False


POINTS: Final = Output()
#: Stands for the tags of results that show none.
_HAS_STREET: Final = {"addr:street": ""}


class Geocoder:
    """All four ways to ask; may be used by several threads."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self.gazetteer = gazetteer
        self._writer = Writer(gazetteer)

    def forward(
        self,
        text: str,
        limit: int = 20,
        *,
        filters: Filters = NO_FILTERS,
        focus: Focus | None = None,
        langs: tuple[str, ...] = (),
        output: Output = POINTS,
    ) -> list[Feature]:
        """Return features for a free text, best first."""
        typed = self._find_position(text, focus)
        if typed is not None and not typed.rest:
            return self._around(typed, limit, langs)
        if typed is not None:
            text, focus = typed.rest, Focus(typed.lon, typed.lat, TYPED_HALF_M)
        results = crossings.find(self.gazetteer, text, 2 * limit + 8, filters=filters, focus=focus)
        return self._write(results, limit, langs, output)

    def structured(
        self,
        address: Address,
        limit: int = 20,
        *,
        filters: Filters = NO_FILTERS,
        focus: Focus | None = None,
        langs: tuple[str, ...] = (),
        output: Output = POINTS,
    ) -> list[Feature]:
        """Return features for an address in fields: a street is looked for as a street only.

        Where the street is not found in the town, the town is, and `match` says so.
        """
        count = 2 * limit + len(output.exclude)
        results = structured.find(self.gazetteer, address, count, filters, focus)
        return self._write(results, limit, langs, output)

    def autocomplete(
        self,
        text: str,
        limit: int = 10,
        *,
        filters: Filters = NO_FILTERS,
        focus: Focus | None = None,
        langs: tuple[str, ...] = (),
        output: Output = POINTS,
    ) -> list[Feature]:
        """Return features for a text that may still be unfinished."""
        typed = self._find_position(text, focus)
        if typed is not None and not typed.rest:
            return self._around(typed, limit, langs)
        if typed is not None:
            text, focus = typed.rest, Focus(typed.lon, typed.lat, TYPED_HALF_M)
        count = limit + 8 + len(output.exclude)
        results = complete(self.gazetteer, text, count, filters=filters, focus=focus)
        return self._write(results, limit, langs, output)

    def reverse(
        self,
        lon: float,
        lat: float,
        radius_m: float = 200.0,
        limit: int = 1,
        *,
        layer: reverse.Layer | tuple[reverse.Layer, ...] = "",
        keep: Keep | None = None,
        zoom: int | None = None,
        langs: tuple[str, ...] = (),
        output: Output = POINTS,
    ) -> list[Feature]:
        """Return features at a position."""
        count = limit + len(output.exclude)
        layers = (layer,) if isinstance(layer, str) else layer
        results = reverse.find_in_layers(
            self.gazetteer, lon, lat, radius_m, count, layers, keep, zoom
        )
        found = [self._writer.write(result, langs, areas=output.areas) for result in results]
        return self._finish(found, limit, output)

    def _finish(self, features: Iterable[Feature], limit: int, output: Output) -> list[Feature]:
        """Leave out what is not wanted, and put in geometries."""
        found = [f for f in features if f.get("id") not in output.exclude][:limit]
        if output.full_geometry:
            for feature in found:
                row = self.gazetteer.find_row(str(feature.get("id", "")))
                shape = self.gazetteer.store.geometries(np.array([row]))[0] if row >= 0 else None
                if shape is not None:
                    lon, lat = feature["geometry"]["coordinates"]
                    feature["properties"] |= {"lon": lon, "lat": lat}
                    feature["geometry"] = shapely.geometry.mapping(shape)
        return found

    def _around(self, typed: Coordinates, limit: int, langs: tuple[str, ...]) -> list[Feature]:
        return self.reverse(typed.lon, typed.lat, TYPED_RADIUS_M, min(limit, 20), langs=langs)

    def _find_position(self, text: str, focus: Focus | None) -> Coordinates | None:
        """Return the position that a text consists of or holds: coordinates or a plus code."""
        typed = find_coordinates(text, self.gazetteer.holds)
        if typed is not None:
            return typed
        code = find_plus_code(text)
        if code is None:
            return None
        reference = (focus.lon, focus.lat) if focus else None
        if code.is_short and code.rest:
            around = forward.find(self.gazetteer, code.rest, 1)
            if around:
                reference = self.gazetteer.position(around[0].document)
        return decode_plus_code(code.code, reference)

    def _write(
        self, results: Iterable[Result], limit: int, langs: tuple[str, ...], output: Output
    ) -> list[Feature]:
        """Return features without repetitions: one per name, kind and neighborhood."""
        features: dict[tuple[Any, ...], Feature] = {}
        for result in results:
            feature = self._writer.write(result, langs, areas=output.areas)
            properties = feature["properties"]
            lon, lat = feature["geometry"]["coordinates"]
            place = (round(lon, 1), round(lat, 1))
            kind = properties.get("category")
            if kind == "place":  # a village and a hamlet of one name are two
                kind = properties.get("subcategory")
            key = (*_identity(properties), kind, place)
            if feature.get("id") in output.exclude:
                continue
            if features.setdefault(key, feature) is feature and len(features) >= limit:
                break
        return self._finish(features.values(), limit, output)


def _identity(properties: dict[str, Any]) -> tuple[Any, ...]:
    """Return what two results have in common that are one thing for who reads them.

    Both platforms of a stop are one, whatever streets they stand nearest to.
    """
    if "house_number" in properties or "addr:street" in properties.get("tags", _HAS_STREET):
        return (properties["display_name"],)
    return tuple(map(properties.get, ("name", "suburb", "postcode", "city", "state", "country")))


def open_geocoder(folder: Path, store: Store) -> Geocoder:
    """Open the geocoder in `text/` of a dataset; raises FileNotFoundError where it is not built."""
    return Geocoder(open_gazetteer(folder, store))
