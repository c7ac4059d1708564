"""What the engine's tiles tell of single edges, read where it lies.

The tiles are mapped for the engine anyway, so nothing of this is copied into arrays of our own.
`tiles.py` reads the same records for all edges at once.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.tiles import EDGE_FIELDS, EDGE_TEXTS_MASK, EDGE_WORDS, EdgeIds
from mapyard.routing.tagging.pieces import find_way_id

#: A record of a road: its way and figures, the number of its texts, then the texts.
_RECORD: Final = struct.Struct("<III")
_EDGE, _WORD = struct.Struct(f"<{EDGE_WORDS}Q"), struct.Struct("<Q")
#: A text: an offset of 24 bits, and whether it is no name but a value.
_TEXT: Final = struct.Struct("<I")
_OFFSET_BITS, _IS_VALUE = (1 << 24) - 1, 1 << 29
_UNLIMITED: Final = 255

#: The engine's words, by its numbers.
USES: Final = {
    0: "road", 1: "ramp", 2: "turn_channel", 3: "track", 4: "driveway", 5: "alley",
    6: "parking_aisle", 7: "emergency_access", 8: "drive_through", 9: "culdesac",
    10: "living_street", 11: "service_road", 20: "cycleway", 21: "mountain_bike", 24: "sidewalk",
    25: "footway", 26: "steps", 27: "path", 28: "pedestrian", 29: "bridleway", 30: "rest_area",
    31: "service_area", 32: "pedestrian_crossing", 33: "elevator", 34: "escalator",
    35: "platform", 40: "other", 41: "ferry", 42: "rail_ferry", 43: "construction",
}  # fmt: skip
CLASSES: Final = (
    "motorway", "trunk", "primary", "secondary", "tertiary", "unclassified", "residential",
    "service_other",
)  # fmt: skip
SURFACES: Final = (
    "paved_smooth", "paved", "paved_rough", "compacted", "dirt", "gravel", "path", "impassable",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an edge, in the engine's words."""

    edge_id: int
    way_id: int
    names: list[str]
    use: str
    road_class: str
    surface: str
    length_m: int
    maxspeed_kmh: float | Literal["unlimited"] | None
    is_link: bool
    toll: bool
    tunnel: bool
    bridge: bool


class EdgeFacts:
    """Facts of edges by number. Threads may share it."""

    def __init__(self, tiles: mmap.mmap, edge_ids: EdgeIds, places: NDArray[np.int64]) -> None:
        """`places` says per tile where in the tar its edges, records and texts begin."""
        self._tiles, self._edge_ids, self._places = tiles, edge_ids, places

    def read(self, edge: int) -> Facts:
        """Return what is known of an edge."""
        tile, within, edge_at, records_at, texts_at = self._locate(edge)
        words = _EDGE.unpack_from(self._tiles, edge_at)

        def take(name: str) -> int:
            word, low, width = EDGE_FIELDS[name]
            return words[word] >> low & (1 << width) - 1

        record_at = records_at + (words[1] & EDGE_TEXTS_MASK)
        way, figures, _ = _RECORD.unpack_from(self._tiles, record_at)
        limit = figures >> 16 & 255
        return Facts(
            edge_id=self._edge_ids.make_id(tile, within),
            way_id=find_way_id(way | figures >> 24 << 32),
            names=self._read_names(record_at, texts_at),
            use=USES.get(take("use"), "other"),
            road_class=CLASSES[take("road_class")],
            surface=SURFACES[take("surface")],
            length_m=take("length_m"),
            maxspeed_kmh="unlimited" if limit == _UNLIMITED else limit or None,
            is_link=bool(take("link")),
            toll=bool(take("toll")),
            tunnel=bool(take("tunnel")),
            bridge=bool(take("bridge")),
        )

    def read_name(self, edge: int) -> str | None:
        """Return the first name of an edge's road."""
        _, _, edge_at, records_at, texts_at = self._locate(edge)
        (word,) = _WORD.unpack_from(self._tiles, edge_at + _WORD.size)
        names = self._read_names(records_at + (word & EDGE_TEXTS_MASK), texts_at)
        return names[0] if names else None

    def _locate(self, edge: int) -> tuple[int, int, int, int, int]:
        """Return an edge's tile, its place in it, and where it, records and texts of that lie."""
        tile, within = self._edge_ids.locate(edge)
        edges_at, records_at, texts_at = self._places[tile].tolist()
        return tile, within, edges_at + _EDGE.size * within, records_at, texts_at

    def _read_names(self, record_at: int, texts_at: int) -> list[str]:
        _, _, sizes = _RECORD.unpack_from(self._tiles, record_at)
        first, names = record_at + _RECORD.size, []
        for number in range(sizes & 15):
            (text,) = _TEXT.unpack_from(self._tiles, first + _TEXT.size * number)
            if not text & _IS_VALUE:
                at = texts_at + (text & _OFFSET_BITS)
                name = self._tiles[at : self._tiles.find(b"\0", at)].decode(errors="replace")
                if name:
                    names.append(name)
        return names
