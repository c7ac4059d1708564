"""What lies in an area, in numbers: elements by tag, people."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import shapely

from mapyard.features.query import FeatureQuery, collect_rows
from mapyard.features.regions import ShapeRegion
from mapyard.features.tags import parse_tag_filters
from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.library.call import Call
from mapyard.osm.elements import NODE

#: Kinds of places that do not lie in one another: a suburb's people are those of its town.
_SETTLEMENTS: Final = "city|town|village|hamlet|isolated_dwelling|farm"
_DIGITS: Final = re.compile(r"[\d][\d,. ' ]*")


def count_inside(call: Call, area: shapely.Geometry, texts: tuple[str, ...]) -> dict[str, int]:
    """Return, per text of tags, how many elements have a point in common with an area."""
    if area.is_empty:
        return dict.fromkeys(texts, 0)
    region = _make_region(area)
    store = call.store
    counts = {}
    for text in texts:
        filters = parse_tag_filters((), [text], lambda key: store.find_key(key) >= 0, "count")
        rows = collect_rows(store, FeatureQuery(tags=filters, region=region), call.deadline)
        counts[text] = len(rows)
    return counts


def count_people(call: Call, area: shapely.Geometry) -> dict[str, Any]:
    """Return the people of the settlements whose center lies in an area.

    `people` is None where none of the `places` is tagged with a population.
    """
    rows = np.empty(0, np.int64)
    store = call.store
    if not area.is_empty:
        filters = parse_tag_filters([("place", _SETTLEMENTS)], (), lambda key: True, "population")
        query = FeatureQuery((NODE,), filters, _make_region(area))
        rows = collect_rows(store, query, call.deadline)
    read = [read_population(store.tags(row).get("population", "")) for row in rows.tolist()]
    known = [people for people in read if people is not None]
    return {
        "people": sum(known) if known else None,
        "places": len(read),
        "places_with_population": len(known),
    }


def read_population(text: str) -> int | None:
    """Return the number of a tag `population`: 1234, 1,234, 1 234; None for other texts."""
    if not _DIGITS.fullmatch(text.strip()):
        return None
    return int("".join(character for character in text if character.isdecimal()))


def _make_region(area: shapely.Geometry) -> ShapeRegion:
    cut = cut_antimeridian(np.array([area], np.object_))[0]
    return ShapeRegion("intersects", cut)
