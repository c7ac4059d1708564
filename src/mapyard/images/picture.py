"""What a child process needs to know to draw one picture."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Format = Literal["png", "jpg", "webp", "pdf"]
MEDIA_TYPES: Final[dict[str, str]] = {
    "png": "image/png", "jpg": "image/jpeg", "webp": "image/webp", "pdf": "application/pdf",
}  # fmt: skip


class Picture(msgspec.Struct, frozen=True):
    """A view of a map; `width` and `height` are in CSS pixels, `scale` pixels make one of them."""

    style: bytes
    width: int
    height: int
    scale: int
    lon: float
    lat: float
    zoom: float
    bearing: float
    pitch: float
    format: Format
    #: Colors of the pins that the style names as pin-COLOR.
    pins: list[str]
    #: Written into the lower right corner, in this font.
    attribution: str
    font: str
    #: CSS pixels to cut off on each side: labels of tiles reach into their neighbors.
    margin: int = 0
