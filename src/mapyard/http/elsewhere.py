"""The seam to a map that is not one dataset: where a request is answered, or its answer."""

from __future__ import annotations

from typing import Protocol

from mapyard.http.endpoints import Endpoint
from mapyard.http.reply import Reply
from mapyard.http.request import Request
from mapyard.library.snapshot import Snapshot


class Elsewhere(Protocol):
    """Finds datasets for requests."""

    async def find(self, request: Request, endpoint: Endpoint, body: bytes) -> Snapshot | Reply:
        """Return the dataset, leased, that answers in the ordinary way, or the answer.

        `request.read` has its parameters.
        """
        ...
