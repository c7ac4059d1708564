"""The road graph of Monaco."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mapyard.routing import Engine, open_routing
from osm_files import EXAMPLES
from routing_graphs import open_plain


@pytest.fixture(scope="session")
def graph(build_once: Callable[..., Path]) -> Path:
    """Folder with the graph of Monaco, built without the other parts."""
    data = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    return data / "current" / "routing"


@pytest.fixture(scope="session")
def engine(graph: Path) -> Engine:
    return open_routing(graph)


@pytest.fixture(scope="session")
def plain(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The engine without what is prepared."""
    return open_plain(graph, tmp_path_factory.mktemp("graph") / "plain")
