"""The map styles: MapLibre style objects over the Shortbread layers, light and dark.

Ground first, then roads by level, then labels (labels.py), in drawing order. Style specification:
https://maplibre.org/maplibre-style-spec/.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from mapyard.tiles.labels import REGULAR, label_layers
from mapyard.tiles.palette import DARK, LIGHT, Palette, Road
from mapyard.tiles.table import TableInfo
from mapyard.tiles.tilejson import make_tilejson

Layer = dict[str, Any]
THEMES: Final = {"light": LIGHT, "dark": DARK}
SOURCE: Final = "osm"
#: The land of the world for low zooms, and the box of the data.
WORLD: Final = "world"
EXTENT: Final = "extent"
HEIGHTS: Final = "heights"
CONTOURS: Final = "contours"
#: From here to there the world, which is drawn coarsely, gives way to what is only outside.
_WORLD_ENDS: Final = (4, 6)

#: Class of roads → width in pixels by zoom.
_WIDTHS: Final = {
    "motorway": (5, 0.7, 8, 1.6, 10, 2.6, 12, 3.6, 14, 7, 16, 15, 18, 36),
    "trunk": (6, 0.6, 8, 1.3, 10, 2.2, 12, 3.2, 14, 6.4, 16, 14, 18, 34),
    "primary": (8, 0.7, 10, 1.6, 12, 2.6, 14, 5.6, 16, 13, 18, 32),
    "secondary": (9, 0.6, 11, 1.4, 12, 2, 14, 4.8, 16, 12, 18, 29),
    "tertiary": (10, 0.5, 12, 1.4, 14, 4, 16, 10.5, 18, 27),
    "minor": (12, 0.6, 13, 1.2, 14, 2.6, 16, 8, 18, 23),
    "service": (13, 0.4, 14, 1.1, 16, 4.6, 18, 13),
}
_CLASSES: Final = {
    "motorway": ("motorway",),
    "trunk": ("trunk",),
    "primary": ("primary",),
    "secondary": ("secondary",),
    "tertiary": ("tertiary",),
    "minor": ("unclassified", "residential", "living_street", "busway", "bus_guideway"),
    "service": ("service", "pedestrian"),
}
_PATHS: Final = ("footway", "path", "steps")


def make_style(
    palette: Palette,
    info: TableInfo,
    *,
    base_url: str,
    key_suffix: str = "",
    language: str = "",
    relief: bool = False,
    raised: bool = False,
) -> dict[str, Any]:
    """Return the style; `base_url` ends in /api/v1, `key_suffix` is "" or "?api_key=…".

    `relief` shades the ground by the tiles of heights and draws contour lines, `raised` draws
    buildings in 3D.
    """
    described = make_tilejson(info, "", "")
    languages = {attribute.name for attribute in info.attributes}
    own_name = f"name_{language}"
    name: Any = ["get", "name"]
    if own_name in languages:
        name = ["coalesce", ["get", own_name], name]
    return {
        "version": 8,
        "name": palette.name,
        "center": described["center"][:2],
        "zoom": 12,
        # Walls away from the light are not to be dark holes in the map.
        "light": {"anchor": "viewport", "intensity": 0.25},
        "sources": {
            SOURCE: {"type": "vector", "url": f"{base_url}/tiles.json{key_suffix}"},
            WORLD: {"type": "geojson", "data": f"{base_url}/tiles/world.json{key_suffix}",
                    "maxzoom": 6},
            EXTENT: {"type": "geojson", "data": _make_extent(info.bounds)},
            **({HEIGHTS: {"type": "raster-dem", "url": f"{base_url}/terrain.json{key_suffix}",
                          "encoding": "terrarium", "tileSize": 256},
                CONTOURS: {"type": "vector", "url": f"{base_url}/contours.json{key_suffix}"},
                } if relief else {}),
        },
        "glyphs": f"{base_url}/tiles/glyphs/{{fontstack}}/{{range}}.pbf{key_suffix}",
        # Clients put the ending of the file before the question mark.
        "sprite": f"{base_url}/tiles/sprites/{palette.sprite}{key_suffix}",
        "layers": [
            *_world_layers(palette),
            *_ground_layers(palette),
            _edge_layer(palette),
            *([_relief_layer(palette), *_contour_layers(palette)] if relief else []),
            *_road_layers(palette),
            *([_raised_buildings(palette, languages)] if raised else []),
            *([_contour_labels(palette)] if relief else []),
            *label_layers(palette, name),
        ],
    }  # fmt: skip


def _make_extent(bounds: tuple[float, float, float, float]) -> dict[str, Any]:
    """Return the box of the data as GeoJSON; two boxes at the antimeridian."""
    west, south, east, north = bounds
    spans = [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]
    boxes = [
        [[[x0, south], [x1, south], [x1, north], [x0, north], [x0, south]]] for x0, x1 in spans
    ]
    geometry = {"type": "MultiPolygon", "coordinates": boxes}
    return {"type": "Feature", "properties": {}, "geometry": geometry}


def _world_layers(p: Palette) -> Iterable[Layer]:
    """The sea and land of the world far out; closer only where the data is, and what is outside."""
    start, end = _WORLD_ENDS
    sea = ["interpolate", ["linear"], ["zoom"], start, p.water, end, p.outside]
    yield {"id": "background", "type": "background", "paint": {"background-color": sea}}
    fade = ["interpolate", ["linear"], ["zoom"], start, 1, end, 0]
    yield {
        "id": "world", "type": "fill", "source": WORLD, "maxzoom": end,
        "paint": {"fill-color": p.background, "fill-opacity": fade},
    }  # fmt: skip
    yield {
        "id": "extent", "type": "fill", "source": EXTENT, "paint": {"fill-color": p.background},
    }  # fmt: skip


def _edge_layer(p: Palette) -> Layer:
    """Where the data ends its ground fades: a sea that is cut off is no coast."""
    width = zooms(6, 4, 9, 30, 14, 80)
    return {
        "id": "extent-edge", "type": "line", "source": EXTENT, "minzoom": _WORLD_ENDS[0],
        "layout": {"line-join": "round"},
        "paint": {
            "line-color": p.outside, "line-width": width, "line-blur": zooms(6, 2, 9, 15, 14, 40),
            "line-opacity": ["interpolate", ["linear"], ["zoom"], *(_WORLD_ENDS[0], 0),
                             *(_WORLD_ENDS[1], 1)],
        },
    }  # fmt: skip


def zooms(*stops: float, base: float = 1.5) -> list[Any]:
    """Return an expression over zoom: zooms(5, 0.7, 8, 1.6)."""
    return ["interpolate", ["exponential", base], ["zoom"], *stops]


def _layer(
    id_: str,
    source_layer: str,
    type_: str,
    paint: dict[str, Any],
    *,
    where: Any = None,
    minzoom: float = 0,
    maxzoom: float = 0,
    layout: dict[str, Any] | None = None,
) -> Layer:
    layer: Layer = {"id": id_, "type": type_, "source": SOURCE, "source-layer": source_layer}
    if where is not None:
        layer["filter"] = where
    if minzoom:
        layer["minzoom"] = minzoom
    if maxzoom:
        layer["maxzoom"] = maxzoom
    if layout:
        layer["layout"] = layout
    return {**layer, "paint": paint}


def _kinds(*kinds: str) -> list[Any]:
    return ["match", ["get", "kind"], list(kinds), True, False]


def _fill(id_: str, source_layer: str, color: str, kinds: str = "", **options: Any) -> Layer:
    paint = {"fill-color": color, "fill-antialias": True, **options.pop("paint", {})}
    where = _kinds(*kinds.split()) if kinds else None
    return _layer(id_, source_layer, "fill", paint, where=where, **options)


def _fade(start: float, end: float, opacity: float = 1.0) -> dict[str, Any]:
    return {"fill-opacity": ["interpolate", ["linear"], ["zoom"], start, 0, end, opacity]}


def _relief_layer(p: Palette) -> Layer:
    return {
        "id": "relief", "type": "hillshade", "source": HEIGHTS,
        "paint": {
            "hillshade-exaggeration": ["interpolate", ["linear"], ["zoom"], 9, 0.35, 16, 0.15],
            "hillshade-shadow-color": p.shadow, "hillshade-highlight-color": p.highlight,
            "hillshade-accent-color": p.shadow,
        },
    }  # fmt: skip


def _contour_layers(p: Palette) -> Iterable[Layer]:
    """Return thin lines, and thicker ones for every fifth."""
    is_main = [">=", ["get", "nth_line"], 5]
    for id_, where, minzoom, width, opacity in (
        ("contour", ["!", is_main], 12, 0.6, 0.45),
        ("contour-main", is_main, 10, 1.0, 0.6),
    ):
        yield {
            "id": id_, "type": "line", "source": CONTOURS, "source-layer": "contour",
            "minzoom": minzoom, "filter": where, "layout": {"line-join": "round"},
            "paint": {
                "line-color": p.contour, "line-width": zooms(12, width * 0.8, 16, width * 1.4),
                "line-opacity": ["interpolate", ["linear"], ["zoom"], minzoom, 0, minzoom + 1,
                                 opacity],
            },
        }  # fmt: skip


def _contour_labels(p: Palette) -> Layer:
    return {
        "id": "contour-label", "type": "symbol", "source": CONTOURS, "source-layer": "contour",
        "minzoom": 12, "filter": [">=", ["get", "nth_line"], 5],
        "layout": {
            "symbol-placement": "line", "symbol-spacing": 400, "text-font": REGULAR,
            "text-field": ["to-string", ["get", "height"]], "text-size": 10,
            "text-max-angle": 25, "text-padding": 10,
        },
        "paint": {
            "text-color": p.contour_label, "text-halo-color": p.background, "text-halo-width": 1.2,
        },
    }  # fmt: skip


def _raised_buildings(p: Palette, attributes: set[str]) -> Layer:
    """Return buildings as high as they say, the others as two floors."""
    height: Any = ["coalesce", ["get", "height"], 6] if "height" in attributes else 6
    base: Any = ["coalesce", ["get", "min_height"], 0] if "min_height" in attributes else 0
    return _layer(
        "building-raised", "buildings", "fill-extrusion",
        {
            "fill-extrusion-color": p.building,
            "fill-extrusion-height": [
                "interpolate", ["linear"], ["zoom"], 14.5, 0, 15.5, height,
            ],
            "fill-extrusion-base": ["interpolate", ["linear"], ["zoom"], 14.5, 0, 15.5, base],
            "fill-extrusion-opacity": 0.85,
        },
        minzoom=14.5,
    )  # fmt: skip


def _ground_layers(p: Palette) -> Iterable[Layer]:
    yield _fill("ocean", "ocean", p.water)
    land = [
        ("residential", p.residential, "residential garages", _fade(9.5, 11)),
        ("industrial", p.industrial, "industrial railway landfill brownfield", _fade(9.5, 11)),
        ("commercial", p.commercial, "commercial retail", _fade(9.5, 11)),
        ("farmland", p.farmland, "farmland farmyard greenfield greenhouse_horticulture", {}),
        ("grass", p.grass, "grass meadow grassland village_green recreation_ground", {}),
        ("vineyard", p.vineyard, "vineyard orchard plant_nursery allotments", {}),
        ("scrub", p.scrub, "heath scrub", {}),
        ("forest", p.forest, "forest", _fade(6.5, 8, 0.9)),
        ("rock", p.rock, "bare_rock scree shingle", {}),
        ("sand", p.sand, "sand beach", {}),
        ("wetland", p.wetland, "swamp bog string_bog wet_meadow marsh", {}),
        ("quarry", p.quarry, "quarry", {}),
        ("park", p.park, "park garden golf_course miniature_golf", {}),
        ("playground", p.sport, "playground", {}),
        ("cemetery", p.cemetery, "cemetery grave_yard", {}),
    ]
    for name, color, kinds, paint in land:
        yield _fill(f"land-{name}", "land", color, kinds, paint=paint)
    yield _layer(
        "land-wetland-pattern", "land", "fill", {"fill-pattern": "wetland"},
        where=_kinds("swamp", "bog", "string_bog", "wet_meadow", "marsh"), minzoom=12,
    )  # fmt: skip
    yield _fill("site-education", "sites", p.site_school, "school university college")
    yield _fill("site-health", "sites", p.site_health, "hospital")
    yield _fill("site-sport", "sites", p.sport, "sports_centre")
    yield _fill("site-parking", "sites", p.site_parking, "parking bicycle_parking construction")
    yield _fill("site-danger", "sites", p.site_danger, "danger_area prison",
                paint={"fill-opacity": 0.5})  # fmt: skip
    yield _fill("water", "water_polygons", p.water,
                "water river reservoir basin dock canal")  # fmt: skip
    yield _fill("glacier", "water_polygons", p.glacier, "glacier")
    yield _layer(
        "water-line", "water_lines", "line",
        {
            "line-color": p.water_line,
            "line-width": [
                "interpolate", ["exponential", 1.4], ["zoom"],
                9, ["match", ["get", "kind"], ["river", "canal"], 0.8, 0.3],
                14, ["match", ["get", "kind"], ["river", "canal"], 3, 1],
                18, ["match", ["get", "kind"], ["river", "canal"], 12, 5],
            ],
            "line-opacity": ["case", ["==", ["get", "tunnel"], True], 0.4, 1],
        },
        layout={"line-cap": "round", "line-join": "round"},
    )  # fmt: skip
    yield _fill("dam-area", "dam_polygons", p.pier)
    dam = {"line-color": p.pier, "line-width": zooms(12, 1, 18, 8)}
    yield _layer("dam", "dam_lines", "line", dam)
    yield _fill("pier-area", "pier_polygons", p.pier)
    pier = {"line-color": p.pier, "line-width": zooms(12, 0.7, 16, 4, 18, 9)}
    yield _layer("pier", "pier_lines", "line", pier)
    yield _fill("street-area", "street_polygons", p.pavement, "pedestrian service")
    yield _fill("runway-area", "street_polygons", p.runway, "runway taxiway")
    yield _fill("bridge-area", "bridges", p.bridge)
    yield _layer(
        "runway", "streets", "line",
        {"line-color": p.runway, "line-width": zooms(11, 1.5, 14, 10, 18, 120)},
        where=_kinds("runway"),
    )  # fmt: skip
    yield _layer(
        "taxiway", "streets", "line",
        {"line-color": p.runway, "line-width": zooms(13, 1, 16, 8, 18, 30)},
        where=_kinds("taxiway"),
    )  # fmt: skip
    yield _layer(
        "building", "buildings", "fill",
        {
            "fill-color": p.building,
            "fill-outline-color": p.building_line,
            "fill-opacity": ["interpolate", ["linear"], ["zoom"], 13.5, 0, 14.5, 1],
        },
        minzoom=13.5,
    )  # fmt: skip


def _road_color(p: Palette, name: str) -> Road:
    if name in ("tertiary", "minor", "service"):
        return p.minor
    color: Road = getattr(p, name)
    return color


def _width(name: str, extra: float = 0.0) -> list[Any]:
    """Return the width of a class; links are narrower; `extra` is a casing on both sides."""
    stops: list[Any] = []
    pairs = _WIDTHS[name]
    for zoom, width in zip(pairs[::2], pairs[1::2], strict=True):
        rim = 2 * extra if zoom >= 12 else extra
        stops += [zoom, ["case", _is("link"), round(0.6 * width + rim, 2), width + rim]]
    return zooms(*stops)


def _any_width(extra: float = 0.0) -> list[Any]:
    """Return the width of every class at once, for tunnels and bridges."""
    stops: list[Any] = []
    for zoom in (11, 12, 14, 16, 18):
        cases: list[Any] = ["match", ["get", "kind"]]
        for name, kinds in _CLASSES.items():
            pairs = _WIDTHS[name]
            width = dict(zip(pairs[::2], pairs[1::2], strict=True)).get(zoom)
            if width is None:
                width = 0.6 if zoom >= pairs[0] else 0
            cases += [list(kinds), ["case", _is("link"), 0.6 * width + extra, width + extra]]
        stops += [zoom, [*cases, 1 + extra]]
    return zooms(*stops)


def _is(flag: str) -> list[Any]:
    return ["==", ["get", flag], True]


def _not(flag: str) -> list[Any]:
    return ["!=", ["get", flag], True]


def _road_layers(p: Palette) -> Iterable[Layer]:
    ground = ["all", _not("tunnel"), _not("bridge"), _not("rail")]
    round_ends = {"line-cap": "round", "line-join": "round"}
    roads = _kinds(*(kind for kinds in _CLASSES.values() for kind in kinds))
    color_of: list[Any] = ["match", ["get", "kind"]]
    for name, kinds in _CLASSES.items():
        color_of += [list(kinds), _road_color(p, name).fill]
    color_of.append(p.minor.fill)

    yield _layer(
        "tunnel-casing", "streets", "line",
        {"line-color": p.tunnel.casing, "line-width": _any_width(1.6),
         "line-dasharray": [1.2, 0.8]},
        where=["all", _is("tunnel"), _not("rail"), roads], minzoom=12,
    )  # fmt: skip
    yield _layer(
        "tunnel", "streets", "line", {"line-color": p.tunnel.fill, "line-width": _any_width()},
        where=["all", _is("tunnel"), _not("rail"), roads], minzoom=11,
    )  # fmt: skip
    yield _layer(
        "tunnel-rail", "streets", "line",
        {"line-color": p.rail, "line-width": zooms(10, 0.6, 14, 1.4, 18, 3), "line-opacity": 0.4,
         "line-dasharray": [3, 2]},
        where=["all", _is("tunnel"), _is("rail")], minzoom=10,
    )  # fmt: skip
    yield from _path_layers(p, ground, "")
    for name in ("service", "minor", "tertiary", "secondary", "primary", "trunk", "motorway"):
        yield _layer(
            f"{name}-casing", "streets", "line",
            {"line-color": _road_color(p, name).casing, "line-width": _width(name, 0.8)},
            where=["all", *ground[1:], _kinds(*_CLASSES[name])],
            minzoom=max(_WIDTHS[name][0], 13.5 if name in ("service", "minor") else 9),
            layout=round_ends,
        )  # fmt: skip
    for name in ("service", "minor", "tertiary", "secondary", "primary", "trunk", "motorway"):
        yield _layer(
            name, "streets", "line",
            {"line-color": _road_color(p, name).fill, "line-width": _width(name)},
            where=["all", *ground[1:], _kinds(*_CLASSES[name])],
            minzoom=_WIDTHS[name][0],
            layout=round_ends,
        )  # fmt: skip
    yield from _rail_layers(p, ["all", _is("rail"), _not("tunnel"), _not("bridge")], "")
    yield _layer(
        "bridge-casing", "streets", "line",
        {"line-color": p.minor.casing, "line-width": _any_width(2.4)},
        where=["all", _is("bridge"), _not("rail"), roads], minzoom=12.5,
        layout={"line-join": "round"},
    )  # fmt: skip
    yield from _path_layers(p, ["all", _is("bridge"), _not("rail")], "bridge-")
    yield _layer(
        "bridge", "streets", "line", {"line-color": color_of, "line-width": _any_width()},
        where=["all", _is("bridge"), _not("rail"), roads], minzoom=11, layout=round_ends,
    )  # fmt: skip
    yield from _rail_layers(p, ["all", _is("rail"), _is("bridge")], "bridge-")
    yield _layer(
        "oneway", "streets", "symbol", {"icon-opacity": 0.75},
        where=["all", _is("oneway"), _not("rail"), roads], minzoom=16,
        layout={"icon-image": "oneway", "symbol-placement": "line", "symbol-spacing": 140,
                "icon-size": zooms(16, 0.6, 18, 1),
                "icon-rotate": ["case", _is("oneway_reverse"), 180, 0],
                "icon-padding": 2},
    )  # fmt: skip
    yield _layer(
        "aerialway", "aerialways", "line",
        {"line-color": p.aerialway, "line-width": zooms(12, 0.8, 16, 1.8),
         "line-dasharray": [6, 1.5]},
    )  # fmt: skip
    yield _layer(
        "ferry", "ferries", "line",
        {"line-color": p.ferry, "line-width": zooms(10, 0.8, 16, 1.8), "line-dasharray": [4, 3]},
    )  # fmt: skip
    yield _layer(
        "boundary-state", "boundaries", "line",
        {"line-color": p.boundary, "line-width": zooms(7, 0.6, 14, 1.6),
         "line-dasharray": [4, 2], "line-opacity": 0.7},
        where=["all", ["==", ["get", "admin_level"], 4], _not("maritime")],
    )  # fmt: skip
    country = ["all", ["==", ["get", "admin_level"], 2], _not("maritime"), _not("disputed")]
    yield _layer(
        "boundary-country-halo", "boundaries", "line",
        {"line-color": p.boundary_halo, "line-width": zooms(2, 2, 8, 5, 14, 9),
         "line-opacity": 0.8},
        where=country, layout={"line-join": "round"},
    )  # fmt: skip
    yield _layer(
        "boundary-country", "boundaries", "line",
        {"line-color": p.boundary, "line-width": zooms(2, 0.7, 8, 1.5, 14, 2.6)},
        where=country, layout={"line-join": "round", "line-cap": "round"},
    )  # fmt: skip
    yield _layer(
        "boundary-disputed", "boundaries", "line",
        {"line-color": p.boundary, "line-width": zooms(2, 0.7, 8, 1.5, 14, 2.6),
         "line-dasharray": [2, 2]},
        where=["all", ["==", ["get", "admin_level"], 2], _is("disputed")],
    )  # fmt: skip


def _path_layers(p: Palette, where: list[Any], prefix: str) -> Iterable[Layer]:
    width = zooms(13, 0.6, 16, 1.5, 18, 3)
    yield _layer(
        f"{prefix}track", "streets", "line",
        {"line-color": p.track, "line-width": zooms(13, 0.6, 16, 2, 18, 4),
         "line-dasharray": [4, 1.5], "line-opacity": 0.8},
        where=["all", *where[1:], _kinds("track")], minzoom=13,
    )  # fmt: skip
    yield _layer(
        f"{prefix}path", "streets", "line",
        {"line-color": p.path, "line-width": width, "line-dasharray": [2.2, 1.4],
         "line-opacity": 0.85},
        where=["all", *where[1:], _kinds(*_PATHS)], minzoom=13.5,
    )  # fmt: skip
    yield _layer(
        f"{prefix}cycleway", "streets", "line",
        {"line-color": p.cycleway, "line-width": width, "line-dasharray": [2.5, 1]},
        where=["all", *where[1:], _kinds("cycleway")], minzoom=13.5,
    )  # fmt: skip


def _rail_layers(p: Palette, where: list[Any], prefix: str) -> Iterable[Layer]:
    main = ["all", *where[1:], ["!", ["has", "service"]]]
    yield _layer(
        f"{prefix}rail", "streets", "line",
        {"line-color": p.rail, "line-width": zooms(8, 0.5, 12, 1.2, 14, 2, 18, 5)},
        where=main, minzoom=8,
    )  # fmt: skip
    yield _layer(
        f"{prefix}rail-gap", "streets", "line",
        {"line-color": p.rail_gap, "line-width": zooms(13, 0.6, 14, 1, 18, 3),
         "line-dasharray": [4, 4]},
        where=[*main, _kinds("rail", "narrow_gauge")], minzoom=13,
    )  # fmt: skip
    yield _layer(
        f"{prefix}rail-service", "streets", "line",
        {"line-color": p.rail, "line-width": zooms(13, 0.4, 16, 1.2, 18, 2.4),
         "line-opacity": 0.7},
        where=["all", *where[1:], ["has", "service"]], minzoom=13,
    )  # fmt: skip
