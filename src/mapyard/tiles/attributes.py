"""From the attributes of the schema to columns of values, one entry per feature."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.reader import Store
from mapyard.tiles import schema
from mapyard.tiles.classify import holds
from mapyard.tiles.mvt import encode_value
from mapyard.tiles.schema import Layer
from mapyard.tiles.snap import mercator_areas_m2

Ints = NDArray[np.int64]

#: In a column: the feature does not have the attribute.
ABSENT = -1


class Values:
    """All distinct attribute values as encoded messages; a column holds indexes into them."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self._index: dict[bytes, int] = {}

    def add(self, value: str | bool | int | float) -> int:
        """Return the index of a value."""
        message = encode_value(value)
        index = self._index.setdefault(message, len(self.messages))
        if index == len(self.messages):
            self.messages.append(message)
        return index

    def of_kvs(
        self, store: Store, kvs: Ints, read: Callable[[str], str | int | None] = lambda text: text
    ) -> Ints:
        """Return the indexes of the values of kv ids, −1 for none; `read` reads a text."""
        unique, inverse = np.unique(kvs, return_inverse=True)
        known = unique[unique >= 0]
        made = [ABSENT] * (len(unique) - len(known))
        for text in store.values(known):
            value = read(text)
            made.append(ABSENT if value is None else self.add(value))
        return np.array(made, np.int64)[inverse] if len(made) else np.empty(0, np.int64)

    def of_flags(self, flags: NDArray[np.bool_]) -> Ints:
        """Return the indexes of true and false."""
        return np.where(flags, self.add(True), self.add(False))

    def of_floats(self, values: NDArray[np.float64]) -> Ints:
        """Return the indexes of numbers of 32 bits."""
        unique, inverse = np.unique(values.astype(np.float32), return_inverse=True)
        made = np.array([self.add(float(value)) for value in unique], np.int64)
        return made[inverse] if len(made) else np.empty(0, np.int64)


class Features(NamedTuple):
    """Features of one layer, before their shapes: rows of the store and rules of the layer."""

    store: Store
    values: Values
    layer: Layer
    rows: Ints
    rule: Ints

    def tag(self, key: str) -> Ints:
        """Return the kv id of a key for each feature, or −1."""
        return self.store.tag_values(self.rows, key)

    def has(self, key: str, values: tuple[str, ...] = ()) -> NDArray[np.bool_]:
        """Return which features have one of the values of a key."""
        return holds(self.store, self.tag(key), key, values)

    def text(self, key: str, read: Callable[[str], str | int | None] = lambda text: text) -> Ints:
        """Return the column of a tag."""
        return self.values.of_kvs(self.store, self.tag(key), read)


def attribute_names(layer: Layer, languages: list[str]) -> list[schema.Attribute]:
    """Return the attributes of a layer with those of the configured languages."""
    extra = [schema.Attribute(f"name_{code}", "String") for code in languages if layer.names]
    return [*layer.attributes, *extra]


def make_column(features: Features, name: str) -> Ints:
    """Return the value index of one attribute for each feature, or ABSENT."""
    if name in _MAKERS:
        return _MAKERS[name](features)
    if name in schema.ACCESS_KEYS:
        return _access(features, schema.ACCESS_KEYS[name])
    if name in schema.POI_FLAGS and features.layer.name == "pois":
        key, needed = schema.POI_FLAGS[name]
        flags = features.values.of_flags(features.has(name, ("yes",)))
        return np.where(features.has(key, needed), flags, ABSENT)
    if name in schema.POI_DETAILS:
        key, needed = schema.POI_DETAILS[name]
        return np.where(features.has(key, needed), features.text(name), ABSENT)
    if name in schema.POIS:
        listed = features.has(name, schema.POIS[name])
        return np.where(listed, features.text(name), ABSENT)
    if name.startswith("name_"):
        return features.text(f"name:{name[5:]}")
    return features.text(_KEYS.get(name, name))


_KEYS = {"housename": "addr:housename", "housenumber": "addr:housenumber"}


def _kind(features: Features) -> Ints:
    kinds = [features.values.add(rule.kind) for rule in features.layer.rules]
    return np.array(kinds, np.int64)[features.rule]


def is_tunnel(features: Features) -> NDArray[np.bool_]:
    """Return which features are in a tunnel or covered."""
    return features.has("tunnel", schema.TUNNEL_VALUES) | features.has("covered", ("yes",))


def is_bridge(features: Features) -> NDArray[np.bool_]:
    """Return which features are on a bridge."""
    return features.has("bridge", schema.BRIDGE_VALUES)


def is_rail(features: Features) -> NDArray[np.bool_]:
    """Return which features were taken for their key railway."""
    rails = [("railway" in rule.tags) for rule in features.layer.rules]
    return np.array(rails, np.bool_)[features.rule]


def _link(features: Features) -> Ints:
    links = tuple(
        v for r in schema.STREETS for v in r.tags.get("highway", ()) if v.endswith("_link")
    )
    return features.values.of_flags(features.has("highway", links))


def _oneway(features: Features) -> Ints:
    oneway = features.has("oneway", schema.ONEWAY_VALUES) & ~is_rail(features)
    return features.values.of_flags(oneway)


def _oneway_reverse(features: Features) -> Ints:
    return features.values.of_flags(features.has("oneway", ("-1",)) & ~is_rail(features))


def _access(features: Features, keys: tuple[str, ...]) -> Ints:
    column = np.full(len(features.rows), ABSENT, np.int64)
    for key in reversed(keys):
        found = features.text(key, schema.ACCESS_VALUES.get)
        column = np.where(found >= 0, found, column)
    return np.where(features.has("highway"), column, ABSENT)


def _or_empty(key: str) -> Callable[[Features], Ints]:
    """Return the maker of a column whose default is the empty string."""

    def make(features: Features) -> Ints:
        column = features.text(key)
        return np.where(column >= 0, column, features.values.add(""))

    return make


def _service(features: Features) -> Ints:
    if features.layer.name == "street_polygons":
        return _or_empty("service")(features)
    return features.text("service")


def _ref(features: Features) -> Ints:
    if features.layer.name == "street_labels":
        return features.text("ref", lambda text: "\n".join(_lines_of(text)))
    return features.text("ref")


def _lines_of(ref: str) -> list[str]:
    return [part.strip() for part in ref.split(";") if part.strip()] or [ref]


def read_population(text: str) -> int | None:
    """Return a population such as "12,345" or "~ 900"; None when it is not a number."""
    digits = "".join(c for c in text.split("(")[0] if c.isascii() and c.isdigit())
    is_plain = all(c.isascii() and (c.isdigit() or c in " ,.'~+") for c in text.split("(")[0])
    return int(digits) if digits and is_plain and len(digits) < 11 else None


def populations(features: Features) -> Ints:
    """Return the population of each place, its default where it has none."""
    kvs = features.tag("population")
    unique, inverse = np.unique(kvs, return_inverse=True)
    known = features.store.values(unique[unique >= 0])
    numbers = [-1] * (len(unique) - len(known)) + [
        -1 if (n := read_population(text)) is None else n for text in known
    ]
    own = np.array(numbers, np.int64)[inverse]
    default = np.zeros(len(own), np.int64)
    for place, population in schema.DEFAULT_POPULATION.items():
        default[features.has("place", (place,))] = population
    return np.where(own >= 0, own, default)


def _population(features: Features) -> Ints:
    unique, inverse = np.unique(populations(features), return_inverse=True)
    made = np.array([features.values.add(int(n)) for n in unique], np.int64)
    return made[inverse] if len(made) else np.empty(0, np.int64)


def _way_area(features: Features) -> Ints:
    return features.values.of_floats(mercator_areas_m2(features.store, features.rows))


def _dummy(features: Features) -> Ints:
    return np.full(len(features.rows), features.values.add(1), np.int64)


#: Meters of a level where a building tells only how many it has.
_LEVEL_M = 3
_MOST_HEIGHT_M = 1_000


def _meters(features: Features, key: str, levels_key: str) -> Ints:
    """Return heights in whole meters, out of levels where there is no height."""
    column = features.text(key, read_height)
    levels = features.text(levels_key, _read_levels)
    return np.where(column == ABSENT, levels, column)


def read_height(text: str) -> int | None:
    """Return the meters of a height such as 12, 12.5 m, 40 ft or 40'6"; None for others."""
    found = _HEIGHT.fullmatch(text.strip().replace(",", "."))
    if found is None:
        return None
    number, unit, inches = float(found[1]), (found[2] or "m").lower(), float(found[3] or 0)
    meters = (
        number
        if unit in ("m", "meter", "meters", "metre", "metres")
        else (0.3048 * number + 0.0254 * inches)
    )
    return round(meters) if 0 < meters <= _MOST_HEIGHT_M else None


def _read_levels(text: str) -> int | None:
    found = _NUMBER.fullmatch(text.strip())
    meters = round(float(text) * _LEVEL_M) if found else 0
    return meters if 0 < meters <= _MOST_HEIGHT_M else None


_HEIGHT = re.compile(
    r"([0-9]+(?:\.[0-9]+)?) *(m|met(?:er|re)s?|ft|feet|'(?: *([0-9]+(?:\.[0-9]+)?)\")?)?", re.I
)
_NUMBER = re.compile(r"[0-9]{1,4}(?:\.[0-9]+)?")

_MAKERS: dict[str, Callable[[Features], Ints]] = {
    "kind": _kind,
    "rail": lambda f: f.values.of_flags(is_rail(f) if f.layer.name == "streets" else f.rows < 0),
    "link": _link,
    "tunnel": lambda f: f.values.of_flags(is_tunnel(f)),
    "bridge": lambda f: f.values.of_flags(is_bridge(f)),
    "oneway": _oneway,
    "oneway_reverse": _oneway_reverse,
    "surface": _or_empty("surface"),
    "service": _service,
    "ref": _ref,
    "ref_rows": lambda f: f.text("ref", lambda text: len(_lines_of(text))),
    "ref_cols": lambda f: f.text("ref", lambda text: max(map(len, _lines_of(text)))),
    "population": _population,
    "way_area": _way_area,
    "dummy": _dummy,
    "height": lambda f: _meters(f, "height", "building:levels"),
    "min_height": lambda f: _meters(f, "min_height", "building:min_level"),
}
