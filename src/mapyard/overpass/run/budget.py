"""The limits of one running query: its deadline and its memory."""

from __future__ import annotations

import time
from collections.abc import Iterator

from mapyard.deadline import Deadline
from mapyard.errors import TooLarge

#: What the original allows where a query does not say.
DEFAULT_MAXSIZE_BYTES = 512 << 20
DEFAULT_TIMEOUT_S = 180.0


#: Elements of the first portion of a loop of unknown cost, and how long a portion may take.
_FIRST_PORTION = 64
_PORTION_S = 0.05


class Budget:
    """Memory of a query, counted in the arrays that it holds and is about to make."""

    def __init__(self, deadline: Deadline, limit_bytes: int = DEFAULT_MAXSIZE_BYTES) -> None:
        self.deadline = deadline
        self.limit_bytes = limit_bytes
        self.held_bytes = 0

    def portions(self, length: int) -> Iterator[slice]:
        """Yield ranges that cover a length, each done in about a twentieth of a second.

        For steps whose cost nobody can tell before: portions grow while they are quick.
        """
        start, size = 0, _FIRST_PORTION
        while start < length:
            self.deadline.check()
            began_s = time.monotonic()
            yield slice(start, start + size)
            start += size
            took_s = time.monotonic() - began_s
            size = max(1, size // 2) if took_s > _PORTION_S else size * 4 \
                if took_s < _PORTION_S / 8 else size  # fmt: skip

    def check(self, extra_bytes: int = 0) -> None:
        """Raise when time is up, or when the memory held and `extra_bytes` exceed the limit."""
        self.deadline.check()
        wanted = self.held_bytes + extra_bytes
        if wanted > self.limit_bytes:
            raise TooLarge(
                f"the query needs {wanted:,} bytes, its limit is {self.limit_bytes:,}; ask for a "
                "smaller area or fewer elements, or raise [maxsize:…] up to the server's limit",
                details={"limit": self.limit_bytes, "count": wanted, "unit": "bytes"},
            )
