"""Ids of pieces of ways: those beside a gate that is open at certain hours, or under a low bar.

The engine keeps such rules per id of a way. So a piece has an id of its own, over all of OSM's,
from which the way's follows.
"""

from __future__ import annotations

from typing import Any, Final

#: OSM's ids are far below.
_FIRST: Final = 1 << 40


def make_piece_id(way_id: int, number: int) -> int:
    """Return the id of a way's piece, counted from 1."""
    return way_id + number * _FIRST


def find_way_id(piece_id: int) -> int:
    """Return the way's id of a piece, or of a way."""
    return piece_id % _FIRST


def name_ways(action: str, answer: Any) -> Any:
    """Return the engine's answer with the ids of ways in place of those of pieces."""
    if action == "trace_attributes":
        for edge in answer.get("edges", ()):
            if edge.get("way_id", 0) >= _FIRST:
                edge["way_id"] = find_way_id(edge["way_id"])
    elif action == "locate":
        for row in answer:
            for edge in row.get("edges") or ():
                info = edge.get("edge_info", edge)
                if info.get("way_id", 0) >= _FIRST:
                    info["way_id"] = find_way_id(info["way_id"])
    return answer
