"""Glyphs for maps: 256 code points of a font as signed distance fields in a PBF.

Rendered with FreeType from the Noto fonts in fonts/ (SIL Open Font License; made by
scripts/make_fonts.py), at 24 px with a border of 3 px: an edge is at 192 of 255, a pixel of
distance is 32. Once rendered, a range lies in the cache. Han, kana and hangul are left to the
client, which draws them with its own fonts.
"""

from __future__ import annotations

import contextlib
import os
import tarfile
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import freetype
import numpy as np

from mapyard.tiles.mvt import varint

_FONTS: Final = Path(__file__).parent / "fonts"
#: A font with Latin, Greek and Cyrillic letters.
FONT_FILE: Final = _FONTS / "NotoSans-Regular.ttf"
#: Scripts with a bold font, and those whose regular one is drawn bolder.
_WITH_BOLD: Final = ("Thaana", "Arabic", "Hebrew", "Armenian", "Georgian", "Thai")
_REGULAR: Final = (
    "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada",
    "Malayalam", "Sinhala", "Lao", "Tibetan", "Myanmar", "Ethiopic", "Khmer", "Tifinagh",
)  # fmt: skip


class Typeface(NamedTuple):
    """A font file, and whether its letters are drawn bolder than they are."""

    file: str
    is_bolder: bool = False


def _stack(style: str) -> tuple[Typeface, ...]:
    of_scripts = "Bold" if style == "Bold" else "Regular"
    return (
        Typeface(f"NotoSans-{style}.ttf"),
        *(Typeface(f"NotoSans{script}-{of_scripts}.ttf") for script in _WITH_BOLD),
        *(Typeface(f"NotoSans{script}-Regular.ttf", style == "Bold") for script in _REGULAR),
    )


#: Name of a font in styles → faces; of a code point's glyphs the first that has it counts.
FONT_STACKS: Final = {
    f"Noto Sans {style}": _stack(style) for style in ("Regular", "Bold", "Italic")
}

#: Families that styles of others name (VersaTiles, MapLibre's demo tiles, OpenMapTiles): drawn in
#: Noto Sans, for else such a style would show no text at all.
_FAMILIES: Final = (
    "arial", "barlow", "fira sans", "frutiger", "klokantech", "lato", "libre baskerville",
    "merriweather", "metropolis", "montserrat", "noto sans", "nunito", "open sans", "pt sans",
    "roboto", "source sans", "ubuntu",
)  # fmt: skip
_HEAVY: Final = ("bold", "black", "heavy", "medium")

_SIZE_PX: Final = 24
_BORDER_PX: Final = 3
_SPREAD_PX: Final = 8
_RENDER_SDF: Final = 5  # FT_RENDER_MODE_SDF
#: Fields go with the version of this module in the cache.
_VERSION: Final = "2"
#: How much wider the lines of a bolder letter are, px.
_BOLDER_PX: Final = 1


def find_font(stack: str) -> str | None:
    """Return the font in FONT_STACKS that stands for the first known name of a stack, or None.

    >>> find_font("noto_sans_bold,Unknown"), find_font("Open Sans Semibold"), find_font("Wingdings")
    ('Noto Sans Bold', 'Noto Sans Bold', None)
    """
    names = [name.strip() for name in stack.split(",")]
    for name in names:
        if name in FONT_STACKS:
            return name
    for name in names:
        plain = name.lower().replace("_", " ").replace("-", " ")
        if plain.startswith(_FAMILIES):
            if "italic" in plain or "oblique" in plain:
                return "Noto Sans Italic"
            is_heavy = any(word in plain for word in _HEAVY)
            return "Noto Sans Bold" if is_heavy else "Noto Sans Regular"
    return None


class GlyphSource:
    """Gives ranges of glyphs, from memory, from the cache folder, or rendered."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._ready: dict[tuple[str, int], bytes] = {}
        self._lock = threading.Lock()

    def find_ready(self, name: str, start: int) -> bytes | None:
        """Return a range that was asked for before by this process, or None."""
        return self._ready.get((name, start))

    def get(self, name: str, start: int) -> bytes:
        """Return the PBF of the code points [start, start + 256) of a font in FONT_STACKS."""
        with self._lock:
            ready = self._ready.get((name, start))
            if ready is not None:
                return ready
            path = self._cache / _VERSION / name / f"{start}.pbf" if self._cache else None
            data = b""
            if path is not None:
                with contextlib.suppress(OSError):
                    data = path.read_bytes()
            if not data:
                data = render_range(name, start)
                if path is not None:
                    _write(path, data)
            self._ready[name, start] = data
            return data


def render_range(name: str, start: int) -> bytes:
    """Return the PBF of 256 code points; code points without a glyph are left out."""
    faces = [(_open_face(typeface.file), typeface.is_bolder) for typeface in FONT_STACKS[name]]
    first = faces[0][0]
    ascender_px = round(first.ascender * _SIZE_PX / first.units_per_EM)
    glyphs = b""
    for code in range(start, start + 256):
        for face, is_bolder in faces:
            if face.get_char_index(code):
                glyphs += _field(3, _render_glyph(face, code, ascender_px, is_bolder))
                break
    stack = _field(1, name.encode()) + _field(2, f"{start}-{start + 255}".encode()) + glyphs
    return _field(1, stack)


@lru_cache(maxsize=1)
def _read_fonts() -> dict[str, bytes]:
    fonts = {FONT_FILE.name: FONT_FILE.read_bytes()}
    with tarfile.open(_FONTS / "fonts.tar.xz") as archive:
        for entry in archive:
            file = archive.extractfile(entry)
            assert file is not None
            fonts[entry.name] = file.read()
    return fonts


def _open_face(file: str) -> Any:
    face = freetype.Face.from_bytes(_read_fonts()[file])
    face.set_pixel_sizes(0, _SIZE_PX)
    return face


def _render_glyph(face: Any, code: int, ascender_px: int, is_bolder: bool) -> bytes:
    """Return a glyph message: id, bitmap, width, height, left, top, advance."""
    face.load_char(code, freetype.FT_LOAD_NO_HINTING)
    slot = face.glyph
    advance = round(slot.advance.x / 64)
    if is_bolder and slot.outline.n_points:
        outline = freetype.byref(slot.outline._FT_Outline)
        freetype.FT_Outline_Embolden(outline, _BOLDER_PX * 64)
        freetype.FT_Outline_Translate(outline, -_BOLDER_PX * 32, -_BOLDER_PX * 32)
        advance += _BOLDER_PX if advance else 0
    message = b"\x08" + varint(code)
    if not slot.outline.n_points:
        return message + b"\x18\x00\x20\x00\x28\x00\x30\x00\x38" + varint(advance)
    freetype.FT_Render_Glyph(slot._FT_GlyphSlot, _RENDER_SDF)
    bitmap = slot.bitmap
    field = np.array(bitmap.buffer, np.float32).reshape(bitmap.rows, bitmap.pitch)
    field = field[:, : bitmap.width]
    # FreeType: 128 at the edge, 16 a pixel, _SPREAD_PX around; the map's own: 192, 32, _BORDER_PX.
    cut = _SPREAD_PX - _BORDER_PX
    field = field[cut:-cut, cut:-cut]
    field = np.clip(np.rint(191.25 + (field - 128) * (31.875 / 16)), 0, 255).astype(np.uint8)
    height, width = field.shape
    left = slot.bitmap_left + _SPREAD_PX
    top = slot.bitmap_top - _SPREAD_PX - ascender_px
    return (
        message
        + _field(2, field.tobytes())
        + b"\x18" + varint(width - 2 * _BORDER_PX)
        + b"\x20" + varint(height - 2 * _BORDER_PX)
        + b"\x28" + _zigzag(left)
        + b"\x30" + _zigzag(top)
        + b"\x38" + varint(advance)
    )  # fmt: skip


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def _zigzag(value: int) -> bytes:
    return varint(2 * value if value >= 0 else -2 * value - 1)


def _write(path: Path, data: bytes) -> None:
    """Keep a range for other processes; without a place for it, it is rendered again."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(path)
