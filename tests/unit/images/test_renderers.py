"""The processes that draw: what they draw, and what becomes of them when something goes wrong."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mapyard.deadline import Deadline
from mapyard.errors import NotInstalled, Overloaded, Timeout
from mapyard.images import renderers as module
from mapyard.images.picture import Picture
from mapyard.images.renderers import NotDrawn, Renderers
from mapyard.tiles.glyphs import FONT_FILE

pytestmark = pytest.mark.xdist_group("images")


def make_picture(format: str = "png", **changes: Any) -> Picture:
    red = {"id": "ground", "type": "background", "paint": {"background-color": "#ff0000"}}
    style = {"version": 8, "sources": {}, "layers": [red, *changes.pop("layers", [])]}
    style["sources"] = changes.pop("sources", {})
    values: dict[str, Any] = {
        "style": json.dumps(style).encode(), "width": 200, "height": 100, "scale": 1,
        "lon": 0.0, "lat": 0.0, "zoom": 3.0, "bearing": 0.0, "pitch": 0.0, "format": format,
        "pins": [], "attribution": "", "font": str(FONT_FILE),
    }  # fmt: skip
    return Picture(**(values | changes))


def read(data: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(data)).convert("RGB")


@pytest.fixture(scope="module")
def renderers() -> Iterator[Renderers]:
    made = Renderers(1)
    try:
        made.draw(make_picture(), Deadline(60))
    except NotInstalled as error:
        pytest.skip(error.message)
    yield made
    made.close()


@pytest.mark.parametrize(("format", "begin"), [
    ("png", b"\x89PNG"), ("jpg", b"\xff\xd8"), ("webp", b"RIFF"), ("pdf", b"%PDF"),
])  # fmt: skip
def test_kinds_of_files(renderers: Renderers, format: str, begin: bytes) -> None:
    assert renderers.draw(make_picture(format), Deadline(60)).startswith(begin)


def test_scale_and_margin(renderers: Renderers) -> None:
    drawn = read(renderers.draw(make_picture(scale=2, margin=10), Deadline(60)))
    assert drawn.size == (360, 160)
    assert set(drawn.get_flattened_data()) == {(255, 0, 0)}


def test_a_pin_stands_on_its_place(renderers: Renderers) -> None:
    place = {"type": "Feature", "properties": {}, "geometry": {"type": "Point",
             "coordinates": [0, 0]}}  # fmt: skip
    picture = make_picture(
        pins=["#00ff00"],
        sources={"m": {"type": "geojson", "data": place}},
        layers=[{"id": "pin", "type": "symbol", "source": "m",
                 "layout": {"icon-image": "pin-#00ff00", "icon-anchor": "bottom"}}],
    )  # fmt: skip
    drawn = read(renderers.draw(picture, Deadline(60)))
    places = [(x, y) for x in range(200) for y in range(100)]
    green = [place for place in places if drawn.getpixel(place) == (0, 255, 0)]
    assert min(x for x, _ in green) >= 86
    assert max(x for x, _ in green) <= 114
    # Its foot is in the middle of the picture, its head 24 pixels above.
    assert 22 < sum(y for _, y in green) / len(green) < 32
    assert max(y for _, y in green) <= 51


def test_the_attribution_is_in_the_corner(renderers: Renderers) -> None:
    drawn = read(renderers.draw(make_picture(attribution="© Somebody"), Deadline(60)))
    assert drawn.getpixel((3, 3)) == (255, 0, 0)
    corner = drawn.crop((120, 80, 200, 100))
    assert any(max(pixel) < 120 for pixel in corner.get_flattened_data())  # letters


def test_what_cannot_be_fetched_is_no_picture(renderers: Renderers) -> None:
    source = {"type": "vector", "tiles": ["http://127.0.0.1:9/{z}/{x}/{y}"]}
    layer = {"id": "l", "type": "line", "source": "v", "source-layer": "l"}
    with pytest.raises(NotDrawn, match="could not be drawn"):
        renderers.draw(make_picture(sources={"v": source}, layers=[layer]), Deadline(60))
    assert renderers.draw(make_picture(), Deadline(60)).startswith(b"\x89PNG")


def test_a_style_that_is_none(renderers: Renderers) -> None:
    with pytest.raises(NotDrawn):
        renderers.draw(make_picture(style=b"{"), Deadline(60))
    assert renderers.draw(make_picture(), Deadline(60)).startswith(b"\x89PNG")


def children() -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(os.getpid()).children()
        if "mapyard.images.child" in child.cmdline()
    ]


def test_a_process_that_was_killed_is_started_again(renderers: Renderers) -> None:
    renderers.draw(make_picture(), Deadline(60))
    (child,) = children()
    child.kill()
    child.wait(5)
    assert renderers.draw(make_picture(), Deadline(60)).startswith(b"\x89PNG")


def test_who_is_late_is_ended(renderers: Renderers) -> None:
    renderers.draw(make_picture(), Deadline(60))
    (child,) = children()
    child.suspend()
    began_s = time.monotonic()
    with pytest.raises(Timeout):
        renderers.draw(make_picture(), Deadline(1.0))
    assert time.monotonic() - began_s < 4
    assert not child.is_running()
    assert renderers.draw(make_picture(), Deadline(60)).startswith(b"\x89PNG")


def test_too_many_at_once_are_refused(renderers: Renderers) -> None:
    renderers.draw(make_picture(), Deadline(60))
    (child,) = children()
    child.suspend()

    def wait() -> None:
        with pytest.raises(Timeout):
            renderers.draw(make_picture(), Deadline(3.0))

    first = threading.Thread(target=wait)
    first.start()
    time.sleep(0.3)
    with pytest.raises(Overloaded, match="at work"):
        renderers.draw(make_picture(), Deadline(1.0))
    first.join(10)


def test_without_opengl_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys, "executable", "/bin/false")
    with pytest.raises(NotInstalled, match="apt-get install libegl1"):
        Renderers(1).draw(make_picture(), Deadline(10))


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NotInstalled, match=r"mapyard\[images\]"):
        Renderers(1).draw(make_picture(), Deadline(10))


def test_secrets_stay_here(renderers: Renderers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPYARD_SECRET", "hidden")
    mine = Renderers(1)
    mine.draw(make_picture(), Deadline(60))
    found = [Path(f"/proc/{child.pid}/environ").read_bytes() for child in children()]
    mine.close()
    assert found
    assert not any(b"hidden" in text for text in found[-1:])
