"""Heights as raster tiles and contour lines as vector tiles, for maps with relief."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from mapyard.elevation import contours
from mapyard.elevation.relief import MIN_ZOOM, SIDE_PX, draw_relief, find_bounds, find_max_zoom
from mapyard.errors import InvalidRequest
from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions.tiles import check_address, read_address
from mapyard.library.ways import get_rasters
from mapyard.params.parser import NoParams, Params
from mapyard.tiles.contours import ATTRIBUTES, LAYERS, encode_contours

PNG: Final = "image/png"
MVT: Final = "application/vnd.mapbox-vector-tile"
TILES: Final = "Tiles"
_ROW: Final = re.compile(r"([0-9]{1,8})\.png")
_AGE: Final = "public, max-age=86400"


class TerrainParams(Params):
    """Which tile."""

    z: Annotated[int, Meta(ge=MIN_ZOOM, le=22, description="zoom")]
    x: Annotated[int, Meta(ge=0, description="column, from the west")]
    y: Annotated[str, Meta(description="row from the north: 1493.png")]


class ContoursParams(Params, kw_only=True):
    """In which unit the heights of the lines are round."""

    unit: Annotated[Literal["m", "ft"], Meta(description="meters or feet")] = "m"


class ContourTileParams(ContoursParams, kw_only=True):
    """Which tile."""

    z: Annotated[
        int, Meta(ge=MIN_ZOOM, le=contours.MAX_ZOOM, description="zoom; 14 is drawn above, too")
    ]
    x: Annotated[int, Meta(ge=0, description="column, from the west")]
    y: Annotated[str, Meta(description="row from the north, with or without .mvt or .pbf")]


@endpoint(
    "/api/v1/terrain.json",
    summary="TileJSON of the heights: where the tiles are and how they are encoded",
    tag=TILES,
    map_session="open",
    needs_dataset=False,
    media_types=(JSON,),
    schema={"type": "object"},
    errors=("not_installed",),
    examples=[Example({})],
)
def terrain_json(ctx: Context, params: NoParams) -> Answer:
    """Return TileJSON 3.0 with `encoding` terrarium, as MapLibre's raster-dem sources read it."""
    rasters = get_rasters(ctx)
    described: dict[str, Any] = {
        "tilejson": "3.0.0",
        "name": "Heights",
        "encoding": "terrarium",
        "tileSize": SIDE_PX,
        "tiles": [f"{ctx.base_url}/api/v1/terrain/{{z}}/{{x}}/{{y}}.png{ctx.key_suffix}"],
        "minzoom": MIN_ZOOM,
        "maxzoom": find_max_zoom(rasters),
        "bounds": find_bounds(rasters),
    }
    return Answer.json(described, headers={"Cache-Control": "no-cache"})


@endpoint(
    "/api/v1/terrain/{z}/{x}/{y}",
    summary="A tile of heights, for shaded relief and terrain in 3D",
    tag=TILES,
    map_session="tile",
    needs_dataset=False,
    media_types=(PNG,),
    schema={"type": "string", "format": "binary"},
    errors=("not_installed",),
    examples=[Example({"z": 12, "x": 2132, "y": "1493.png"})],
)
def terrain(ctx: Context, params: TerrainParams) -> Answer:
    """Return 256 × 256 heights in Terrarium encoding; 204 where no raster has heights.

    Meters above the sea are red × 256 + green + blue ÷ 256 − 32,768.
    """
    found = _ROW.fullmatch(params.y)
    if found is None:
        raise InvalidRequest.of("y", "a row number is needed, such as 1493.png")
    tile = check_address(params.z, params.x, int(found[1]))
    return _answer(draw_relief(get_rasters(ctx), *tile), PNG)


@endpoint(
    "/api/v1/contours.json",
    summary="TileJSON of the contour lines",
    tag=TILES,
    map_session="open",
    needs_dataset=False,
    media_types=(JSON,),
    schema={"type": "object", "required": ["tilejson", "tiles", "vector_layers"]},
    errors=("not_installed",),
    examples=[Example({})],
)
def contours_json(ctx: Context, params: ContoursParams) -> Answer:
    """Return TileJSON 3.0: one layer, `contour` (meters) or `contour_ft`."""
    rasters = get_rasters(ctx)
    address = f"{ctx.base_url}/api/v1/contours/{{z}}/{{x}}/{{y}}.mvt{ctx.key_suffix}"
    if params.unit != "m":
        address += f"{'&' if ctx.key_suffix else '?'}unit={params.unit}"
    described: dict[str, Any] = {
        "tilejson": "3.0.0",
        "name": "Contour lines",
        "tiles": [address],
        "minzoom": MIN_ZOOM,
        "maxzoom": contours.MAX_ZOOM,
        "bounds": find_bounds(rasters),
        "vector_layers": [{"id": LAYERS[params.unit], "fields": ATTRIBUTES}],
    }
    return Answer.json(described, headers={"Cache-Control": "no-cache"})


@endpoint(
    "/api/v1/contours/{z}/{x}/{y}",
    summary="A vector tile of contour lines",
    tag=TILES,
    map_session="tile",
    needs_dataset=False,
    media_types=(MVT,),
    schema={"type": "string", "format": "binary"},
    errors=("not_installed",),
    examples=[Example({"z": 12, "x": 2132, "y": "1493.mvt"})],
)
def contour_tile(ctx: Context, params: ContourTileParams) -> Answer:
    """Return lines every 500 m at zoom 9 to every 10 m at zoom 14; 204 where there are none.

    `height` is that of the line, `nth_line` 10, 5, 2 or 1: the greatest that divides its number.
    """
    tile = read_address(params.z, params.x, params.y)
    lines = contours.trace_contours(get_rasters(ctx), *tile, params.unit)
    ctx.deadline.check()
    return _answer(encode_contours(lines, LAYERS[params.unit]), MVT)


def _answer(data: bytes, media_type: str) -> Answer:
    if not data:
        return Answer(b"", media_type, 204, {"Cache-Control": _AGE})
    version = hashlib.blake2b(data, digest_size=12).hexdigest()
    return Answer(data, media_type, 200, {"Cache-Control": _AGE, "ETag": f'"{version}"'})
