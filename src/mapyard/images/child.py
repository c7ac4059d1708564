"""The process that draws: MapLibre Native by pymgl, pins and attribution by Pillow.

A process of its own, because the library ends its process where OpenGL is not to be had, holds the
interpreter while it draws, and keeps memory. Reads pictures from standard input and writes answers
to standard output, each after its length; a byte says whether it is a picture or what went wrong.
"""

from __future__ import annotations

import io
import os
import resource
import select
import sys
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from mapyard.images.picture import Picture

READY: Final = b"r"
DRAWN: Final = b"d"
FAILED: Final = b"f"
#: A process without work ends, and one that has grown.
_IDLE_S: Final = 300
_MOST_BYTES: Final = 1_000_000_000
_EMPTY_STYLE: Final = '{"version": 8, "sources": {}, "layers": []}'
_TEXT_PX: Final = 11


def main() -> None:
    """Draw what is asked for until the input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what the library prints goes where errors go
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import pymgl

    pymgl.Map(_EMPTY_STYLE, 16, 16).renderPNG()  # ends the process where there is no OpenGL
    _write(answers, READY, b"")
    asked = sys.stdin.buffer
    while select.select([asked], [], [], _IDLE_S)[0]:
        head = asked.read(4)
        if len(head) < 4:
            return
        picture = msgspec.msgpack.decode(asked.read(int.from_bytes(head, "big")), type=Picture)
        try:
            _write(answers, DRAWN, draw(picture))
        except Exception as error:  # the parent answers it
            _write(answers, FAILED, f"{type(error).__name__}: {error}".encode())
        if resident_bytes() > _MOST_BYTES:
            return


def resident_bytes() -> int:
    """Return the memory that this process holds; its peak would count what the parent held."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _write(answers: IO[bytes], kind: bytes, body: bytes) -> None:
    view = memoryview(kind + len(body).to_bytes(4, "big") + body)
    while view:
        view = view[answers.write(view) :]


def draw(picture: Picture) -> bytes:
    """Return the encoded picture."""
    import pymgl
    from PIL import Image

    style = picture.style.decode()
    # One map a picture: maps of a process share what they fetched.
    with pymgl.Map(
        style, picture.width, picture.height, picture.scale, picture.lon, picture.lat, picture.zoom
    ) as drawn:
        for color in picture.pins:
            pixels, side_x, side_y = draw_pin(color, picture.scale)
            drawn.addImage(f"pin-{color}", pixels, side_x, side_y, float(picture.scale), False)
        drawn.setBearing(picture.bearing)
        drawn.setPitch(picture.pitch)
        # Not renderBuffer: with a scale it returns a part of the picture only (pymgl 0.6.1).
        image: Any = Image.open(io.BytesIO(drawn.renderPNG())).convert("RGB")
    if picture.margin:
        cut = picture.margin * picture.scale
        image = image.crop((cut, cut, image.width - cut, image.height - cut))
    if picture.attribution:
        write_attribution(image, picture)
    file = io.BytesIO()
    if picture.format == "pdf":
        image.save(file, "PDF", resolution=96 * picture.scale, title="Map", producer="Mapyard")
    elif picture.format == "jpg":
        image.save(file, "JPEG", quality=88, optimize=True)
    elif picture.format == "webp":
        image.save(file, "WEBP", quality=88)
    else:
        image.save(file, "PNG", compress_level=6)
    return file.getvalue()


@lru_cache(128)
def draw_pin(color: str, scale: int) -> tuple[bytes, int, int]:
    """Return RGBA bytes, width and height of a pin whose point is in the middle of its foot."""
    from PIL import Image, ImageDraw

    finer = 4
    unit = scale * finer
    image = Image.new("RGBA", (28 * unit, 38 * unit), (0, 0, 0, 0))
    pen = ImageDraw.Draw(image)

    def shape(inset: float, fill: str) -> None:
        radius, x, y = (13 - inset) * unit, 14 * unit, 14 * unit
        foot = (37 - 1.6 * inset) * unit
        pen.polygon([(x - 0.86 * radius, y + 0.5 * radius), (x, foot),
                     (x + 0.86 * radius, y + 0.5 * radius)], fill=fill)  # fmt: skip
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=fill)

    shape(0, "#ffffff")
    shape(1.6, color)
    small = image.resize((28 * scale, 38 * scale), Image.Resampling.LANCZOS)
    return small.tobytes(), small.width, small.height


def write_attribution(image: Any, picture: Picture) -> None:
    """Write whose data it is into the lower right corner, on a light ground."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype(picture.font, _TEXT_PX * picture.scale)
    left, top, right, bottom = font.getbbox(picture.attribution)
    pad = 4 * picture.scale
    width, height = int(right - left) + 2 * pad, int(bottom - top) + 2 * pad
    width = min(width, image.width)
    ground = Image.new("RGB", (width, height), "#ffffff")
    corner = (image.width - width, image.height - height)
    under = image.crop((*corner, image.width, image.height))
    image.paste(Image.blend(under, ground, 0.75), corner)
    ImageDraw.Draw(image).text(
        (corner[0] + pad - left, corner[1] + pad - top), picture.attribution, "#333333", font
    )


if __name__ == "__main__":
    main()
