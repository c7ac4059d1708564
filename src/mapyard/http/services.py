"""What lives as long as a worker and what handlers may need of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mapyard.http.endpoints import Endpoint
from mapyard.library.snapshot import Snapshots
from mapyard.settings import Settings

if TYPE_CHECKING:
    from mapyard.accounts.database import Database
    from mapyard.accounts.gate import AccountsGate


@dataclass
class Services:
    """Shared by all requests of a worker."""

    settings: Settings
    snapshots: Snapshots
    #: Accounts database; None where no keys are asked for (tests, library).
    database: Database | None = None
    #: Keys, limits and usage of this worker; None as above.
    accounts: AccountsGate | None = None
    #: Signs the cookies of web pages.
    secret: bytes = b""
    #: All endpoints, for the reference.
    endpoints: list[Endpoint] = field(default_factory=list)
    #: The server is about to stop: /readyz says so.
    draining: bool = False
    #: Further things that route modules keep per worker; made by `get`.
    extras: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str, make: Callable[[Services], Any]) -> Any:
        """Return the thing of this name, made at the first call."""
        if name not in self.extras:
            self.extras[name] = make(self)
        return self.extras[name]
