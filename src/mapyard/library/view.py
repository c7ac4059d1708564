"""The box that a map shows first."""

from __future__ import annotations

from mapyard.features.extent import find_core
from mapyard.library.snapshot import Snapshot


def find_view(snapshot: Snapshot) -> list[float] | None:
    """Return west, south, east, north of where most elements lie; None without elements."""
    bbox = snapshot.manifest.bbox
    if bbox is None or "store" not in snapshot.manifest.parts:
        return bbox
    return find_core(snapshot.store, bbox)
