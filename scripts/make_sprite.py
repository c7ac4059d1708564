"""Draw the sprite of the map styles from Maki icons (CC0) and shapes of our own.

Run it after a change, with an unpacked npm package @mapbox/maki, resvg-py and pyoxipng:

    npm pack @mapbox/maki && tar xf mapbox-maki-*.tgz
    uv run --with resvg-py --with pyoxipng scripts/make_sprite.py package/icons

The results lie in src/mapyard/tiles/sprites/ and are committed.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import oxipng
import resvg_py

OUT = Path(__file__).parent.parent / "src" / "mapyard" / "tiles" / "sprites"
BADGE = 19  # px, with an outline of one
COLUMNS = 14

#: Group → (color in the light style, in the dark style, icons).
GROUPS = {
    "food": ("#d9772b", "#b8682b", "restaurant cafe fast-food bar beer ice-cream restaurant-pizza"),
    "shop": (
        "#5e74c9",
        "#5566ad",
        "shop grocery convenience bakery clothing-store alcohol-shop hairdresser jewelry-store "
        "florist furniture garden-centre gift hardware laundry mobile-phone optician shoe bicycle "
        "car commercial suitcase",
    ),
    "health": (
        "#d0454c",
        "#b04349",
        "hospital doctor dentist pharmacy veterinary defibrillator emergency-phone fire-station",
    ),
    "culture": (
        "#95679e",
        "#86608e",
        "museum theatre cinema library art-gallery monument castle historic attraction landmark "
        "watermill windmill lighthouse town-hall communications-tower",
    ),
    "transport": (
        "#3b7fc4",
        "#3b72a8",
        "bus rail rail-light ferry airport heliport aerialway fuel parking bicycle-share "
        "car-rental charging-station terminal",
    ),
    "leisure": (
        "#4e9a4f",
        "#488449",
        "park playground soccer pitch tennis golf swimming stadium zoo campsite picnic-site "
        "viewpoint dog-park garden skiing fitness-centre amusement-park water mountain",
    ),
    "lodging": ("#c2559d", "#a54e88", "lodging shelter"),
    "civic": (
        "#67788a",
        "#65748a",
        "bank post police school college embassy prison place-of-worship religious-christian "
        "religious-muslim religious-jewish religious-buddhist religious-shinto cemetery "
        "information building",
    ),
    "small": (
        "#8d9093",
        "#6f757c",
        "toilet drinking-water waste-basket telephone recycling laundry-self caution",
    ),
}

#: Name → (width, height, light SVG, dark SVG, further index fields).
SHIELD = (
    '<rect x="1" y="1" width="20" height="14" rx="3.5" fill="{fill}" stroke="{line}" '
    'stroke-width="1.2"/>'
)


def shield(fill: str, line: str) -> str:
    """Return a road shield."""
    return SHIELD.format(fill=fill, line=line)


STRETCH = {"stretchX": [[6, 16]], "stretchY": [[6, 10]], "content": [4, 3, 18, 13]}
ARROW = '<path d="M2 7.2h8.2L7.4 4.4 8.6 3.2 13.4 8l-4.8 4.8-1.2-1.2 2.8-2.8H2z" fill="{c}"/>'
DOT = '<circle cx="6" cy="6" r="3.4" fill="{f}" stroke="{s}" stroke-width="1.6"/>'
STAR = (
    '<circle cx="7" cy="7" r="5" fill="{f}" stroke="{s}" stroke-width="1.6"/>'
    '<circle cx="7" cy="7" r="1.8" fill="{s}"/>'
)
MARSH = (
    '<g stroke="{c}" stroke-width="1" fill="none"><path d="M4 9h6M5.5 9V6.5M7 9V5.5M8.500 9V6.5"/>'
    '<path d="M16 20h6M17.500 20v-2.500M19 20v-3.500M20.500 20v-2.500"/></g>'
)
SHAPES = {
    "shield-motorway": (
        22,
        16,
        shield("#3f7fbf", "#ffffff"),
        shield("#2c5f94", "#0f151c"),
        STRETCH,
    ),
    "shield-trunk": (22, 16, shield("#4a9a5b", "#ffffff"), shield("#35714a", "#0f151c"), STRETCH),
    "shield-primary": (22, 16, shield("#fff4d6", "#c99b3a"), shield("#4b4330", "#8d7a4a"), STRETCH),
    "shield-other": (22, 16, shield("#ffffff", "#9aa3ad"), shield("#2b333d", "#66717e"), STRETCH),
    "oneway": (16, 16, ARROW.format(c="#98a0a8"), ARROW.format(c="#7b8794"), {}),
    "place-dot": (
        12,
        12,
        DOT.format(f="#ffffff", s="#4b5560"),
        DOT.format(f="#1c232b", s="#b9c3cd"),
        {},
    ),
    "place-capital": (
        14,
        14,
        STAR.format(f="#ffffff", s="#3a434d"),
        STAR.format(f="#1c232b", s="#d3dbe3"),
        {},
    ),
    "wetland": (26, 26, MARSH.format(c="#6fa8b8"), MARSH.format(c="#3d6470"), {}),
}


def read_icon(folder: Path, name: str) -> str:
    """Return the inner SVG of a Maki icon of 15 px."""
    text = (folder / f"{name}.svg").read_text()
    inner = re.search(r"<svg[^>]*>(.*)</svg>", text, re.S)
    assert inner is not None, name
    return inner[1]


def badge(icon: str, color: str, dark: bool) -> str:
    """Return an icon in a disk."""
    rim, ink = ("#10161c", "#eef2f5") if dark else ("#ffffff", "#ffffff")
    center = BADGE / 2
    return (
        f'<circle cx="{center}" cy="{center}" r="{center - 0.6}" fill="{color}" stroke="{rim}" '
        f'stroke-width="1.2"/><g transform="translate({center - 5.25} {center - 5.25}) '
        f'scale(0.7)" fill="{ink}">{icon}</g>'
    )


def collect(folder: Path, dark: bool) -> list[tuple[str, int, int, str, dict[str, object]]]:
    """Return name, width, height, SVG and further fields of every picture."""
    pictures = []
    for light_color, dark_color, names in GROUPS.values():
        for name in names.split():
            if not (folder / f"{name}.svg").exists():
                continue
            drawn = badge(read_icon(folder, name), dark_color if dark else light_color, dark)
            pictures.append((name, BADGE, BADGE, drawn, {}))
    for name, (width, height, light, night, fields) in SHAPES.items():
        pictures.append((name, width, height, night if dark else light, fields))
    return pictures


def write_sprite(folder: Path, dark: bool) -> None:
    """Write sprite[-dark][@2x].png and .json."""
    pictures = collect(folder, dark)
    cell = 28
    rows = -(-len(pictures) // COLUMNS)
    width, height = COLUMNS * cell, rows * cell
    body, index = [], {}
    for number, (name, w, h, drawn, fields) in enumerate(pictures):
        x, y = number % COLUMNS * cell, number // COLUMNS * cell
        body.append(f'<g transform="translate({x} {y})">{drawn}</g>')
        index[name] = (x, y, w, h, fields)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{"".join(body)}</svg>'
    )
    for ratio in (1, 2):
        name = ("sprite-dark" if dark else "sprite") + ("@2x" if ratio == 2 else "")
        png = bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=ratio))
        packed = oxipng.optimize_from_memory(
            png, level=6, optimize_alpha=True, deflate=oxipng.Deflaters.zopfli(15)
        )
        (OUT / f"{name}.png").write_bytes(packed)
        scaled = {
            key: {
                "x": x * ratio, "y": y * ratio, "width": w * ratio, "height": h * ratio,
                "pixelRatio": ratio,
                **{k: _scale(v, ratio) for k, v in fields.items()},
            }
            for key, (x, y, w, h, fields) in sorted(index.items())
        }  # fmt: skip
        (OUT / f"{name}.json").write_text(json.dumps(scaled, separators=(",", ":")) + "\n")


def _scale(value: object, ratio: int) -> object:
    if isinstance(value, list):
        return [_scale(item, ratio) for item in value]
    assert isinstance(value, int)
    return value * ratio


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for is_dark in (False, True):
        write_sprite(Path(sys.argv[1]), is_dark)
