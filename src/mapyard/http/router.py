"""From a path to its endpoint: a dictionary for plain paths, a tree for those with parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mapyard.http.endpoints import Endpoint

_MOST_KEPT: Final = 4_096
_LONGEST_KEPT: Final = 100
#: Forms of answers that may be the end of a path.
SUFFIXES: Final = ("json", "geojson", "csv", "ndjson", "gpx", "kml")
_SUFFIXED: Final = tuple(f".{suffix}" for suffix in SUFFIXES)
_ORDER = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Route(NamedTuple):
    """The endpoints of one path, by method."""

    template: str
    by_method: dict[str, Endpoint]

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the methods for an Allow header."""
        methods = {*self.by_method, "OPTIONS"}
        if "GET" in methods:
            methods.add("HEAD")
        return tuple(method for method in _ORDER if method in methods)


class _Node:
    """One segment of the tree: its children by text, and the one that takes any text."""

    __slots__ = ("any", "children", "names", "route")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.route: Route | None = None
        #: Index of the segment → parameter.
        self.names: tuple[tuple[int, str], ...] = ()


class Router:
    """Finds routes; texts win over parameters."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._plain: dict[str, Route] = {}
        self._root = _Node()
        #: Paths with parameters that were found lately: tiles are asked for again and again.
        self._found: dict[str, tuple[Route, dict[str, str]]] = {}
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
        node = self._root
        parts = path.split("/")
        for part in parts:
            if part.startswith("{"):
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.children.setdefault(part, _Node())
        node.route = route
        node.names = tuple((i, part[1:-1]) for i, part in enumerate(parts) if part.startswith("{"))

    def find(self, path: str) -> tuple[Route, dict[str, str]] | None:
        """Return the route and the path parameters, or None; a slash at the end is ignored.

        The parameters are shared by all who ask for this path: not to be changed.
        """
        route = self._plain.get(path)
        if route is None and path.endswith("/") and len(path) > 1:
            path = path[:-1]
            route = self._plain.get(path)
        if route is not None:
            return route, {}
        found = self._found.get(path)
        if found is None:
            parts = path.split("/")
            node = _descend(self._root, parts, 0)
            if node is None or node.route is None:
                return self._find_form(path)
            found = node.route, {name: parts[i] for i, name in node.names}
            if len(path) <= _LONGEST_KEPT:
                if len(self._found) >= _MOST_KEPT:
                    self._found.clear()
                self._found[path] = found
        return found

    def _find_form(self, path: str) -> tuple[Route, dict[str, str]] | None:
        """Return the route of `/features.csv`: that of `/features`, with format=csv.

        GDAL and browsers tell a file's form by its name.
        """
        stem, dot, suffix = path.rpartition(".")
        if not dot or suffix not in SUFFIXES or stem.endswith(_SUFFIXED):
            return None
        found = self.find(stem)
        if found is None:
            return None
        route, values = found
        by_method = {
            method: endpoint
            for method, endpoint in route.by_method.items()
            if suffix in endpoint.forms
        }
        return (
            (Route(route.template, by_method), {**values, "format": suffix}) if by_method else None
        )


def _descend(node: _Node, parts: list[str], at: int) -> _Node | None:
    while at < len(parts):
        part = parts[at]
        at += 1
        child = node.children.get(part)
        if child is None:
            if node.any is None or not part:
                return None
            node = node.any
        elif node.any is None:
            node = child
        else:  # both may lead on
            found = _descend(child, parts, at)
            if found is not None and found.route is not None:
                return found
            node = node.any
    return node
