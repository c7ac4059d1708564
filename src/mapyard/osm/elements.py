"""Element types and the one integer key of an element.

`eid = osm_id * 4 + type` orders elements by (osm_id, type): the order of every feature list.
"""

from __future__ import annotations

from typing import Final

NODE: Final = 0
WAY: Final = 1
RELATION: Final = 2
TYPE_NAMES: Final = ("node", "way", "relation")
TYPE_BY_NAME: Final = {"node": NODE, "way": WAY, "relation": RELATION}


def encode_eid(element_type: int, osm_id: int) -> int:
    """Return the key of an element; also works on integer arrays."""
    return osm_id * 4 + element_type


def decode_eid(eid: int) -> tuple[int, int]:
    """Return (type, osm_id) of a key; negative ids included."""
    return eid & 3, eid >> 2
