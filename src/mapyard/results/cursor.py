"""Cursors: opaque texts that hold a place in a list, bound to the dataset and to the query.

Layout before base64url: version (1 byte), dataset (6), query (8), position (MessagePack), checksum
(4). The checksum tells a damaged cursor from one of another dataset; a cursor holds no secret and
gives no right, so nothing is signed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final

import msgspec

from mapyard.errors import InvalidCursor, StaleCursor

VERSION: Final = 1
_DATASET_BYTES: Final = 6
_QUERY_BYTES: Final = 8
_CHECK_BYTES: Final = 4
_HEAD_BYTES: Final = 1 + _DATASET_BYTES + _QUERY_BYTES
_MAX_CHARACTERS: Final = 1_024
_PLACE: Final = "at."

type Position = Sequence[int | float | str | bytes]


def hash_query(*parts: Any) -> bytes:
    """Return the hash of what a query asks for, leaving out where in the result it stands.

    Parts are anything that msgspec can write as JSON; equal values give equal hashes in every
    process. Put in the endpoint's name, the filters and the order; leave out limit, cursor and
    what only changes how a feature looks.
    """
    return _digest(msgspec.json.encode(parts, order="deterministic"), _QUERY_BYTES)


def encode_cursor(dataset_id: str, query_hash: bytes, position: Position) -> str:
    """Return the cursor of a position (the sort key of the last item of a page)."""
    data = bytes([VERSION]) + _digest(dataset_id.encode(), _DATASET_BYTES) + query_hash
    data += msgspec.msgpack.encode(position)
    data += _digest(data, _CHECK_BYTES)
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def write_place(position: Position) -> str:
    """Return the cursor of a place that the caller knows, bound to no dataset and no query.

    For lists over several datasets, which are one by their order. A cursor gives no right that a
    filter could not give, so anybody may send one.
    """
    data = msgspec.msgpack.encode(position)
    return _PLACE + base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_cursor(cursor: str, dataset_id: str, query_hash: bytes, kind: Any = list[Any]) -> Any:
    """Return the position in a cursor, checked to be of the msgspec type `kind`.

    Raises InvalidCursor when the text was not made by this server for this query, StaleCursor when
    it was made before the latest data update.
    """
    if cursor.startswith(_PLACE):
        try:
            return msgspec.msgpack.decode(_decode_base64(cursor[len(_PLACE) :]), type=kind)
        except msgspec.DecodeError:
            raise _not_ours() from None
    data = _decode_base64(cursor)
    if len(data) <= _HEAD_BYTES + _CHECK_BYTES:
        raise _not_ours()
    body, check = data[:-_CHECK_BYTES], data[-_CHECK_BYTES:]
    if _digest(body, _CHECK_BYTES) != check or body[0] != VERSION:
        raise _not_ours()
    if body[1 : 1 + _DATASET_BYTES] != _digest(dataset_id.encode(), _DATASET_BYTES):
        raise StaleCursor(
            "this cursor was made before the latest data update; start again from the first page"
        )
    if body[1 + _DATASET_BYTES : _HEAD_BYTES] != query_hash:
        raise InvalidCursor(
            "this cursor belongs to another query; send the same filters as on the page before it"
        )
    try:
        return msgspec.msgpack.decode(body[_HEAD_BYTES:], type=kind)
    except msgspec.MsgspecError:
        raise _not_ours() from None


def _decode_base64(cursor: str) -> bytes:
    if len(cursor) > _MAX_CHARACTERS:
        raise _not_ours()
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise _not_ours() from None


def _not_ours() -> InvalidCursor:
    return InvalidCursor(
        "this is not a cursor of this server; take it whole from X-Next-Cursor or Link of the "
        "page before, or leave it out to start from the first page"
    )


def _digest(data: bytes, size: int) -> bytes:
    return blake2b(data, digest_size=size).digest()
