"""An OpenID sign-in must not share an account with whoever opened it under a stranger's address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from mapyard.accounts import registry, second_factor
from mapyard.accounts.database import Database
from mapyard.accounts.lookup import KeyLookup, KeyRefused
from mapyard.accounts.models import Session
from mapyard.accounts.open import open_accounts
from mapyard.accounts.passwords import hash_password
from mapyard.accounts.sessions import start_session
from mapyard.server.local import LocalClient
from openid_provider import CLIENT, SECRET, FakeProvider
from visitors import PASSWORD, Visitor, serving

ME = "me@example.org"


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    provider = FakeProvider()
    provider.claims = {"email": ME, "email_verified": True}
    yield provider
    provider.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_accounts(tmp_path)
    yield database
    database.close()


@pytest.fixture
def client(tmp_path: Path, database: Database, provider: FakeProvider) -> Iterator[LocalClient]:
    with serving(
        tmp_path, signup="open", openid_issuer=provider.issuer,
        openid_client_id=CLIENT, openid_client_secret=SECRET,
    ) as client:  # fmt: skip
        yield client


def sign_in(client: LocalClient, provider: FakeProvider) -> Visitor:
    visitor = Visitor(client)
    started = visitor.get("/openid/start")
    back = provider.authorize(started.headers["location"])
    visitor.last = visitor.get(back.removeprefix("http://localhost"))  # type: ignore[attr-defined]
    return visitor


def test_what_a_stranger_set_ends(
    client: LocalClient, provider: FakeProvider, database: Database
) -> None:
    account = registry.create_account(database, ME, password_hash=hash_password(PASSWORD, ME))
    _, key = registry.create_key(database, account.id)
    second_factor.begin_totp(database, account.id)
    stranger = Visitor(client, "198.51.100.66")
    assert stranger.sign_in(ME).status_code == 303
    assert stranger.get("/account/keys").status_code == 200
    start_session(database, account.id, "map", kind="map")

    owner = sign_in(client, provider)
    assert owner.get("/account/keys").status_code == 200
    assert stranger.get("/account/keys").status_code == 303
    again = Visitor(client, "198.51.100.67")
    assert again.sign_in(ME).status_code == 401
    with pytest.raises(KeyRefused) as caught:
        KeyLookup(database).find_account_by_key(key)
    assert caught.value.code == "revoked_key"
    found = registry.get_account(database, ME)
    assert (found.id, found.password_hash, found.totp_secret) == (account.id, None, None)
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Session)) == 1  # the owner's


def test_a_confirmed_account_is_linked_and_keeps_its_keys(
    client: LocalClient, provider: FakeProvider, database: Database
) -> None:
    account = registry.create_account(
        database, ME, password_hash=hash_password(PASSWORD, ME), verified_at=1
    )
    _, key = registry.create_key(database, account.id)
    assert sign_in(client, provider).get("/account/keys").status_code == 200
    assert KeyLookup(database).find_account_by_key(key).account_id == account.id
    assert Visitor(client).sign_in(ME).status_code == 303


def test_an_address_handed_on_at_the_provider_opens_nothing(
    client: LocalClient, provider: FakeProvider, database: Database
) -> None:
    account = registry.create_account(database, ME, verified_at=1, oidc_subject="another|1")
    visitor = sign_in(client, provider)
    assert visitor.get("/account/keys").status_code == 303
    assert registry.get_account(database, ME).oidc_subject == account.oidc_subject


def test_the_second_factor_is_asked_for_here_too(
    client: LocalClient, provider: FakeProvider, database: Database
) -> None:
    import pyotp

    account = registry.create_account(database, ME, verified_at=1)
    secret = second_factor.begin_totp(database, account.id)
    second_factor.confirm_totp(database, account.id, pyotp.TOTP(secret).now(), actor=ME)
    visitor = sign_in(client, provider)
    assert visitor.last.headers["location"] == "/sign-in/code"  # type: ignore[attr-defined]
    assert visitor.get("/account/keys").status_code == 303
