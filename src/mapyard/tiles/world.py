"""The land of the world for low zooms: Natural Earth, by scripts/make_world.py."""

from __future__ import annotations

import lzma
from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def read_world() -> bytes:
    """Return one GeoJSON feature, a MultiPolygon in hundredths of a degree."""
    packed = resources.files("mapyard.tiles").joinpath("data/world.json.xz").read_bytes()
    return lzma.decompress(packed)
