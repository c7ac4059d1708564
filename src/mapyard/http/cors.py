"""Cross-origin requests: off unless a setting names origins, because keys are secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mapyard.http.admission import EXPOSED, HeaderList


class Cors:
    """The headers that let pages of other origins read answers."""

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origin.rstrip("/") for origin in origins)
        self._any = "*" in self._origins
        self.is_on = bool(self._origins)

    def _allows(self, origin: str | None) -> bool:
        return origin is not None and (self._any or origin in self._origins)

    def add_headers(self, request: Mapping[str, str], headers: HeaderList) -> None:
        """Append what an answer to this request needs."""
        if not self.is_on:
            return
        origin = request.get("origin")
        if not self._any:
            headers.append((b"vary", b"Origin"))
        if origin is not None and self._allows(origin):
            allowed = b"*" if self._any else origin.encode("latin-1")
            headers.append((b"access-control-allow-origin", allowed))
            headers.append((b"access-control-expose-headers", EXPOSED.encode()))

    def add_preflight(self, request: Mapping[str, str], methods: str, headers: HeaderList) -> None:
        """Append what a preflight needs. The client libraries send headers of their own: any go."""
        if not (self._allows(request.get("origin")) and "access-control-request-method" in request):
            return
        wanted = request.get("access-control-request-headers", "")
        headers.append((b"access-control-allow-methods", methods.encode()))
        headers.append((b"access-control-max-age", b"86400"))
        if wanted:
            headers.append((b"access-control-allow-headers", wanted.encode("latin-1")))
