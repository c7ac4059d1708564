"""What lives as long as a worker and what handlers may need of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mapyard.http.snapshot import Snapshots
from mapyard.settings import Settings


@dataclass
class Services:
    """Shared by all requests of a worker."""

    settings: Settings
    snapshots: Snapshots
    #: Accounts database, limiter and usage; None where no keys are asked for (tests, library).
    accounts: Any = None
    #: Further things that route modules keep per worker, by name; made by `get`.
    extras: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str, make: Callable[[Services], Any]) -> Any:
        """Return the thing of this name, made at the first call."""
        if name not in self.extras:
            self.extras[name] = make(self)
        return self.extras[name]
