"""One request, as a handler sees it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from mapyard.deadline import Deadline
from mapyard.http.request import Request
from mapyard.http.services import Services
from mapyard.library.call import Call
from mapyard.library.snapshot import Snapshot
from mapyard.params.raw import Raw

#: The part of questions about ways.
_ROADS: Final = "routing"


class Context(Call):
    """A call that came over HTTP."""

    __slots__ = ("_request", "raw", "services")

    def __init__(
        self,
        services: Services,
        snapshot: Snapshot | None,
        deadline: Deadline,
        request: Request,
        raw: Raw,
    ) -> None:
        super().__init__(snapshot, deadline, services)
        #: What lives as long as the worker.
        self.services = services
        self._request = request
        #: All parameters as they came: to tell a JSON list from one value.
        self.raw = raw

    def part(self, name: str) -> Any:
        """Return an open part of the dataset; the answer then says of when its data is."""
        part = super().part(name)
        if name == _ROADS:
            self._request.asks_for_ways = True
        self._request.note_data_time(self.snapshot.find_data_time(name))
        return part

    @property
    def method(self) -> str:
        """Return GET, HEAD, POST, …"""
        return self._request.method

    @property
    def path(self) -> str:
        """Return the path asked for, an alias as it was spelled."""
        path: str = self._request.scope["path"]
        return path

    @property
    def query_string(self) -> bytes:
        """Return the raw query string."""
        query_string: bytes = self._request.scope["query_string"]
        return query_string

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the request's headers, names in lower case."""
        return self._request.headers

    @property
    def request_id(self) -> str:
        """Return the id under which the log has this request."""
        return self._request.id

    @property
    def client(self) -> str:
        """Return the client's address."""
        return self._request.client

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the request came."""
        return time.perf_counter() - self._request.started_s

    @property
    def upload(self) -> Path:
        """Return the file that took the body, at an endpoint for uploads."""
        assert self._request.upload is not None
        return self._request.upload

    def keep_upload(self) -> None:
        """Keep that file; else it is deleted at the end of the request."""
        self._request.upload = None

    @property
    def account_id(self) -> int:
        """Return the account that asks, 0 where no keys are asked for."""
        return self._request.admission.account_id

    @property
    def reader_id(self) -> int:
        """Return the account whose own data may be read, 0 for nobody's.

        Tokens of map sessions that a key has begun lie open in pages for everybody.
        """
        admission = self._request.admission
        return 0 if admission.by_token and admission.key_id else admission.account_id

    @property
    def key_id(self) -> int:
        """Return the key that was used, 0 as above."""
        return self._request.admission.key_id

    @property
    def key_suffix(self) -> str:
        """Return "?session=…" or "?api_key=…" as one came: a map cannot send it otherwise."""
        for name in ("session", "api_key"):
            given = self.raw.get(name)
            value = given[-1] if isinstance(given, list) and given else given
            if isinstance(value, str) and value:
                return f"?{name}={quote(value)}"
        return ""

    @property
    def base_url(self) -> str:
        """Return the address that clients use for this server, without a slash at the end."""
        address = self.settings.public_url.rstrip("/") or self._request.base_url
        return address + self._request.scope.get("root_path", "")

    @property
    def is_client_library(self) -> bool:
        """Return whether one of the published client libraries asks."""
        return "x-stainless-lang" in self._request.headers

    @property
    def ignored(self) -> tuple[str, ...]:
        """Return the names of parameters that mean nothing at this endpoint."""
        return self._request.ignored

    @property
    def accept(self) -> str:
        """Return the Accept header, "" when absent."""
        return self.headers.get("accept", "")
