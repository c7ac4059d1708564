"""What a graph was built with; kept beside its tiles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

META_NAME = "routing.json"


def name_engine() -> str:
    """Return name and version of the engine that builds graphs here."""
    return f"valhalla {version('pyvalhalla')}"


@dataclass(frozen=True, slots=True)
class GraphMeta:
    """What a graph was built with; kept as routing.json beside the tiles."""

    engine: str
    edge_count: int
    timezone_count: int
    has_slopes: bool

    def write(self, directory: Path) -> None:
        """Write the file into a graph's directory."""
        content = {
            "engine": self.engine,
            "edge_count": self.edge_count,
            "timezone_count": self.timezone_count,
            "has_slopes": self.has_slopes,
        }
        (directory / META_NAME).write_text(json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, directory: Path) -> GraphMeta:
        """Read the file of a graph's directory."""
        content: dict[str, Any] = json.loads((directory / META_NAME).read_text())
        return cls(
            engine=str(content["engine"]),
            edge_count=int(content["edge_count"]),
            timezone_count=int(content["timezone_count"]),
            has_slopes=bool(content.get("has_slopes")),
        )


def has_slopes(directory: Path) -> bool:
    """Return whether the roads of a graph have grades; not before it is finished."""
    try:
        return GraphMeta.read(directory).has_slopes
    except (FileNotFoundError, ValueError, KeyError):
        return False
