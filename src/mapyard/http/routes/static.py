"""Maps as pictures: static images with pins, lines and areas, and raster tiles."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

import numpy as np
import orjson
from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.errors import NotOffered
from mapyard.http.services import Services
from mapyard.images.camera import MAX_ZOOM, Camera, fit
from mapyard.images.marks import (
    Marks,
    add_marks,
    join_marks,
    make_line,
    make_pins,
    read_color,
    read_marks,
)
from mapyard.images.picture import MEDIA_TYPES, Format, Picture
from mapyard.images.renderers import Renderers
from mapyard.library.questions.tiles import Look, check_address, get_source
from mapyard.library.snapshot import Snapshot, register_part
from mapyard.library.view import find_view
from mapyard.library.ways import has_rasters
from mapyard.params.parser import Bbox, Params, Position, Positions, spelled
from mapyard.tiles.cache import TileCache
from mapyard.tiles.glyphs import FONT_FILE
from mapyard.tiles.mercator import GRID_SIZE, TileId, unproject
from mapyard.tiles.style import THEMES, make_style

PICTURES: Final = "Tiles"
ATTRIBUTION: Final = "© OpenStreetMap contributors"
MAX_SIDE: Final = 2_048
#: Pixels of a picture after scaling: 34 MB as they are drawn.
MAX_PIXELS: Final = 8_400_000
MAX_MARKERS: Final = 200
_SIZE: Final = re.compile(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})(?:@([1-3])x)?\.(png|jpg|webp|pdf)")
_ROW: Final = re.compile(r"([0-9]{1,8})(?:@([12])x)?\.(png|webp)")
#: A raster tile, and how much is drawn around it so that labels go on in its neighbors, CSS pixels.
_TILE_PX: Final = 256
_MARGIN_PX: Final = 64
_RASTER_ZOOM: Final = 20
_AGE: Final = "public, max-age=3600"
_MEMORY_BYTES: Final = 8_000_000


class Size(NamedTuple):
    """Width and height in CSS pixels, pixels to each of them, and the kind of file."""

    width: int
    height: int
    scale: int
    format: Format


class StaticParams(Look, kw_only=True):
    """What is drawn, and what it shows."""

    size: Annotated[
        str,
        Meta(
            description="width, height and kind: 800x600.png, 800x600@2x.jpg for fine screens; "
            f"png, jpg, webp, pdf; up to {MAX_SIDE} on a side"
        ),
    ]
    center: Annotated[Position | None, spelled("the middle; with zoom", pair=True)] = None
    zoom: Annotated[float | None, Meta(ge=0, le=MAX_ZOOM, description="0 is the world")] = None
    bbox: Annotated[Bbox | None, Meta(description="shown whole: south,west,north,east")] = None
    padding: Annotated[
        int, Meta(ge=0, le=500, description="pixels kept free around what is shown whole")
    ] = 40
    bearing: Annotated[float, Meta(ge=-360, le=360, description="degrees; 90: east is up")] = 0.0
    pitch: Annotated[float, Meta(ge=0, le=60, description="degrees; 0 looks straight down")] = 0.0
    markers: Annotated[
        Positions | None, spelled("pins: lat,lng|lat,lng", max_points=MAX_MARKERS)
    ] = None
    labels: Annotated[
        str,
        Meta(
            max_length=4_000,
            description="texts of the pins, in their order: A|B|Town hall; one or two characters "
            "stand in the pin, longer ones below",
        ),
    ] = ""
    marker_color: Annotated[
        str, Meta(max_length=20, description="color of the pins: #d0342c or red")
    ] = "red"
    path: Annotated[
        Positions | None, spelled("a line: lat,lng|lat,lng or GeoJSON", max_points=20_000)
    ] = None
    stroke: Annotated[str, Meta(max_length=20, description="color of the line")] = "blue"
    stroke_width: Annotated[float, Meta(ge=0, le=40, description="width of the line, pixels")] = 4.0
    geojson: Annotated[
        dict[str, Any] | None,
        Meta(
            description="GeoJSON drawn over the map; properties as in simplestyle-spec: "
            "marker-color, stroke, stroke-width, stroke-opacity, fill, fill-opacity, and label"
        ),
    ] = None


class RasterParams(Params):
    """Which tile."""

    z: Annotated[int, Meta(ge=1, le=_RASTER_ZOOM, description="zoom")]
    x: Annotated[int, Meta(ge=0, description="column, from the west")]
    y: Annotated[str, Meta(description="row from the north: 5973.png, 5973@2x.webp")]
    theme: Annotated[Literal["light", "dark"], Meta(description="colors of the map")] = "light"


@endpoint(
    "/api/v1/static/{size}",
    methods=("GET", "POST"),
    summary="A map as a picture: PNG, JPEG, WebP or PDF, with pins, lines and areas",
    tag=PICTURES,
    heavy=True,
    media_types=tuple(MEDIA_TYPES.values()),
    schema={"type": "string", "format": "binary"},
    examples=[
        Example({"size": "800x500.png", "center": "43.7384,7.4246", "zoom": 15}),
        Example({"size": "600x400@2x.png", "markers": "43.7384,7.4246|43.7311,7.4197",
                 "labels": "A|B"}),
    ],
)  # fmt: skip
def static(ctx: Context, params: StaticParams) -> Answer:
    """Return the picture of a view: `center` and `zoom`, or `bbox`, or else all that is drawn.

    Needs the extra `images` and OpenGL (by Mesa's software). Every picture names OpenStreetMap's
    contributors in its corner; keep that visible.
    """
    size = read_size(params.size)
    marks = _read_marks(params)
    camera = _find_camera(ctx, params, size, marks)
    look = {
        "language": params.lang,
        "relief": params.relief and has_rasters(ctx.resources),
        "raised": params.buildings == "3d",
    }
    style = add_marks(_style(ctx, params.theme, **look), marks)
    drawn = _draw(ctx, style, size, camera, params.bearing, params.pitch, marks.pins, ATTRIBUTION)
    headers = {"Cache-Control": _AGE}
    return Answer(drawn, MEDIA_TYPES[size.format], headers=headers)


@endpoint(
    "/api/v1/raster/{z}/{x}/{y}",
    summary="A raster tile, for clients that draw no vector tiles",
    tag=PICTURES,
    heavy=True,
    map_session="tile",
    media_types=(MEDIA_TYPES["png"], MEDIA_TYPES["webp"]),
    schema={"type": "string", "format": "binary"},
    examples=[Example({"z": 15, "x": 17059, "y": "11949.png"})],
)
def raster(ctx: Context, params: RasterParams) -> Answer:
    """Return 256 × 256 pixels, with @2x 512 × 512, of the usual scheme of web maps.

    Each tile is drawn once and kept. Drawing takes a tenth of a second and more, so vector tiles
    serve better wherever the client can draw them. The map that shows the tiles has to name
    OpenStreetMap's contributors.
    """
    found = _ROW.fullmatch(params.y)
    if found is None:
        raise InvalidRequest.of("y", "a row and a kind are needed: 5973.png, 5973@2x.webp")
    scale, kind = int(found[2] or 1), cast(Format, found[3])
    tile = check_address(params.z, params.x, int(found[1]))
    caches = cast(RasterCaches, ctx.part("raster"))
    cache = caches.get(f"{params.theme}-{scale}-{kind}")
    data = cache.find(tile)
    if data is None:
        data = _draw_tile(ctx, tile, scale, kind, params.theme)
        cache.put(tile, data)
    return Answer(data, MEDIA_TYPES[kind], headers={"Cache-Control": _AGE})


def read_size(text: str) -> Size:
    """Return what a size says; raise InvalidRequest."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise InvalidRequest.of(
            "size", "must be WIDTHxHEIGHT.KIND, such as 800x600.png or 800x600@2x.jpg; kinds are "
            "png, jpg, webp and pdf",
        )  # fmt: skip
    width, height, scale = int(found[1]), int(found[2]), int(found[3] or 1)
    if max(width, height) > MAX_SIDE:
        raise InvalidRequest.of("size", f"a side may have at most {MAX_SIDE} pixels")
    if min(width, height) < 16:
        raise InvalidRequest.of("size", "a side must have at least 16 pixels")
    if width * height * scale * scale > MAX_PIXELS:
        raise InvalidRequest.of(
            "size", f"scaled by {scale} it has more than {MAX_PIXELS:,} pixels; ask for less"
        )
    return Size(width, height, scale, cast(Format, found[4]))


def _read_marks(params: StaticParams) -> Marks:
    parts = []
    if params.geojson is not None:
        parts.append(read_marks(params.geojson))
    if params.path is not None:
        if len(params.path) < 2:
            raise InvalidRequest.of("path", "needs two positions or more")
        parts.append(
            make_line(params.path.lonlat, read_color(params.stroke, "stroke"), params.stroke_width)
        )
    labels = params.labels.split("|") if params.labels else []
    count = 0 if params.markers is None else len(params.markers)
    if len(labels) > count:
        raise InvalidRequest.of("labels", f"{len(labels)} texts for {count} markers")
    color = read_color(params.marker_color, "marker_color")
    if params.markers is not None:
        parts.append(make_pins(params.markers.lonlat, labels, color))
    return join_marks(parts)


def _find_camera(ctx: Context, params: StaticParams, size: Size, marks: Marks) -> Camera:
    if params.center is not None:
        if params.bbox is not None:
            raise InvalidRequest.of("bbox", "center is given too; give one of them")
        if params.zoom is None:
            raise InvalidRequest.of("zoom", "center needs a zoom, such as 15")
        return Camera(params.center.lon, params.center.lat, params.zoom)
    if params.bbox is not None:
        west, south, east, north = params.bbox
        lonlat = np.array([[west, south], [east + 360 * (east < west), north]])
    elif len(marks.lonlat):
        lonlat = marks.lonlat
    else:
        west, south, east, north = find_view(ctx.snapshot) or get_source(ctx).table.info.bounds
        lonlat = np.array([[west, south], [east + 360 * (east < west), north]])
    camera = fit(lonlat, size.width, size.height, min(params.padding, min(size[:2]) // 3))
    return camera if params.zoom is None else camera._replace(zoom=params.zoom)


def _draw_tile(ctx: Context, tile: TileId, scale: int, kind: Format, theme: str) -> bytes:
    side = _TILE_PX + 2 * _MARGIN_PX
    # MapLibre's zooms count tiles of 512 pixels.
    unit = GRID_SIZE / (1 << tile.z)
    lon, lat = unproject((tile.x + 0.5) * unit, (tile.y + 0.5) * unit)
    camera = Camera(lon, lat, tile.z - 1.0)
    style = _style(ctx, theme)
    size = Size(side, side, scale, kind)
    return _draw(ctx, style, size, camera, 0.0, 0.0, [], "", margin=_MARGIN_PX)


def _style(ctx: Context, theme: str, **look: Any) -> dict[str, Any]:
    """Return the style with addresses of this server, opened by a map session where keys count."""
    gate, suffix = ctx.services.accounts, ""
    if gate is not None:
        suffix = f"?session={gate.begin_map(ctx.account_id, ctx.key_id).token}"
    return make_style(
        THEMES[theme],
        get_source(ctx).table.info,
        base_url=f"{ctx.services.own_address}/api/v1",
        key_suffix=suffix,
        **look,
    )


def _draw(
    ctx: Context, style: dict[str, Any], size: Size, camera: Camera, bearing: float, pitch: float,
    pins: list[str], attribution: str, *, margin: int = 0,
) -> bytes:  # fmt: skip
    picture = Picture(
        orjson.dumps(style), size.width, size.height, size.scale,
        camera.lon, camera.lat, camera.zoom, bearing % 360, pitch, size.format,
        pins, attribution, str(FONT_FILE), margin,
    )  # fmt: skip
    return _renderers(ctx.services).draw(picture, ctx.deadline)


def _renderers(services: Services) -> Renderers:
    count = services.settings.image_processes
    if not count:
        raise NotOffered("this server draws no pictures (MAPYARD_IMAGE_PROCESSES is 0)")
    found: Renderers = services.get("renderers", lambda _: Renderers(count))
    return found


class RasterCaches:
    """The raster tiles of a dataset that were drawn, by theme, scale and kind."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._caches: dict[str, TileCache] = {}

    def get(self, name: str) -> TileCache:
        """Return the cache of a theme, scale and kind."""
        settings = self._snapshot.settings
        if name not in self._caches:
            self._caches[name] = TileCache(
                settings.data / "cache" / "raster" / name, self._snapshot.id,
                settings.tile_cache_bytes // 8, _MEMORY_BYTES,
            )  # fmt: skip
        return self._caches[name]


register_part("raster", RasterCaches)
