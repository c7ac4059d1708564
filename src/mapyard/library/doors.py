"""How a map is come by: a data folder in this process, or a server over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mapyard.library.async_map import AsyncMap
    from mapyard.library.map import Map
    from mapyard.library.remote import RemoteMap


def open(data: str | Path | None = None, *, dataset: str = "", follow: bool = True) -> Map:
    """Open a data folder in this process.

    Args:
        data: the folder; default MAPYARD_DATA, else ./data.
        dataset: id of one of its datasets; default the current one.
        follow: take a newer dataset at the next call; else only at `refresh()`.

    Raises:
        MapyardError: there is no dataset, or it is of another format.
    """
    from mapyard.library.map import Map

    return Map(data, dataset=dataset, follow=follow)


def connect(
    url: str = "http://127.0.0.1:4000", *, key: str = "", retries: int = 2, timeout_s: float = 60.0
) -> RemoteMap:
    """Ask a server: the same methods as of `open`, over HTTP.

    Args:
        url: address of the server, without /api.
        key: an API key.
        retries: how often a question is asked again that the server was too busy for.
        timeout_s: how long an answer is waited for.
    """
    from mapyard.library.remote import RemoteMap

    return RemoteMap(url, key=key, retries=retries, timeout_s=timeout_s)


def aopen(data: str | Path | None = None, *, dataset: str = "", follow: bool = True) -> AsyncMap:
    """Open a data folder for use with `await`; arguments as of `open`."""
    from mapyard.library.async_map import AsyncMap

    return AsyncMap(open(data, dataset=dataset, follow=follow))


def aconnect(
    url: str = "http://127.0.0.1:4000", *, key: str = "", retries: int = 2, timeout_s: float = 60.0
) -> AsyncMap:
    """Ask a server with `await`; arguments as of `connect`."""
    from mapyard.library.async_map import AsyncMap

    return AsyncMap(connect(url, key=key, retries=retries, timeout_s=timeout_s))
