"""What a browser keeps for us between two requests: signed, for one purpose, for some minutes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from typing import Final

import msgspec

LIFE_S: Final = 600


def seal(secret: bytes, purpose: str, value: msgspec.Struct, life_s: int = LIFE_S) -> str:
    """Return a text, fit for a cookie, that `unseal` takes back for this purpose only."""
    held = [int(time.time()) + life_s, msgspec.to_builtins(value)]
    text = base64.urlsafe_b64encode(msgspec.json.encode(held)).decode().rstrip("=")
    return f"{text}.{_sign(secret, purpose, text)}"


def unseal[T](secret: bytes, purpose: str, sealed: str, kind: type[T]) -> T | None:
    """Return what was sealed, None when it was not by us, not for this, or too long ago."""
    text, _, signature = sealed.partition(".")
    if not hmac.compare_digest(signature.encode(), _sign(secret, purpose, text).encode()):
        return None
    try:
        held = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return msgspec.convert(held[1], kind) if held[0] > time.time() else None
    except (binascii.Error, msgspec.DecodeError, msgspec.ValidationError):
        return None


def _sign(secret: bytes, purpose: str, text: str) -> str:
    return hmac.new(secret, f"{purpose} {text}".encode(), hashlib.sha256).hexdigest()
