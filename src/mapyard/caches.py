"""Caches that do not keep what they cache for.

An object that holds an `lru_cache` of its own method is a cycle: it stays, with every file that it
has mapped, until the garbage collector comes by. Here it goes with its last user.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from functools import lru_cache


def cache_method[T](method: Callable[..., T], size: int) -> Callable[..., T]:
    """Return a bound method with its last `size` answers kept; for an attribute of its object."""
    weak = weakref.WeakMethod(method)

    @lru_cache(size)
    def call(*args: Hashable) -> T:
        alive = weak()
        assert alive is not None  # its object holds this function, and is asked right now
        return alive(*args)

    return call


def call_weakly(method: Callable[..., None]) -> Callable[..., None]:
    """Return a call of a bound method for what its object holds; nothing once that has gone."""
    function = method.__func__  # type: ignore[attr-defined] # of a bound method
    weak = weakref.ref(method.__self__)  # type: ignore[attr-defined] # WeakMethod takes 2 µs

    def call(*args: object) -> None:
        alive = weak()
        if alive is not None:
            function(alive, *args)

    return call
