"""Passwords as Argon2id hashes."""

from __future__ import annotations

import threading
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from mapyard.errors import InvalidRequest

MIN_LENGTH: Final = 10
MAX_LENGTH: Final = 200

_hasher: Final = PasswordHasher()
# Each computation takes 64 MB and about a tenth of a second: a flood must not take the memory.
_slots: Final = threading.BoundedSemaphore(2)
# Compared against where there is no account, so that the time tells nothing.
_NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21lc2FsdA$"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)


def hash_password(password: str, email: str) -> str:
    """Return the hash to store, or raise InvalidRequest for one that is too easy to guess."""
    if len(password) < MIN_LENGTH:
        raise InvalidRequest.of("password", f"must have at least {MIN_LENGTH} characters")
    if len(password) > MAX_LENGTH:
        raise InvalidRequest.of("password", f"must have at most {MAX_LENGTH} characters")
    if len(set(password.lower())) < 5 or password.lower() in (email, email.partition("@")[0]):
        raise InvalidRequest.of("password", "is too easy to guess; mix more characters")
    with _slots:
        return _hasher.hash(password)


def is_right_password(password_hash: str | None, password: str) -> bool:
    """Compare a password with a hash; takes as long when there is none."""
    try:
        with _slots:
            return _hasher.verify(password_hash or _NOBODY, password[:MAX_LENGTH])
    except (VerificationError, InvalidHashError):
        return False
