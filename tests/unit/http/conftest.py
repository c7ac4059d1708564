from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mapyard.accounts import registry
from mapyard.accounts.gate import AccountsGate
from mapyard.accounts.open import open_accounts
from mapyard.http.access_log import AccessLog
from mapyard.http.app import Application
from mapyard.http.endpoints import Handler, collect
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.server.local import LocalClient
from mapyard.settings import Settings

MakeClient = Callable[..., LocalClient]


@pytest.fixture
def make_client(tmp_path: Path) -> Iterator[MakeClient]:
    """Make clients of applications with the given handlers; `plan` asks for keys."""
    clients: list[LocalClient] = []

    def make(
        *handlers: Handler, plan: str = "", log: Path | None = None, **settings: Any
    ) -> LocalClient:
        settings.setdefault("data", tmp_path)
        chosen = Settings(**settings)
        services = Services(chosen, Snapshots(chosen), endpoints=collect([as_module(handlers)]))
        headers = {}
        if plan:
            services.database = open_accounts(chosen.data)
            account = registry.create_account(services.database, "a@example.org", plan)
            _, key = registry.create_key(services.database, account.id)
            services.accounts = AccountsGate(
                services.database,
                chosen.data,
                anonymous_per_minute=chosen.anonymous_per_minute,
            )
            headers["X-API-Key"] = key
        application = Application(
            services, services.endpoints, access_log=AccessLog.open(str(log)) if log else None
        )
        clients.append(LocalClient(application=application, headers=headers))
        return clients[-1]

    yield make
    for client in clients:
        services = client.application.services
        client.close()
        if services.accounts is not None:
            services.accounts.close()
        if services.database is not None:
            services.database.close()


def as_module(handlers: tuple[Handler, ...]) -> ModuleType:
    """Return a module with these handlers, to be collected."""
    module = ModuleType("handlers")
    for index, handler in enumerate(handlers):
        handler.__module__ = "handlers"
        setattr(module, f"handler_{index}", handler)
    return module
