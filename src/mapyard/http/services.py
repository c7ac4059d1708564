"""What lives as long as a worker and what handlers may need of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapyard.http.endpoints import Endpoint
from mapyard.library.resources import Resources
from mapyard.library.snapshot import Snapshots
from mapyard.settings import Settings

if TYPE_CHECKING:
    from mapyard.accounts.database import Database
    from mapyard.accounts.gate import AccountsGate


class Services(Resources):
    """Shared by all requests of a worker."""

    def __init__(
        self, settings: Settings, snapshots: Snapshots, endpoints: list[Endpoint] | None = None
    ) -> None:
        super().__init__(settings)
        self.snapshots = snapshots
        #: Accounts database; None where no keys are asked for (tests, library).
        self.database: Database | None = None
        #: Keys, limits and usage of this worker; None as above.
        self.accounts: AccountsGate | None = None
        #: Signs the cookies of web pages.
        self.secret: bytes = b""
        #: The account of requests without a key from MAPYARD_OPEN_NETWORKS, 0 for none.
        self.open_account: int = 0
        #: All endpoints, for the reference.
        self.endpoints: list[Endpoint] = endpoints or []
        #: What this machine's processes note about themselves, for operators.
        self.own_folder = settings.data / "service"
        #: Where this server's own processes ask it.
        host = "127.0.0.1" if settings.host in ("0.0.0.0", "::", "") else settings.host  # noqa: S104
        self.own_address = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
        #: The server is about to stop: /readyz says so.
        self.draining = False
