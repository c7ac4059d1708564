"""How many files a process may open."""

from __future__ import annotations

import resource
from typing import Final

#: Files that a worker needs for itself: data, databases, pipes, journals.
OWN_FILES: Final = 256
#: With fewer a server does not start.
FEWEST_FILES: Final = OWN_FILES + 64
_NO_LIMIT: Final = 1 << 20


def raise_file_limit() -> int:
    """Let this process and its children open as many files as the system allows; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else _NO_LIMIT
