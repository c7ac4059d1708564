"""The whole service in one process, without a server: for tests, notebooks and scripts.

>>> with LocalClient(Settings(data=Path("data"))) as client:
...     client.get("/api/v1/features/node/1").json()
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

import httpx

from mapyard.http.app import Application
from mapyard.server.assembly import build_application, build_services
from mapyard.settings import Settings, get_settings

T = TypeVar("T")


class LocalClient:
    """Asks an application in this process; answers are `httpx.Response`."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        application: Application | None = None,
        with_keys: bool = False,
        headers: dict[str, str] | None = None,
    ) -> None:
        if application is None:
            services = build_services(settings or get_settings(), with_keys=with_keys)
            application = build_application(services)
        self.application = application
        self._loop = asyncio.new_event_loop()
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(application, raise_app_exceptions=True),
            base_url="http://localhost",
            headers=headers,
        )

    def __enter__(self) -> LocalClient:
        """Return the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client and the application."""
        self.close()

    @property
    def headers(self) -> httpx.Headers:
        """Return the headers that every request carries."""
        return self._client.headers

    def request(self, method: str, url: str, **options: Any) -> httpx.Response:
        """Return the answer; options as of `httpx.request` (json, data, content, headers, …)."""
        return self._run(self._client.request(method, url, **options))

    def get(self, url: str, **options: Any) -> httpx.Response:
        """Return the answer to a GET."""
        return self.request("GET", url, **options)

    def post(self, url: str, **options: Any) -> httpx.Response:
        """Return the answer to a POST."""
        return self.request("POST", url, **options)

    def close(self) -> None:
        """Let everything go."""
        self._run(self._client.aclose())
        self.application.close()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)
