"""The server's own secret, with which cookies and links are signed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

from mapyard.private import close

FILE_NAME: Final = "secret"


def read_secret(data: Path, configured: str = "") -> bytes:
    """Return 32 bytes: of the setting (the same on several machines), else of DATA/secret.

    The file is made at the first call, readable by its owner only; of several processes one wins.
    """
    if configured:
        return hashlib.sha256(configured.encode()).digest()
    path = data / FILE_NAME
    close(path)
    if not path.exists():
        draft = data / f"{FILE_NAME}.{os.getpid()}.{secrets.token_hex(4)}"
        data.mkdir(parents=True, exist_ok=True)
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(secrets.token_bytes(32))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_bytes()
