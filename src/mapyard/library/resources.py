"""What calls share beyond one dataset: settings, rasters, caches of a data folder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mapyard.settings import Settings


class Resources:
    """Things that are made at their first use and kept; safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.extras: dict[str, Any] = {}
        self._lock = threading.RLock()

    def get(self, name: str, make: Callable[[Any], Any]) -> Any:
        """Return the thing of this name; the first call makes it by `make(self)`."""
        if name not in self.extras:
            with self._lock:
                if name not in self.extras:
                    self.extras[name] = make(self)
        return self.extras[name]

    def forget(self, name: str) -> None:
        """Let a thing be made anew at its next use; who has it uses it on."""
        with self._lock:
            self.extras.pop(name, None)
