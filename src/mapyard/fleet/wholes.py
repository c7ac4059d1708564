"""Extracts beside the regions: of the whole map, and of the roads of larger regions.

A street has one name, one town and one list of houses, wherever borders of regions run; how much a
word of a query counts, and which of all places fits best, only the whole map knows. So `places`
holds, of the whole map, the elements that can be an answer of the geocoder, whole, and is a dataset
of its own; `overview` those that tiles below zoom 14 show. Neither has the bulk of a map: buildings
without an address or name, nodes and ways that are of no kind that people ask for.

Roads cross borders. So they may have regions of their own, larger ones (`ROADS`): with all that the
part `routing` is built of, and what its answers read of the store, but nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.geocoding.words.categories import indexed_tags
from mapyard.library.ways import HEIGHT_TAGS
from mapyard.osm.pbf import Block
from mapyard.routing.tagging.areas import AREA_KEYS
from mapyard.routing.tagging.around import OBSTACLES
from mapyard.routing.tagging.ways import ROAD_KEYS
from mapyard.text.names import parse_name_key
from mapyard.tiles.mercator import MAX_ZOOM
from mapyard.tiles.schema import LAYERS

PLACES: Final = "places"
OVERVIEW: Final = "overview"
#: The last zoom whose tiles come from `overview`.
OVERVIEW_ZOOM: Final = MAX_ZOOM - 1


class Whole(NamedTuple):
    """A choice of elements by their tags, of the whole map or of an area."""

    name: str
    #: The parts that are built of it.
    parts: tuple[str, ...]
    #: Keys that choose an element, with the values that do; none: any value.
    tags: Mapping[str, frozenset[str]]
    #: Whether keys of names choose it, too.
    names: bool = False


def _group(tags: list[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Return keys and their values; a key with the value "" has all."""
    found: dict[str, set[str]] = {}
    for key, value in tags:
        found.setdefault(key, set()).add(value)
    return {key: frozenset() if "" in values else frozenset(values)
            for key, values in found.items()}  # fmt: skip


def _tags_of_places() -> dict[str, frozenset[str]]:
    """Return the tags that make places, addresses and points of interest, named or not."""
    keys = (
        "place", "addr:housenumber", "addr:conscriptionnumber", "addr:housename",
        "addr:interpolation", "brand",
    )  # fmt: skip
    tags = [(key, "") for key in keys]
    tags += [("boundary", "administrative"), ("boundary", "postal_code")]
    tags += HEIGHT_TAGS  # of elevation, where rasters have voids
    for tag in indexed_tags():
        key, _, value = tag.partition("=")
        tags.append((key, value))
    return _group(tags)


def _tags_of_overview() -> dict[str, frozenset[str]]:
    """Return the tags that show something at low zooms: a rule's, coastlines, boundaries."""
    tags = [("natural", "coastline"), ("boundary", "administrative"), ("boundary", "disputed")]
    for layer in LAYERS:
        for rule in layer.rules:
            if rule.minzoom <= OVERVIEW_ZOOM:
                # One of its keys is enough to choose by: it asks for all of them.
                key, values = next(iter(rule.tags.items()))
                tags += [(key, value) for value in values or ("",)]
    return _group(tags)


WHOLES: Final = (
    Whole(PLACES, ("text",), _tags_of_places(), names=True),
    Whole(OVERVIEW, ("tiles",), _tags_of_overview()),
)


def _tags_of_roads() -> dict[str, frozenset[str]]:
    """Return the tags of roads, areas that people walk over, turns and borders."""
    tags = [(key, "") for key in (*ROAD_KEYS, *AREA_KEYS)]
    tags += [("leisure", "park"), ("leisure", "common"), ("boundary", "administrative")]
    tags += [("type", kind) for kind in ("restriction", "connectivity")]
    return _group(tags)


#: What roads are made of, and what people do not walk over: that counts near parks.
ROADS: Final = Whole("roads", ("routing",), _tags_of_roads())
PARKS: Final = Whole("parks", (), {"leisure": frozenset(("park", "common"))})
IN_PARKS: Final = Whole(
    "in-parks", (), {key: values or frozenset() for key, values in OBSTACLES.items()}
)


def choose(block: Block, whole: Whole) -> NDArray[np.bool_]:
    """Return which elements of a block are chosen by their own tags."""
    found = np.zeros(len(block.ids), np.bool_)
    keys = np.unique(block.tag_keys)
    anyway: list[int] = []
    pairs: list[int] = []
    values_of: dict[bytes, int] = {}
    for at in keys.tolist():
        key = block.strings[at].decode("utf-8", "replace")
        values = whole.tags.get(key)
        if (values is not None and not values) or (whole.names and parse_name_key(key)):
            anyway.append(at)
        elif values:
            values_of = values_of or {text: i for i, text in enumerate(block.strings)}
            pairs += [
                at << 32 | values_of[value.encode()] for value in values
                if value.encode() in values_of
            ]  # fmt: skip
    is_chosen = np.isin(block.tag_keys, anyway)
    if pairs:
        joined = block.tag_keys.astype(np.int64) << 32 | block.tag_values
        is_chosen |= np.isin(joined, pairs)
    element_of = np.repeat(np.arange(len(block.ids)), np.diff(block.tag_offsets))
    found[element_of[is_chosen]] = True
    return found
