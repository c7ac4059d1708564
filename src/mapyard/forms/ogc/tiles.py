"""OGC API Tiles 1.0: the vector tiles of the whole dataset in the web's tile matrix set."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final

from msgspec import Meta

from mapyard.errors import NotFound
from mapyard.forms.ogc.features import BASE, Written, declare, link
from mapyard.forms.ogc.html import page, wants_html, write_links
from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.routes import tiles as routes
from mapyard.params.parser import NoParams, Params

NAME: Final = "WebMercatorQuad"
_MVT: Final = "application/vnd.mapbox-vector-tile"
_DEFINITION: Final = f"http://www.opengis.net/def/tilematrixset/OGC/1.0/{NAME}"
_CRS: Final = "http://www.opengis.net/def/crs/EPSG/0/3857"
_EDGE_M: Final = math.pi * 6_378_137.0
_TILE_PIXELS: Final = 256
#: Meters of a pixel in the standard's scales.
_PIXEL_M: Final = 0.00028
_MOST_ZOOM: Final = 14


class OfSet(Written, kw_only=True):
    """Which tile matrix set."""

    set: Annotated[str, Meta(max_length=40, description=f"{NAME} is served")] = NAME


class OfTile(Params, kw_only=True):
    """Which tile: the row comes before the column."""

    set: Annotated[str, Meta(max_length=40, description=f"{NAME} is served")]
    z: Annotated[int, Meta(ge=0, le=22, description="tile matrix, the zoom")]
    row: Annotated[str, Meta(max_length=12, description="row, from the north")]
    column: Annotated[str, Meta(max_length=12, description="column, from the west")]


def _check(name: str) -> None:
    if name != NAME:
        raise NotFound(f"there is no tile matrix set {name!r}; {NAME} is")


@declare("/tiles", "Tilesets of OGC API Tiles", {})
def tilesets(ctx: Context, params: Written) -> Answer:
    """Return the tilesets: one, of the whole dataset."""
    links = [link(ctx, "/tiles", "self", JSON, "Tilesets")]
    found = _describe(ctx)
    if wants_html(ctx, params.f):
        return page(ctx, BASE, "Vector tiles", write_links([*links, *found["links"]]))
    return Answer.json({"links": links, "tilesets": [found]})


@declare("/tiles/{set}", "A tileset", {"set": NAME})
def tileset(ctx: Context, params: OfSet) -> Answer:
    """Return where the tiles are, and the limits of them."""
    _check(params.set)
    found = _describe(ctx)
    if wants_html(ctx, params.f):
        return page(ctx, BASE, found["title"], write_links(found["links"]))
    return Answer.json(found)


def _describe(ctx: Context) -> dict[str, Any]:
    path = f"/tiles/{NAME}"
    tile = link(ctx, f"{path}/{{tileMatrix}}/{{tileRow}}/{{tileCol}}", "item", _MVT, "A tile")
    bbox = ctx.snapshot.manifest.bbox or [-180, -90, 180, 90]
    return {
        "title": "Mapyard, Shortbread 1.1",
        "dataType": "vector",
        "crs": _CRS,
        "tileMatrixSetURI": _DEFINITION,
        "boundingBox": {"lowerLeft": bbox[:2], "upperRight": bbox[2:]},
        "links": [
            link(ctx, path, "self", JSON, "This tileset"),
            {**tile, "templated": True},
            link(ctx, f"{path}/tilejson", "describedby", JSON, "TileJSON"),
            link(
                ctx, f"/tileMatrixSets/{NAME}",
                "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme", JSON, "Tile matrix set",
            ),
        ],
    }  # fmt: skip


@declare("/tiles/{set}/tilejson", "TileJSON of a tileset", {"set": NAME})
def tilejson(ctx: Context, params: OfSet) -> Answer:
    """Return TileJSON 3.0, as at /api/v1/tiles.json."""
    _check(params.set)
    return routes.tilejson(ctx, NoParams())


@endpoint(
    BASE + "/tiles/{set}/{z}/{row}/{column}",
    summary="A vector tile as of OGC API Tiles",
    tag="OGC API",
    inline=True,
    media_types=(_MVT,),
    schema={"type": "string", "format": "binary"},
    examples=[Example({"set": NAME, "z": 14, "row": 5974, "column": 8529})],
)
def tile(ctx: Context, params: OfTile) -> Answer:
    """Return the tile; row and column are those of the tile matrix."""
    _check(params.set)
    column = params.column.removesuffix(".mvt")
    x = int(column) if column.isascii() and column.isdecimal() else -1
    return routes.tile(ctx, routes.TileParams(z=params.z, x=x, y=params.row))


@declare("/tileMatrixSets", "Tile matrix sets", {})
def matrix_sets(ctx: Context, params: Written) -> Answer:
    """Return the tile matrix sets that tiles come in."""
    links = [link(ctx, f"/tileMatrixSets/{NAME}", "self", JSON, NAME)]
    if wants_html(ctx, params.f):
        return page(ctx, BASE, "Tile matrix sets", write_links(links))
    return Answer.json({"tileMatrixSets": [{"id": NAME, "uri": _DEFINITION, "links": links}]})


@declare("/tileMatrixSets/{set}", "A tile matrix set", {"set": NAME})
def matrix_set(ctx: Context, params: OfSet) -> Answer:
    """Return the definition of the web's square map."""
    _check(params.set)
    matrices = []
    for zoom in range(_MOST_ZOOM + 1):
        cell_m = 2 * _EDGE_M / (_TILE_PIXELS << zoom)
        matrices.append({
            "id": str(zoom), "scaleDenominator": cell_m / _PIXEL_M, "cellSize": cell_m,
            "pointOfOrigin": [-_EDGE_M, _EDGE_M], "tileWidth": _TILE_PIXELS,
            "tileHeight": _TILE_PIXELS, "matrixWidth": 1 << zoom, "matrixHeight": 1 << zoom,
        })  # fmt: skip
    body = {
        "id": NAME, "title": "Google Maps Compatible for the World", "uri": _DEFINITION,
        "crs": _CRS, "orderedAxes": ["X", "Y"],
        "wellKnownScaleSet": "http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible",
        "tileMatrices": matrices,
    }  # fmt: skip
    return Answer.json(body)
