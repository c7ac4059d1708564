from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from mapyard.tiles.glyphs import FONT_STACKS, GlyphSource, find_font, render_range
from mapyard.tiles.schema import LAYERS
from mapyard.tiles.sprite import read_sprite
from mapyard.tiles.style import THEMES, make_style
from mapyard.tiles.table import TableAttribute, TableInfo

INFO = TableInfo(
    "shortbread 1.1",
    (7.4, 43.4, 7.6, 43.8),
    [0] * (len(LAYERS) + 1),
    [TableAttribute(0, name, "String", 0) for name in ("name", "name_de", "name_en")],
)


def style_of(theme: str, **options: Any) -> dict[str, Any]:
    return make_style(THEMES[theme], INFO, base_url="http://maps.test/api/v1", **options)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_layers_read_layers_of_the_schema(theme: str) -> None:
    layers = style_of(theme)["layers"]
    assert len({layer["id"] for layer in layers}) == len(layers) >= 60
    drawn = {layer["source-layer"] for layer in layers if "source-layer" in layer}
    assert drawn == {layer.name for layer in LAYERS}


def test_both_styles_draw_the_same_in_other_colors() -> None:
    light, dark = style_of("light"), style_of("dark")
    assert [layer["id"] for layer in light["layers"]] == [layer["id"] for layer in dark["layers"]]
    assert light != dark
    color = re.compile(r"#[0-9a-f]{6}")
    assert color.sub("", json.dumps(light["layers"])) == color.sub("", json.dumps(dark["layers"]))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ratio", ["", "@2x"])
def test_every_icon_is_in_the_sprite(theme: str, ratio: str) -> None:
    name = THEMES[theme].sprite + ratio
    index = json.loads(read_sprite(f"{name}.json") or b"{}")
    picture = read_sprite(f"{name}.png") or b""
    assert picture.startswith(b"\x89PNG")
    width, height = int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])
    for icon in index.values():
        assert icon["x"] + icon["width"] <= width
        assert icon["y"] + icon["height"] <= height
    icons: set[str] = set()
    for layer in style_of(theme)["layers"]:
        _collect_outputs(layer.get("layout", {}).get("icon-image", ""), icons)
        _collect_outputs(layer["paint"].get("fill-pattern", ""), icons)
    assert icons - {""} <= set(index)
    assert len(icons) > 60


def _collect_outputs(expression: Any, icons: set[str]) -> None:
    """Collect what an icon expression may give."""
    if isinstance(expression, str):
        icons.add(expression)
        return
    operator, *rest = expression
    if operator == "match":
        outputs = [*rest[2:-1:2], rest[-1]]
    elif operator == "case":
        outputs = [*rest[1:-1:2], rest[-1]]
    else:
        assert operator == "step"
        outputs = rest[1::2]
    for output in outputs:
        _collect_outputs(output, icons)


def test_every_font_is_served() -> None:
    for layer in style_of("light")["layers"]:
        font = layer.get("layout", {}).get("text-font")
        if font:
            assert font[0] in FONT_STACKS


def test_nothing_of_another_origin_is_asked_for() -> None:
    text = json.dumps(style_of("light", key_suffix="?api_key=k"))
    assert set(re.findall(r"https?://[^/\"]+", text)) == {"http://maps.test"}
    style = style_of("light", key_suffix="?api_key=k")
    assert style["sources"]["osm"]["url"].endswith("tiles.json?api_key=k")
    assert style["glyphs"].endswith("{range}.pbf?api_key=k")
    assert style["sprite"].endswith("/sprite?api_key=k")


def test_labels_take_a_language_that_the_tiles_have() -> None:
    german = json.dumps(style_of("light", language="de")["layers"])
    assert '["coalesce", ["get", "name_de"], ["get", "name"]]' in german
    assert "name_xx" not in json.dumps(style_of("light", language="xx")["layers"])


def test_relief_and_high_buildings_are_drawn_when_asked_for() -> None:
    plain = {layer["id"] for layer in style_of("light")["layers"]}
    style = style_of("dark", relief=True, raised=True, key_suffix="?session=s")
    layers = [layer["id"] for layer in style["layers"]]
    contours = {"contour", "contour-main", "contour-label"}
    assert set(layers) - plain == {"relief", "building-raised", *contours}
    # The ground is shaded below the roads; labels stay above the buildings.
    first_road = next(i for i, id_ in enumerate(layers) if "street" in id_ and i > 40)
    assert layers.index("relief") < first_road
    symbols = [i for i, layer in enumerate(style["layers"]) if layer["type"] == "symbol"]
    assert layers.index("building-raised") < symbols[-1]
    assert style["sources"]["contours"]["url"].endswith("/api/v1/contours.json?session=s")
    source = style["sources"]["heights"]
    assert source["url"] == "http://maps.test/api/v1/terrain.json?session=s"
    assert source["encoding"] == "terrarium"


def test_tiles_without_heights_show_all_buildings_alike() -> None:
    def height_of(info: TableInfo) -> Any:
        made = make_style(THEMES["light"], info, base_url="http://maps.test/api/v1", raised=True)
        layer = next(each for each in made["layers"] if each["id"] == "building-raised")
        return layer["paint"]["fill-extrusion-height"][-1]

    attributes = [*INFO.attributes, TableAttribute(0, "height", "Number", 0)]
    assert height_of(INFO) == 6
    assert height_of(msgspec.structs.replace(INFO, attributes=attributes)) == [
        "coalesce", ["get", "height"], 6,
    ]  # fmt: skip


def read_fields(data: bytes) -> list[tuple[int, Any]]:
    fields, place = [], 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(data):
        tag = varint()
        if tag & 7 == 2:
            length = varint()
            fields.append((tag >> 3, data[place : place + length]))
            place += length
        else:
            fields.append((tag >> 3, varint()))
    return fields


@pytest.mark.parametrize(
    ("stack", "font"),
    [
        ("Noto Sans Bold", "Noto Sans Bold"),
        ("noto_sans_regular", "Noto Sans Regular"),  # as VersaTiles' styles have it
        ("noto_sans_bold", "Noto Sans Bold"),
        ("Open Sans Semibold,Arial Unicode MS Bold", "Noto Sans Bold"),  # MapLibre's demo tiles
        ("Open Sans Regular,Arial Unicode MS Regular", "Noto Sans Regular"),
        ("Klokantech Noto Sans CJK Regular", "Noto Sans Regular"),  # OpenMapTiles
        ("Metropolis Medium Italic", "Noto Sans Italic"),
        ("Unknown,Noto Sans Italic", "Noto Sans Italic"),
        ("Roboto Bold,Noto Sans Regular", "Noto Sans Regular"),  # a font that there is goes first
        ("Wingdings", None),
        ("", None),
    ],
)
def test_fonts_of_other_styles_stand_for_ours(stack: str, font: str | None) -> None:
    assert find_font(stack) == font


def test_glyphs_are_distance_fields_of_the_right_size() -> None:
    data = render_range("Noto Sans Regular", 0)
    stack = dict(read_fields(data))[1]
    assert [value for key, value in read_fields(stack) if key == 1] == [b"Noto Sans Regular"]
    glyphs = {}
    for key, value in read_fields(stack):
        if key == 3:
            glyph = dict(read_fields(value))
            glyphs[glyph[1]] = glyph
    assert {ord("A"), ord("é"), ord(" ")} <= set(glyphs)
    letter = glyphs[ord("H")]
    width, height = letter[3], letter[4]
    assert 15 <= height <= 20  # cap height of 24 px
    assert len(letter[2]) == (width + 6) * (height + 6)
    rows = [letter[2][i : i + width + 6] for i in range(0, len(letter[2]), width + 6)]
    assert max(rows[len(rows) // 2]) > 192  # inside a stem
    assert rows[0][0] < 100  # outside
    assert 2 not in glyphs[ord(" ")]
    assert glyphs[ord(" ")][7] > 3


def test_scripts_come_from_their_own_fonts(tmp_path: Any) -> None:
    fonts = GlyphSource(tmp_path)
    thaana = fonts.get("Noto Sans Bold", 1792)
    assert len(thaana) > 10_000
    assert fonts.find_ready("Noto Sans Bold", 1792) == thaana
    assert GlyphSource(tmp_path).get("Noto Sans Bold", 1792) == thaana
    assert fonts.find_ready("Noto Sans Bold", 0) is None
    assert len(fonts.get("Noto Sans Regular", 0x4E00)) < 100  # han is left to the client


@pytest.mark.parametrize("letter", "ޘبאԱაกकকਕકକகకಕകකລཀကកⴰለ")
def test_scripts_of_the_world_have_letters(letter: str) -> None:
    code = ord(letter)
    inks = {}
    for name in FONT_STACKS:
        glyph = find_glyph(render_range(name, code & ~255), code)
        inks[name] = sum(value >= 192 for value in glyph[2])
        assert glyph[7] > 5, name
    assert inks["Noto Sans Bold"] > 1.08 * inks["Noto Sans Regular"]
    assert inks["Noto Sans Regular"] > 30


def find_glyph(data: bytes, code: int) -> dict[int, Any]:
    stack = dict(read_fields(data))[1]
    glyphs = [dict(read_fields(value)) for field, value in read_fields(stack) if field == 3]
    return next(glyph for glyph in glyphs if glyph[1] == code)
