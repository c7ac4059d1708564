"""The seam to a map that is not one dataset: where a request is answered, or its answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from mapyard.http.admission import HeaderList
from mapyard.http.endpoints import Endpoint
from mapyard.http.reply import Reply
from mapyard.http.request import Request
from mapyard.library.snapshot import Snapshot


class Flow(NamedTuple):
    """An answer that is made while it is sent."""

    status: int
    headers: HeaderList
    chunks: AsyncIterator[bytes]


class Elsewhere(Protocol):
    """Finds datasets for requests."""

    async def find(
        self, request: Request, endpoint: Endpoint, body: bytes
    ) -> Snapshot | Reply | Flow:
        """Return the dataset, leased, that answers in the ordinary way, or the answer.

        `request.read` has its parameters.
        """
        ...
