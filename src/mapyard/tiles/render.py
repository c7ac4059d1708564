"""One tile out of the feature table."""

from __future__ import annotations

import zlib
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import offsets_of, ranges
from mapyard.tiles.cut import cut
from mapyard.tiles.mercator import BUFFER, MAX_ZOOM, TileId, tile_box
from mapyard.tiles.mvt import Batch, encode_tile, split_layers
from mapyard.tiles.schema import LAYER_INDEX, LAYERS
from mapyard.tiles.shapes import LINE, POINT, POLYGON, Shapes, concatenate
from mapyard.tiles.table import Table

Ints = NDArray[np.int64]

_LAYER_NAMES = [layer.name for layer in LAYERS]
_LAYER_KINDS = np.array([layer.kind for layer in LAYERS], np.uint8)
_LINE_LAYERS = frozenset(np.flatnonzero(_LAYER_KINDS == LINE).tolist())
_OCEAN = LAYER_INDEX["ocean"]


def render_tile(table: Table, tile: TileId, layers: Collection[int] | None = None) -> bytes:
    """Return the uncompressed tile, b"" when nothing is in it; the same bytes on every machine.

    All its layers, or some of them.
    """
    found = table.find(tile_box(tile, BUFFER), tile.z)
    layer = table.layers_of(found)
    if layers is not None:
        wanted = np.isin(layer, list(layers))
        found, layer = found[wanted], layer[wanted]
    if not len(found):
        return b""
    counts, attribute, value = table.tags(found, tile.z)
    kinds = _LAYER_KINDS[layer]
    groups = _groups(layer, counts, attribute, value) if tile.z < MAX_ZOOM else None
    parts: list[Shapes] = []
    sources: list[Ints] = []
    batches = [(kind, (kinds == kind) & (layer != _OCEAN)) for kind in (POINT, LINE, POLYGON)]
    for kind, mask in [*batches, (POLYGON, layer == _OCEAN)]:
        chosen = np.flatnonzero(mask)
        if not len(chosen):
            continue
        shapes, left = cut(
            table.shapes,
            kind,
            tile,
            groups[chosen] if groups is not None else None,
            dissolve=layer[chosen[0]] == _OCEAN,
            chosen=found[chosen],
        )
        parts.append(shapes)
        sources.append(chosen[left])
    source = np.concatenate(sources)
    if not len(source):
        return b""
    order = np.argsort(source, kind="stable")
    source = source[order]
    tag_place = ranges(offsets_of(counts)[source], counts[source])
    batch = Batch(
        layer[source],
        kinds[source],
        table.ids[found[source]],
        concatenate(parts).take(order),
        counts[source],
        attribute[tag_place],
        value[tag_place],
    )
    return encode_tile(batch, _LAYER_NAMES, table.attribute_names, table.values)


def replace_layers(table: Table, tile: TileId, before: bytes, changed: Collection[int]) -> bytes:
    """Return the tile out of one from before and the layers in which it has changed.

    Lines are drawn all or not: whether any are joined is asked of all layers at once.
    """
    if not _LINE_LAYERS.isdisjoint(changed):
        changed = _LINE_LAYERS.union(changed)
    layers = split_layers(before)
    for index in changed:
        layers.pop(_LAYER_NAMES[index], None)
    layers |= split_layers(render_tile(table, tile, changed))
    return b"".join(layers[name] for name in _LAYER_NAMES if name in layers)


def compress_tile(tile: bytes) -> bytes:
    """Return gzip bytes, without a time, so that equal tiles stay equal."""
    stream = zlib.compressobj(6, zlib.DEFLATED, 31)
    return stream.compress(tile) + stream.flush()


def _groups(layer: Ints, counts: Ints, attribute: Ints, value: Ints) -> Ints:
    """Return a number that is the same for features of one layer with the same attributes."""
    mixed = (attribute << 40 | value).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    ends = np.cumsum(counts)
    of_feature = total[ends] - total[ends - counts]
    return (of_feature + layer.astype(np.uint64) * np.uint64(0x94D049BB133111EB)).view(np.int64)
