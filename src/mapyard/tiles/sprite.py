"""The sprite of the styles; scripts/make_sprite.py draws it from Maki icons (CC0) and own ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "sprites"
_FILES: Final = frozenset(
    f"sprite{theme}{ratio}.{ending}"
    for theme in ("", "-dark")
    for ratio in ("", "@2x")
    for ending in ("png", "json")
)


@cache
def read_sprite(name: str) -> bytes | None:
    """Return a file such as sprite@2x.png, None when there is none of this name."""
    return (_FOLDER / name).read_bytes() if name in _FILES else None
