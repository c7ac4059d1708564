"""The seam to processes that answer what may take long: requests go there whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from mapyard.deadline import Deadline
from mapyard.http.admission import HeaderList
from mapyard.http.request import Request


class ApartReply(NamedTuple):
    """What comes back: the whole body, or `chunks` where it is streamed."""

    status: int
    headers: HeaderList
    ignored: tuple[str, ...]
    body: bytes
    chunks: AsyncIterator[bytes] | None


class Apart(Protocol):
    """Answers requests elsewhere."""

    @property
    def busy(self) -> int:
        """Return how many requests are here."""
        ...

    def note_dataset(self, dataset: str) -> None:
        """Let the datasets before this one go; called from any thread."""
        ...

    def ask(
        self, request: Request, body: bytes, dataset: str, deadline: Deadline
    ) -> AbstractAsyncContextManager[ApartReply]:
        """Give the reply; the process is free again at the end.

        Raises what the handler raised, Overloaded, Timeout, TooLarge (memory), or Cancelled.
        """
        ...
