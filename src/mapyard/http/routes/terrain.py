"""Heights as raster tiles, for maps with relief."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any, Final

from msgspec import Meta

from mapyard.elevation.relief import MIN_ZOOM, SIDE_PX, draw_relief, find_bounds, find_max_zoom
from mapyard.errors import InvalidRequest
from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions.tiles import check_address
from mapyard.library.ways import get_rasters
from mapyard.params.parser import NoParams, Params

PNG: Final = "image/png"
TILES: Final = "Tiles"
_ROW: Final = re.compile(r"([0-9]{1,8})\.png")
_AGE: Final = "public, max-age=86400"


class TerrainParams(Params):
    """Which tile."""

    z: Annotated[int, Meta(ge=MIN_ZOOM, le=22, description="zoom")]
    x: Annotated[int, Meta(ge=0, description="column, from the west")]
    y: Annotated[str, Meta(description="row from the north: 1493.png")]


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
    data = draw_relief(get_rasters(ctx), *tile)
    if not data:
        return Answer(b"", PNG, 204, {"Cache-Control": _AGE})
    version = hashlib.blake2b(data, digest_size=12).hexdigest()
    return Answer(data, PNG, 200, {"Cache-Control": _AGE, "ETag": f'"{version}"'})
