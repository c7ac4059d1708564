"""The names of processes."""

from __future__ import annotations

import ctypes
from typing import Final

_PR_SET_NAME: Final = 15


def set_process_name(name: str) -> None:
    """Set what `ps -o comm` and `top` show of this process, at most 15 characters."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
