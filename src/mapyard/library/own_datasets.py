"""Datasets of people's own, found in the accounts database and opened from their folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from mapyard.errors import NotFound, Overloaded
from mapyard.library.call import Call
from mapyard.library.resources import Resources
from mapyard.store.reader import Store
from mapyard.userdata.folders import OpenStores, version_folder
from mapyard.userdata.importing import PROBLEMS

if TYPE_CHECKING:
    from mapyard.accounts.database import Database
    from mapyard.accounts.models import UserDataset


class OwnDataset(NamedTuple):
    """An open dataset; `version` changes with each upload."""

    id: str
    slug: str
    version: str
    attribution: str
    store: Store


def open_dataset(call: Call, name: str) -> OwnDataset:
    """Open a dataset by id or slug, as far as who asks may see it.

    Raises NotFound, also for one that has not been filled yet.
    """
    from mapyard.accounts.datasets import find_dataset

    database = find_database(call.resources)
    if database is None:
        raise NotFound(f"there is no dataset {name[:64]}: this data folder has no accounts")
    return open_version(call.resources, find_dataset(database, call.reader_id, name))


def open_version(resources: Resources, found: UserDataset) -> OwnDataset:
    """Open the version of a dataset that is served."""
    if found.version is None:
        raise NotFound(
            f"the dataset {found.slug} holds nothing yet (status {found.status}); send its "
            f"source: PUT /api/v1/datasets/{found.id}/source"
        )
    stores = resources.get("own stores", lambda _: OpenStores())
    folder = version_folder(resources.settings.data, found.id, found.version)
    try:
        store = stores.open(folder)
    except FileNotFoundError:
        raise _gone(found) from None
    return OwnDataset(found.id, found.slug, found.version, found.attribution or "", store)


def read_problems(resources: Resources, found: UserDataset) -> list[dict[str, Any]]:
    """Return row and message of the problems of the version that is served, as far as kept."""
    if found.version is None:
        return []
    folder = version_folder(resources.settings.data, found.id, found.version)
    try:
        problems: list[dict[str, Any]] = orjson.loads((folder / PROBLEMS).read_bytes())
    except FileNotFoundError:
        raise _gone(found) from None
    return problems


def _gone(found: UserDataset) -> Overloaded:
    return Overloaded(
        f"the dataset {found.slug} was just replaced, or is not on this machine; ask again"
    )


def find_database(resources: Resources) -> Database | None:
    """Return the accounts database, None where there is none."""
    database: Database | None = getattr(resources, "database", None)
    if database is not None:
        return database

    def make(resources: Resources) -> Database | None:
        from mapyard.accounts.database import FILE_NAME, open_database

        settings = resources.settings
        if not settings.accounts_url and not (settings.data / FILE_NAME).exists():
            return None
        return open_database(settings.data, settings.accounts_url or None)

    found: Database | None = resources.get("accounts database", make)
    return found
