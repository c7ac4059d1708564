"""Put the parts of a worker together."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from mapyard import forms
from mapyard.errors import MapyardError
from mapyard.http import routes
from mapyard.http.access_log import AccessLog
from mapyard.http.app import Application
from mapyard.http.endpoints import Endpoint, collect
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.server.assistant import mount_assistant
from mapyard.settings import Settings

if TYPE_CHECKING:
    from mapyard.accounts.database import Database


def load_modules() -> list[ModuleType]:
    """Return all modules with endpoints: ours, those of plugins, and other services' forms."""
    return [*routes.load_modules(), *forms.load_modules()]


def load_endpoints() -> list[Endpoint]:
    """Return all endpoints."""
    return collect(load_modules())


def build_services(settings: Settings, *, with_keys: bool = True) -> Services:
    """Return the services of a worker; without keys everything is admitted and nothing counted.

    The accounts database must be of this version: the supervisor has migrated it.
    """
    services = Services(settings, Snapshots(settings), endpoints=load_endpoints())
    if with_keys:
        from mapyard.accounts.database import open_database
        from mapyard.accounts.gate import AccountsGate
        from mapyard.accounts.secret import read_secret

        services.secret = read_secret(settings.data, settings.secret)
        services.database = open_database(settings.data, settings.accounts_url or None)
        services.open_account = _find_open_account(services.database, settings)
        services.accounts = AccountsGate(
            services.database,
            settings.data,
            anonymous_per_minute=settings.anonymous_per_minute,
            pages_per_minute=settings.pages_per_minute,
            redis_url=settings.redis_url or None,
            secret=services.secret,
        )
    return services


def _find_open_account(database: Database, settings: Settings) -> int:
    """Return the account of requests without a key, 0 where none is set; raise when it is not."""
    if not settings.open_networks:
        return 0
    from mapyard.accounts.registry import find_account

    account = find_account(database, settings.open_account) if settings.open_account else None
    if account is None:
        raise MapyardError(
            "MAPYARD_OPEN_NETWORKS needs MAPYARD_OPEN_ACCOUNT, the mail address of an account that "
            f"exists, not '{settings.open_account}'; mapyard accounts create makes one"
        )
    return account.id


def build_application(services: Services, access_log: AccessLog | None = None) -> Application:
    """Return the application with all endpoints and the web pages."""
    from mapyard.web.app import build_web

    web = mount_assistant(build_web(services), lambda: application)
    application = Application(services, services.endpoints, access_log=access_log, web=web)
    return application
