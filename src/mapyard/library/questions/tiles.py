"""Vector tiles."""

from __future__ import annotations

import gzip
from typing import Annotated, Final, Literal, cast

from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.snapshot import Snapshot, register_part
from mapyard.params.parser import Params
from mapyard.tiles.cache import TileCache
from mapyard.tiles.mercator import MAX_ZOOM, TileId
from mapyard.tiles.source import TileSource

_MEMORY_BYTES: Final = 32_000_000


def _open_tiles(snapshot: Snapshot) -> TileSource:
    settings = snapshot.settings
    cache = TileCache(
        settings.data / "cache", snapshot.id, settings.tile_cache_bytes, _MEMORY_BYTES
    )
    return TileSource(snapshot.folder, cache)


register_part("tiles", _open_tiles)


class TileAddress(Params):
    """Which tile."""

    z: Annotated[int, Meta(ge=0, le=MAX_ZOOM, description="zoom; 14 is drawn at higher zooms too")]
    x: Annotated[int, Meta(ge=0, description="column, from the west")]
    y: Annotated[int, Meta(ge=0, description="row, from the north")]


class Look(Params, kw_only=True):
    """How a map looks: the choices of a style, and of pictures by it."""

    theme: Annotated[Literal["light", "dark"], Meta(description="colors of the style")] = "light"
    lang: Annotated[
        str, Meta(max_length=35, description="language of labels where the tiles have it")
    ] = ""
    relief: Annotated[
        bool, Meta(description="shade the ground and draw contour lines, where there are heights")
    ] = False
    buildings: Annotated[
        Literal["flat", "3d"], Meta(description="3d: as high as they are, at zoom 15 and above")
    ] = "flat"


@question("tile", path="/api/v1/tiles/{z}/{x}/{y}", method="GET", leading=("z", "x", "y"))
def tile(call: Call, params: TileAddress) -> bytes:
    """Return a vector tile in the Shortbread 1.1 schema (Mapbox Vector Tile 2.1), not compressed.

    Empty bytes where nothing is in it.
    """
    data = get_source(call).get(check_address(params.z, params.x, params.y))
    return gzip.decompress(data) if data else b""


def get_source(call: Call) -> TileSource:
    """Return the tiles of the dataset; raise NotInstalled where it was built without."""
    return cast(TileSource, call.part("tiles"))


def read_address(z: int, x: int, y: str) -> TileId:
    """Return a tile's address whose row may end in .mvt or .pbf, as maps ask for it."""
    row = y.removesuffix(".mvt").removesuffix(".pbf")
    if not row.isdecimal() or not row.isascii() or len(row) > 8:
        raise InvalidRequest.of("y", "a row number is needed, such as 5753 or 5753.mvt")
    return check_address(z, x, int(row))


def check_address(z: int, x: int, y: int) -> TileId:
    """Return a tile's address; raise InvalidRequest where the zoom has no such tile."""
    side = 1 << z
    for name, value in (("x", x), ("y", y)):
        if not 0 <= value < side:
            raise InvalidRequest.of(name, f"at zoom {z} it goes from 0 to {side - 1}")
    return TileId(z, x, y)
