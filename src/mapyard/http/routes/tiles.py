"""Vector tiles, their TileJSON, and what a map needs to draw them: style, glyphs, sprite."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Meta

from mapyard.errors import InvalidRequest, NotFound
from mapyard.http import metrics
from mapyard.http.answer import GEOJSON, JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.errors import NotOffered
from mapyard.http.reply import Later
from mapyard.library.questions.elements import TagsFilter, TypeFilter, find_rows_in
from mapyard.library.questions.tiles import Look, get_source, read_address
from mapyard.library.ways import has_rasters
from mapyard.params.parser import NoParams, Params, Tags
from mapyard.tiles.glyphs import FONT_STACKS, GlyphSource, find_font
from mapyard.tiles.mercator import MAX_ZOOM
from mapyard.tiles.own import find_box, render_own_tile
from mapyard.tiles.source import TileSource
from mapyard.tiles.sprite import read_sprite
from mapyard.tiles.style import THEMES, make_style
from mapyard.tiles.tilejson import make_tilejson
from mapyard.tiles.world import read_world

MVT: Final = "application/vnd.mapbox-vector-tile"
PBF: Final = "application/x-protobuf"
TILES: Final = "Tiles"
#: Tiles change with the dataset; clients ask again after an hour, mostly to hear 304.
_TILE_AGE: Final = "public, max-age=3600"
#: Glyphs and sprites change with the software only.
_ASSET_AGE: Final = "public, max-age=604800"
_MAX_ANSWERS: Final = 512


class TileParams(Params):
    """A tile address; `y` may end in .mvt or .pbf."""

    z: Annotated[int, Meta(ge=0, le=MAX_ZOOM, description="zoom; 14 is drawn at higher zooms too")]
    x: Annotated[int, Meta(ge=0, description="column, from the west")]
    y: Annotated[str, Meta(description="row from the north, with or without .mvt or .pbf")]


class StyleParams(Look):
    """Which style."""


class GlyphParams(Params):
    """Which glyphs."""

    fontstack: Annotated[str, Meta(max_length=200, description="font names, comma-separated")]
    range: Annotated[str, Meta(max_length=20, description="code points, such as 0-255.pbf")]


class SpriteParams(Params):
    """Which file of the sprite."""

    file: Annotated[str, Meta(max_length=30, description="sprite.json, sprite@2x.png, …")]


@endpoint(
    "/api/v1/tiles.json",
    summary="TileJSON 3.0: where the tiles are and what they hold",
    tag=TILES,
    map_session="open",
    inline=True,
    media_types=(JSON,),
    schema={"type": "object", "required": ["tilejson", "tiles", "vector_layers"]},
    examples=[Example({})],
)
def tilejson(ctx: Context, params: NoParams) -> Answer:
    """Describe the tiles; a `session` or `api_key` in the query goes on in the tile address."""
    source = get_source(ctx)
    address = f"{ctx.base_url}/api/v1/tiles/{{z}}/{{x}}/{{y}}.mvt{ctx.key_suffix}"
    return _tagged(make_tilejson(source.table.info, address, ctx.snapshot.id), "no-cache")


@endpoint(
    "/api/v1/tiles/style.json",
    summary="A MapLibre style for these tiles, light or dark",
    tag=TILES,
    map_session="open",
    inline=True,
    media_types=(JSON,),
    schema={"type": "object", "required": ["version", "sources", "layers"]},
)
def style(ctx: Context, params: StyleParams) -> Answer:
    """Return the style; a `session` or `api_key` in the query is carried into all its addresses."""
    source = get_source(ctx)
    base = f"{ctx.base_url}/api/v1"
    made = make_style(
        THEMES[params.theme],
        source.table.info,
        base_url=base,
        key_suffix=ctx.key_suffix,
        language=params.lang,
        relief=params.relief and has_rasters(ctx.resources),
        raised=params.buildings == "3d",
    )
    return _tagged(made, "no-cache")


@endpoint(
    "/api/v1/tiles/session",
    methods=("POST",),
    summary="Begin a map session: one request, then a map draws for 15 minutes",
    tag=TILES,
    map_session="begin",
    needs_dataset=False,
    media_types=(JSON,),
    schema={
        "type": "object",
        "required": ["token", "expires_at", "tiles"],
        "properties": {
            "token": {"type": "string", "description": "goes as ?session=TOKEN"},
            "expires_at": {"type": "string", "format": "date-time"},
            "tiles": {"type": "integer", "description": "how many tiles it shows"},
        },
    },
)
def session(ctx: Context, params: NoParams) -> Answer:
    """Return a token that opens style, TileJSON, sprite, glyphs and tiles without counting units.

    Counts as one standard request. `?session=TOKEN` works for 15 minutes and for `tiles` tiles; a
    style fetched with it names all its addresses with it. A session has a limit per minute of its
    own, ten times the plan's and at least 300, which the headers of its answers show.
    """
    gate = ctx.services.accounts
    if gate is None:
        raise NotOffered("this server asks for no keys, so maps need no session")
    grant = gate.begin_map(ctx.account_id, ctx.key_id)
    ends = dt.datetime.fromtimestamp(grant.ends_s, dt.UTC).isoformat().replace("+00:00", "Z")
    return Answer.json(
        {"token": grant.token, "expires_at": ends, "tiles": grant.tiles},
        headers={"Cache-Control": "no-store"},
    )


@endpoint(
    "/api/v1/tiles/glyphs/{fontstack}/{range}",
    summary="Glyphs of a font, 256 code points at a time, as signed distance fields",
    tag=TILES,
    map_session="open",
    inline=True,
    needs_dataset=False,
    media_types=(PBF,),
    schema={"type": "string", "format": "binary"},
    examples=[Example({"fontstack": "Noto Sans Regular", "range": "0-255.pbf"})],
)
def glyphs(ctx: Context, params: GlyphParams) -> Answer:
    """Return the glyphs of the first known font of the stack.

    Fonts of well-known styles (Open Sans, Roboto, VersaTiles' names …) are drawn in Noto Sans.
    """
    name = find_font(params.fontstack)
    if name is None:
        known = ", ".join(FONT_STACKS)
        raise NotFound(f"fontstack: no font {params.fontstack[:80]}; there are {known}")
    first, _, last = params.range.removesuffix(".pbf").partition("-")
    if not (first.isdecimal() and last.isdecimal()) or len(first) > 5:
        raise InvalidRequest.of("range", "write it as 0-255.pbf, 256-511.pbf, …, 65280-65535.pbf")
    start = int(first)
    if start % 256 or int(last) != start + 255 or start > 65_280:
        raise InvalidRequest.of("range", "ranges are 0-255, 256-511, …, 65280-65535")
    fonts: GlyphSource = ctx.services.get(
        "glyphs", lambda services: GlyphSource(services.settings.data / "cache" / "glyphs")
    )

    def make() -> Answer:
        return _asset(fonts.get(name, start), PBF)

    ready = fonts.find_ready(name, start)
    if ready is None:
        raise Later(make)
    return _asset(ready, PBF)


@endpoint(
    "/api/v1/tiles/sprites/{file}",
    summary="The icons of the style in one picture, and where each one is",
    tag=TILES,
    map_session="open",
    inline=True,
    needs_dataset=False,
    media_types=("image/png", JSON),
    schema={"type": "string", "format": "binary"},
    examples=[Example({"file": "sprite.json"})],
)
def sprite(ctx: Context, params: SpriteParams) -> Answer:
    """Return the picture or its index, plain or @2x."""
    data = read_sprite(params.file)
    if data is None:
        raise NotFound(
            "there are sprite.json, sprite.png, sprite@2x.json and sprite@2x.png, "
            "and the same with sprite-dark"
        )
    return _asset(data, "image/png" if params.file.endswith(".png") else JSON)


@endpoint(
    "/api/v1/tiles/world.json",
    summary="The land of the world, coarsely, for maps that show more than the data",
    tag=TILES,
    map_session="open",
    inline=True,
    needs_dataset=False,
    schema="GeoJsonFeature",
)
def world(ctx: Context, params: NoParams) -> Answer:
    """Return one MultiPolygon, out of Natural Earth (public domain)."""
    return _asset(read_world(), GEOJSON)


@endpoint(
    "/api/v1/tiles/{z}/{x}/{y}",
    summary="A vector tile in the Shortbread 1.1 schema",
    tag=TILES,
    map_session="tile",
    inline=True,
    media_types=(MVT,),
    schema={"type": "string", "format": "binary"},
    headers={"ETag": "names the tile's bytes: send it as If-None-Match to hear 304"},
    examples=[Example({"z": 14, "x": 8529, "y": 5974})],
)
def tile(ctx: Context, params: TileParams) -> Answer:
    """Return the tile as Mapbox Vector Tile 2.1; 204 when nothing is in it."""
    source = get_source(ctx)
    takes_gzip = _accepts_gzip(ctx.headers.get("accept-encoding", ""))
    if takes_gzip and ctx.path in source.answers:
        known: Answer = source.answers[ctx.path]
        return known
    wanted = read_address(params.z, params.x, params.y)
    ready = source.find_ready(wanted)
    if ready is None:
        deadline = ctx.deadline

        def make() -> Answer:
            deadline.check()
            metrics.TILES_MADE.inc()
            return _answer(source, ctx.path, source.get(wanted), takes_gzip)

        raise Later(make)
    return _answer(source, ctx.path, ready, takes_gzip)


class CustomParams(Params):
    """Which tile, of what."""

    z: Annotated[int, Meta(ge=0, le=22, description="zoom")]
    x: Annotated[int, Meta(ge=0, description="column, from the west")]
    y: Annotated[str, Meta(description="row from the north, with or without .mvt or .pbf")]
    tags: TagsFilter = Tags()
    type: TypeFilter = ()


@endpoint(
    "/api/v1/tiles/custom/{z}/{x}/{y}",
    summary="A vector tile of the elements with given tags: a layer of your own",
    tag=TILES,
    map_session="tile",
    media_types=(MVT,),
    schema={"type": "string", "format": "binary"},
    examples=[Example({"z": 14, "x": 8529, "y": "5974", "tags[amenity]": "cafe|bar"})],
)
def custom(ctx: Context, params: CustomParams) -> Answer:
    """Return the tile as Mapbox Vector Tile 2.1, layer `features`, with all tags; 204 when empty.

    Its ids are OpenStreetMap's. A tile shows at most 20,000 elements; where there are more, an even
    share of them. `tags` and `type` are those of /api/v1/features.
    """
    if not (params.tags.pairs or params.tags.texts):
        raise InvalidRequest.of("tags", "at least one is needed, such as tags[amenity]=cafe")
    wanted = read_address(params.z, params.x, params.y)
    rows = find_rows_in(ctx, params.type, params.tags, find_box(wanted))
    data = render_own_tile(ctx.store, wanted, ctx.deadline, rows)
    headers = {"Cache-Control": _TILE_AGE}
    if not data:
        return Answer(b"", MVT, 204, headers)
    return Answer(data, MVT, 200, {**headers, "ETag": f'W/"{_digest(data)}"'})


def _answer(source: TileSource, path: str, data: bytes, takes_gzip: bool) -> Answer:
    """Return stored gzip bytes as they are, or unpacked for clients that do not take gzip."""
    if not data:
        return Answer(b"", MVT, 204, {"Cache-Control": _TILE_AGE})
    # The trailer of a gzip stream is the checksum and the length of what it holds.
    version = data[-8:].hex()
    headers = {"Cache-Control": _TILE_AGE}
    if takes_gzip:
        headers |= {"ETag": f'"{version}-gzip"', "Content-Encoding": "gzip"}
        answer = Answer(data, MVT, 200, {**headers, "Vary": "Accept-Encoding"})
        if len(source.answers) >= _MAX_ANSWERS:
            source.answers.clear()
        source.answers[path] = answer
        return answer
    return Answer(gzip.decompress(data), MVT, 200, {**headers, "ETag": f'W/"{version}"'})


@lru_cache(256)
def _accepts_gzip(header: str) -> bool:
    for part in header.lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() in ("gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _tagged(value: object, cache_control: str) -> Answer:
    answer = Answer.json(value)
    assert isinstance(answer.body, bytes)
    answer.headers = {"Cache-Control": cache_control, "ETag": f'W/"{_digest(answer.body)}"'}
    return answer


def _asset(data: bytes, media_type: str) -> Answer:
    return Answer(
        data, media_type, 200, {"Cache-Control": _ASSET_AGE, "ETag": f'W/"{_digest(data)}"'}
    )
