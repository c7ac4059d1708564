"""API keys: pk_live_ or pk_test_, 32 random base62 characters, 6 of checksum.

The checksum refuses a mistyped key without a look-up. With 190 random bits a plain SHA-256 is
enough: there is nothing to guess, so a slow password hash would only cost time per request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from typing import Final, Literal

Environment = Literal["live", "test"]

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_LENGTH: Final = 32
_CHECKSUM_LENGTH: Final = 6
_KEY = re.compile(rf"pk_(?:live|test)_[0-9A-Za-z]{{{_RANDOM_LENGTH + _CHECKSUM_LENGTH}}}")


def make_key(environment: Environment) -> str:
    """Return a new key from the system's secure random source."""
    body = f"pk_{environment}_" + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
    return body + _checksum(body)


def is_well_formed(key: str) -> bool:
    """Say whether this text has the form of a key and its checksum fits."""
    if _KEY.fullmatch(key) is None:
        return False
    return key[-_CHECKSUM_LENGTH:] == _checksum(key[:-_CHECKSUM_LENGTH])


def hash_key(key: str) -> bytes:
    """Return the 32 bytes under which a key is stored and found."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _checksum(body: str) -> str:
    value = zlib.crc32(body.encode("ascii"))
    digits = []
    for _ in range(_CHECKSUM_LENGTH):
        value, digit = divmod(value, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
