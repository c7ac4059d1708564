"""Mapyard: a complete map API from one OpenStreetMap extract.

    import mapyard

    m = mapyard.open("data")                         # a data folder, in this process
    m = mapyard.connect("http://127.0.0.1:4000", key="…")   # or a server: the same methods
    m.geocode("Städtle 1, Vaduz")[0].lonlat

Nothing heavy is imported before it is used. See docs/library.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mapyard.version import __version__

if TYPE_CHECKING:
    from mapyard.deadline import Cancelled
    from mapyard.errors import MapyardError
    from mapyard.library.async_map import AsyncMap
    from mapyard.library.doors import aconnect, aopen, connect, open
    from mapyard.library.map import Map, build
    from mapyard.library.remote import RemoteMap

__all__ = [
    "AsyncMap", "Cancelled", "Map", "MapyardError", "RemoteMap", "__version__", "aconnect", "aopen",
    "build", "connect", "open",
]  # fmt: skip

#: Name → module that has it.
_NAMES = {
    "open": "library.doors",
    "aopen": "library.doors",
    "connect": "library.doors",
    "aconnect": "library.doors",
    "build": "library.map",
    "Map": "library.map",
    "AsyncMap": "library.async_map",
    "RemoteMap": "library.remote",
    "MapyardError": "errors",
    "Cancelled": "deadline",
}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'mapyard' has no attribute {name!r}")
    return getattr(import_module(f"mapyard.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
