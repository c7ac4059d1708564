"""Datasets of accounts' own: who has which, in what state; their contents are userdata/'s.

A dataset is visible to its account, to all where it is public. A new upload replaces what is served
when it was read whole; until then, and where it fails, the version before stays.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, func, or_, select, true, update
from sqlalchemy.orm import Session

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.jobs import add_job
from mapyard.accounts.models import Account, UserDataset
from mapyard.accounts.open import VISITORS_EMAIL
from mapyard.accounts.plans import DatasetLimits, dataset_limits
from mapyard.errors import MapyardError, NotFound

_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
#: The kind of the jobs that read uploads.
IMPORT_KIND: Final = "dataset"
#: An import that has not ended by then never will, seconds.
_GIVEN_UP_S: Final = 86_400
#: What the map itself is called among the datasets.
MAP_SLUG: Final = "osm"
_LENGTHS: Final = {
    "name": 200, "description": 10_000, "attribution": 500, "license": 200, "source_url": 2_000,
}  # fmt: skip
#: Fields that their owner may change.
FIELDS: Final = (*_LENGTHS, "strict_mode", "is_public")


class InvalidDataset(MapyardError):  # noqa: N818 - as in errors.py, named after its code
    """A dataset that cannot be made so; details map fields to messages."""

    status, code = 422, "validation_failed"


def _refuse(field: str, message: str) -> InvalidDataset:
    return InvalidDataset(f"{field} {message}", details={field: [message]})


def _check(fields: dict[str, Any]) -> None:
    for name, most in _LENGTHS.items():
        text = fields.get(name)
        if isinstance(text, str) and len(text) > most:
            raise _refuse(name, f"has {len(text):,} characters, at most {most:,} are kept")
    if "name" in fields and not (fields["name"] or "").strip():
        raise _refuse("name", "can't be blank")
    url = fields.get("source_url")
    if url and not url.startswith(("http://", "https://")):
        raise _refuse("source_url", "must begin with https:// or http://")


def create_dataset(
    database: Database, account_id: int, slug: str, fields: dict[str, Any]
) -> UserDataset:
    """Make a dataset that waits for its first upload; raise InvalidDataset."""
    _check(fields)
    if _SLUG.fullmatch(slug) is None:
        raise _refuse(
            "slug", "must be lower-case letters, digits, - and _, 1 to 64, such as my-shops"
        )
    if slug == MAP_SLUG:
        raise _refuse("slug", "has already been taken by the map itself")
    limits = limits_of(database, account_id)
    now = now_s()
    with database.write() as session:
        if session.scalar(select(Account.email).where(Account.id == account_id)) == VISITORS_EMAIL:
            raise InvalidDataset("visitors of the map page share one account: sign in to keep data")
        mine = select(func.count()).where(UserDataset.account_id == account_id)
        if (session.scalar(mine) or 0) >= limits.datasets:
            raise InvalidDataset(
                f"the plan allows {limits.datasets} datasets; delete one first, or choose a "
                "larger plan",
                details={"limit": limits.datasets},
            )
        taken = select(UserDataset.id).where(
            UserDataset.account_id == account_id, UserDataset.slug == slug
        )
        if session.scalar(taken) is not None:
            raise _refuse("slug", "has already been taken")
        made = UserDataset(
            id=str(uuid.uuid4()), account_id=account_id, slug=slug, status="pending",
            inserted_at=now, updated_at=now, **fields,
        )  # fmt: skip
        session.add(made)
    return made


def limits_of(database: Database, account_id: int) -> DatasetLimits:
    """Return what an account's plan allows."""
    with database.read() as session:
        plan = session.scalar(select(Account.plan).where(Account.id == account_id))
    return dataset_limits(plan)


def list_datasets(database: Database, account_id: int) -> list[UserDataset]:
    """Return an account's datasets, the oldest first."""
    with database.read() as session:
        mine = select(UserDataset).where(UserDataset.account_id == account_id)
        return list(session.scalars(mine.order_by(UserDataset.inserted_at, UserDataset.slug)))


def find_dataset(database: Database, account_id: int | None, name: str) -> UserDataset:
    """Return a dataset by its id, or by its slug among the account's own; raise NotFound.

    Without an account, for whoever has the data folder itself, all are its own.
    """
    with database.read() as session:
        found = session.scalar(_visible(account_id, name))
    if found is None:
        raise NotFound(
            f"there is no dataset {name[:64]}; GET /api/v1/datasets lists yours",
            details={"id": name[:64]},
        )
    return found


def _visible(account_id: int | None, name: str) -> Any:
    mine = true() if account_id is None else UserDataset.account_id == account_id
    named = or_(
        UserDataset.id == name.lower(),
        mine & (UserDataset.slug == name),
    )
    found = select(UserDataset).where(named, or_(mine, UserDataset.is_public))
    return found.order_by(UserDataset.inserted_at).limit(1)


def _own(session: Session, account_id: int, name: str) -> UserDataset:
    found = session.scalar(_visible(account_id, name).where(UserDataset.account_id == account_id))
    if not isinstance(found, UserDataset):
        raise NotFound(
            f"you have no dataset {name[:64]}; GET /api/v1/datasets lists yours",
            details={"id": name[:64]},
        )
    return found


def check_own(database: Database, account_id: int, name: str) -> None:
    """Raise NotFound unless the account has a dataset of this id or slug."""
    with database.read() as session:
        _own(session, account_id, name)


def change_dataset(
    database: Database, account_id: int, name: str, fields: dict[str, Any]
) -> UserDataset:
    """Change what is said of a dataset; raise NotFound, InvalidDataset."""
    _check(fields)
    with database.write() as session:
        found = _own(session, account_id, name)
        for field, value in fields.items():
            setattr(found, field, value)
        found.updated_at = now_s()
    return found


def delete_dataset(database: Database, account_id: int, name: str) -> str:
    """Forget a dataset; return its id. Its folders are swept later."""
    with database.write() as session:
        found = _own(session, account_id, name)
        session.execute(delete(UserDataset).where(UserDataset.id == found.id))
        return found.id


def begin_import(
    database: Database,
    account_id: int,
    name: str,
    upload: str,
    options: dict[str, Any] | None = None,
) -> tuple[UserDataset, str | None]:
    """Note that a new upload of a dataset is being read; `upload` is its id, new for each.

    With `options` a job to read it is queued in the same transaction. Returns also the upload
    before it that was not read to its end, None where there is none.
    """
    with database.write() as session:
        found = _own(session, account_id, name)
        before = found.upload
        found.status, found.error_message = "processing", None
        found.upload = upload
        found.updated_at = now_s()
        if options is not None:
            options = options | {"strict": found.strict_mode}
            request = {"dataset": found.id, "upload": upload, "options": options}
            add_job(session, account_id, IMPORT_KIND, request)
    return found, before


def finish_import(
    database: Database, dataset_id: str, upload: str, version: str, values: dict[str, Any]
) -> bool:
    """Serve the version that an upload became; False where it is not wanted any more."""
    return _end(
        database, dataset_id, upload, status="ready", version=version, error_message=None, **values
    )


def fail_import(database: Database, dataset_id: str, upload: str, message: str) -> bool:
    """Say why an upload failed; the version before, if any, stays."""
    return _end(database, dataset_id, upload, status="error", error_message=message[:1_000])


def _end(database: Database, dataset_id: str, upload: str, **values: Any) -> bool:
    with database.write() as session:
        found = session.get(UserDataset, dataset_id)
        if found is None or found.upload != upload:
            return False
        for field, value in values.items():
            setattr(found, field, value)
        found.upload = None
        found.updated_at = now_s()
        return True


def fail_forgotten(database: Database) -> None:
    """End the imports of which nobody has said anything for a day: their process is gone."""
    forgotten = (UserDataset.status == "processing", UserDataset.updated_at < now_s() - _GIVEN_UP_S)
    values = {
        "status": "error", "upload": None, "updated_at": now_s(),
        "error_message": "the import did not end; send the file again",
    }  # fmt: skip
    with database.write() as session:
        session.execute(update(UserDataset).where(*forgotten).values(**values))


class InUse(NamedTuple):
    """What the sweep has to leave."""

    #: Id and served version of each dataset.
    versions: Collection[tuple[str, str | None]]
    #: Uploads that wait to be read.
    uploads: Collection[str]


def find_in_use(database: Database) -> InUse:
    """Return which versions are served and which uploads wait."""
    with database.read() as session:
        rows = session.execute(
            select(UserDataset.id, UserDataset.version, UserDataset.upload)
        ).all()
    return InUse({(row[0], row[1]) for row in rows}, {row[2] for row in rows if row[2]})
