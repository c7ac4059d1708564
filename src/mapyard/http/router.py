"""From a path to its endpoint: a dictionary for plain paths, segments for those with parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mapyard.http.endpoints import Endpoint


class Route(NamedTuple):
    """The endpoints of one path, by method."""

    template: str
    by_method: dict[str, Endpoint]

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the methods for an Allow header."""
        methods = set(self.by_method) | {"OPTIONS"}
        if "GET" in methods:
            methods.add("HEAD")
        order = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
        return tuple(method for method in order if method in methods)


class _Pattern(NamedTuple):
    """A path of n segments: texts that must be equal, None for parameters."""

    segments: tuple[str | None, ...]
    names: tuple[tuple[int, str], ...]
    route: Route


class Router:
    """Finds routes; plain paths win over patterns, earlier patterns over later ones."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._plain: dict[str, Route] = {}
        self._patterns: dict[int, list[_Pattern]] = {}
        by_path: dict[str, Route] = {}
        for endpoint in endpoints:
            for path in endpoint.paths:
                if path not in by_path:
                    by_path[path] = Route(path, {})
                    self._add(path, by_path[path])
                for method in endpoint.methods:
                    by_path[path].by_method[method] = endpoint
        self.routes = list(by_path.values())

    def _add(self, path: str, route: Route) -> None:
        if "{" not in path:
            self._plain[path] = route
            return
        parts = path.split("/")
        segments = tuple(None if part.startswith("{") else part for part in parts)
        names = tuple((i, part[1:-1]) for i, part in enumerate(parts) if part.startswith("{"))
        self._patterns.setdefault(len(parts), []).append(_Pattern(segments, names, route))

    def find(self, path: str) -> tuple[Route, dict[str, str]] | None:
        """Return the route and the path parameters, or None; a slash at the end is ignored."""
        route = self._plain.get(path)
        if route is not None:
            return route, {}
        if path.endswith("/") and len(path) > 1:
            return self.find(path[:-1])
        parts = path.split("/")
        for segments, names, route in self._patterns.get(len(parts), ()):
            if all(
                segment == part if segment is not None else part
                for segment, part in zip(segments, parts, strict=True)
            ):
                return route, {name: parts[i] for i, name in names}
        return None
