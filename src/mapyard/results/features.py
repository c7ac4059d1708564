"""Features as GeoJSON bytes, from rows of the store; no Python object per tag or coordinate."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.geo.geojson import DEFAULT_PRECISION, dump_floats, write_geometries
from mapyard.osm.elements import TYPE_NAMES
from mapyard.results.geometries import (
    APART,
    WHOLE,
    WRAPPERS,
    Bodies,
    write_bodies,
    write_row_body,
)
from mapyard.results.output import DEFAULT_OUTPUT, Output
from mapyard.results.shaping import Geometries, find_boxes, find_centers, iter_shaped
from mapyard.store.flags import TAINTED
from mapyard.store.portions import check_size
from mapyard.store.reader import Rows, Store

type Floats = NDArray[np.float64]

_TAINTED: Final = b',"@tainted":true'

#: Lists up to this length are written feature by feature.
_FEW: Final = 10

_FEATURES: Final = [
    [
        f'{{"type":"Feature","id":"{name}/%d","osm_id":%d%b,"geometry":{wrapper},'
        f'"properties":{{"@type":"{name}","@id":%d{comma}%b%b}}}}'.encode()
        for name in TYPE_NAMES
        for wrapper in WRAPPERS
    ]
    for comma in ("", ",")
]
#: By element type and kind of geometry, without tags and with them.
_UNTAGGED, _TAGGED = _FEATURES
#: Features of people's own datasets, which have no type and no properties but theirs.
_OWN: Final = [
    f'{{"type":"Feature","id":"%d"%b,"geometry":{wrapper},"properties":{{%b%b}}}}'.encode()
    for wrapper in WRAPPERS
]
_WAY_FORM: Final = len(WRAPPERS)
_RELATION_FORM: Final = 2 * len(WRAPPERS)


def write_features(
    store: Store,
    rows: Rows,
    output: Output = DEFAULT_OUTPUT,
    *,
    distances_m: Floats | None = None,
    extra: Sequence[bytes] | None = None,
    deadline: Deadline | None = None,
) -> list[bytes]:
    """Return the GeoJSON Feature of each row, in the order of `rows`.

    `distances_m` becomes the property distance_m. `extra` holds for each feature further
    properties as JSON members (`"score":1.5`), or b"". `deadline` is looked at while geometries
    are made over, the one step that can take long.
    """
    count = len(rows)
    if not count:
        return []
    if count <= _FEW and output == DEFAULT_OUTPUT and extra is None and not store.is_own:
        ends = [b""] * count if distances_m is None else _write_distances(distances_m)
        return [
            write_feature(store, row, end=end) for row, end in zip(rows.tolist(), ends, strict=True)
        ]
    rows = np.asarray(rows, np.int64)
    if output.geometry or output.include:
        check_size(store, rows)
    boxed = "bbox" in output.include or "center" in output.include
    geometries: Geometries | None = store.geometries(rows) if boxed else None
    flags = store.flags(rows)
    kinds, bodies, lines = _write_geometries(store, rows, flags, output, geometries, deadline)
    tags = _write_tag_members(store, rows, output.fields)
    more = _write_marks(store, rows, flags, output)
    members = [b""] * count
    if geometries is not None:
        members = _add_boxes(more, geometries, output)
    if output.lang:
        more = [m + n for m, n in zip(more, _write_names(store, rows, output.lang), strict=True)]
    if distances_m is not None:
        more = [m + d for m, d in zip(more, _write_distances(distances_m), strict=True)]
    if extra is not None:
        more = [m + b"," + e if e else m for m, e in zip(more, extra, strict=True)]
    if store.is_own:
        features = [
            _OWN[kind] % (number, member, body, text, end if text else end[1:])
            for kind, number, member, body, text, end in zip(
                kinds.tolist(), store.ids[rows].tolist(), members, bodies, tags, more, strict=True
            )
        ]
        return _put_lines(features, lines)
    features = [
        (_TAGGED if text else _UNTAGGED)[form] % (osm_id, osm_id, member, body, osm_id, text, end)
        for form, osm_id, member, body, text, end in zip(
            (store.types(rows) * len(WRAPPERS) + kinds).tolist(),
            store.ids[rows].tolist(),
            members,
            bodies,
            tags,
            more,
            strict=True,
        )
    ]
    return _put_lines(features, lines)


def _put_lines(features: list[bytes], lines: dict[int, memoryview]) -> list[bytes]:
    """Put lines that came apart into their features."""
    for place, text in lines.items():
        head, tail = features[place].split(APART)
        features[place] = b"".join([head, text, tail])
    return features


def write_feature(
    store: Store, row: int, output: Output = DEFAULT_OUTPUT, *, end: bytes = b""
) -> bytes:
    """Return the feature of one row: the same bytes as `write_features`, at a part of the cost.

    `end` are further properties, each after a comma; they go with default options only.
    """
    if store.is_own or (output is not DEFAULT_OUTPUT and output != DEFAULT_OUTPUT):
        return write_features(store, np.array([row]), output)[0]
    tags = store.row_tag_members_json(row)
    if b'"@' in tags:
        tags = _escape_members(tags)
    flags = store.row_flags(row)
    if flags & TAINTED:
        end = _TAINTED + end
    kind, body = write_row_body(store, row, flags)
    if row >= store.way_start:
        kind += _RELATION_FORM if row >= store.relation_start else _WAY_FORM
    osm_id = store.ids.item(row)
    features = _TAGGED if tags else _UNTAGGED
    return features[kind] % (osm_id, osm_id, b"", body, osm_id, tags, end)


def _write_geometries(
    store: Store,
    rows: Rows,
    flags: NDArray[np.uint8],
    output: Output,
    geometries: Geometries | None,
    deadline: Deadline | None,
) -> Bodies:
    """Return kind and body (see results/geometries.py) of each geometry."""
    if not output.geometry:
        return Bodies(np.zeros(len(rows), np.int64), [b"null"] * len(rows), {})
    reshaped = output.centroid or output.simplify is not None or output.buffer is not None
    if not reshaped and output.precision == DEFAULT_PRECISION:
        return write_bodies(store, rows, flags)
    shapes = geometries if geometries is not None else store.geometries(rows)
    written: list[bytes] = []
    for part in iter_shaped(shapes, output, deadline):
        written += write_geometries(part, precision=output.precision)
    return Bodies(np.full(len(rows), WHOLE), written, {})


def write_tags(store: Store, rows: Rows, fields: Sequence[str] | None = None) -> list[bytes]:
    """Return each row's tags as a JSON object, of `fields` only if given.

    A key that begins with @ gets one more @, so that no tag is taken for @type or @id.
    """
    texts = store.tags_json(rows)
    if fields is not None:
        return [_pick(text, fields) for text in texts]
    if not _has_at_keys(store):
        return texts
    return [_escape_at(text) if b'"@' in text else text for text in texts]


def _has_at_keys(store: Store) -> bool:
    """Return whether any element of the dataset has a key that begins with @; hardly one does."""
    place = bisect_left(store.keys, "@")
    return place < len(store.keys) and store.keys[place].startswith("@")


def _escape_at(text: bytes) -> bytes:
    # In JSON text of an object of strings, `{"` and `,"` unescaped only ever begin a key.
    return text.replace(b',"@', b',"@@').replace(b'{"@', b'{"@@', 1)


def _escape_members(text: bytes) -> bytes:
    return _escape_at(b"{" + text)[1:]


def _pick(text: bytes, fields: Sequence[str]) -> bytes:
    tags = orjson.loads(text)
    picked = {}
    for field in fields:
        key = field[1:] if field.startswith("@@") else field
        if key in tags and (field != key or not field.startswith("@")):
            picked[field] = tags[key]
    return orjson.dumps(picked)


def _write_tag_members(store: Store, rows: Rows, fields: Sequence[str] | None) -> list[bytes]:
    """Return the same without the braces."""
    if fields is not None or _has_at_keys(store):
        return [text[1:-1] for text in write_tags(store, rows, fields)]
    return store.tag_members_json(rows)


def _write_marks(store: Store, rows: Rows, flags: NDArray[np.uint8], output: Output) -> list[bytes]:
    """Return what stands behind the tags, each member beginning with a comma."""
    marks = [b""] * len(rows) if "meta" not in output.include else write_meta(store, rows)
    for place in np.flatnonzero(flags & TAINTED).tolist():
        marks[place] = _TAINTED + marks[place]
    return marks


def _write_names(store: Store, rows: Rows, langs: Sequence[str]) -> list[bytes]:
    """Return `,"@name":…` of each row that has any name."""
    names = find_names(store, rows, langs)
    return [b',"@name":' + orjson.dumps(name) if name else b"" for name in names]


def find_names(store: Store, rows: Rows, langs: Sequence[str]) -> list[str]:
    """Return the name of each row in the first language that has one, else the local one, else "".

    A language falls back to its base: pt-BR to pt.
    """
    keys = [
        f"name:{spelled}"
        for lang in langs
        for spelled in dict.fromkeys((lang, lang.replace("-", "_"), lang.partition("-")[0]))
    ]
    found = np.full(len(rows), -1, np.int64)
    for key in (*dict.fromkeys(keys), "name"):
        if store.find_key(key) >= 0:
            found = np.where(found < 0, store.tag_values(rows, key), found)
    distinct, inverse = np.unique(found, return_inverse=True)
    absent = int(len(distinct) > 0 and distinct[0] < 0)
    texts = [""] * absent + store.values(distinct[absent:])
    return [texts[place] for place in inverse.tolist()]


def write_meta(store: Store, rows: Rows) -> list[bytes]:
    """Return `,"@version":…,"@timestamp":…` of each row, as far as the dataset knows them."""
    meta = store.meta(rows)
    if meta is None:
        return [b""] * len(rows)
    times = np.datetime_as_string(meta.timestamp.astype("datetime64[s]"), timezone="UTC").tolist()
    user_ids, user_names = store.users
    texts = []
    for version, seconds, time, changeset, user in zip(
        meta.version.tolist(),
        meta.timestamp.tolist(),
        times,
        meta.changeset.tolist(),
        meta.user.tolist(),
        strict=True,
    ):
        text = b""
        if version:
            text += b',"@version":%d' % version
        if seconds:
            text += b',"@timestamp":"%b"' % time.encode()
        if changeset:
            text += b',"@changeset":%d' % changeset
        if user:
            text += b',"@user":' + orjson.dumps(user_names[user])
            text += b',"@uid":%d' % user_ids[user]
        texts.append(text)
    return texts


def _add_boxes(properties: list[bytes], geometries: Geometries, output: Output) -> list[bytes]:
    """Add @center to properties; return the bbox member of each feature."""
    boxes = find_boxes(geometries)
    known = ~np.isnan(boxes[:, 0])
    if "center" in output.include:
        centers = np.round(find_centers(boxes), output.precision) + 0.0
        for place in np.flatnonzero(known).tolist():
            properties[place] += b',"@center":' + dump_floats(centers[place])
    if "bbox" not in output.include:
        return [b""] * len(properties)
    rounded = np.round(boxes, output.precision) + 0.0
    return [
        b',"bbox":' + dump_floats(box) if has else b""
        for box, has in zip(rounded, known.tolist(), strict=True)
    ]


def _write_distances(distances_m: Floats) -> list[bytes]:
    """Return `,"distance_m":…` of each distance, rounded to centimeters."""
    text = dump_floats(np.ascontiguousarray(np.round(distances_m, 2)))[1:-1]
    return [b',"distance_m":' + part for part in text.split(b",")]
