"""A graph of roads as the engine alone has it, to compare what is prepared with."""

from __future__ import annotations

from pathlib import Path

from mapyard.routing import Engine, open_routing

_PREPARED = ("matrix.json", "hierarchy")


def open_plain(graph: Path, folder: Path) -> Engine:
    """Open a graph without what is prepared of it, through links in a folder of its own."""
    folder.mkdir()
    for path in graph.iterdir():
        if path.name not in _PREPARED:
            (folder / path.name).symlink_to(path)
    return open_routing(folder)
