"""Sign-in with a provider of our own on loopback; what a provider may get wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from mapyard.accounts import registry
from mapyard.accounts.database import Database
from mapyard.accounts.openid import OpenIdError, check_id_token
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from openid_provider import CLIENT, SECRET, FakeProvider, make_token


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    provider = FakeProvider()
    yield provider
    provider.close()


class Visitor:
    """A browser that keeps cookies, against an application in this process."""

    def __init__(self, client: LocalClient) -> None:
        self.client = client
        self.cookies: dict[str, str] = {}

    def get(self, path: str) -> httpx.Response:
        headers = {"Cookie": "; ".join(f"{n}={v}" for n, v in self.cookies.items())}
        answer = self.client.request("GET", path, headers=headers)
        for cookie in answer.headers.get_list("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def sign_in(self, provider: FakeProvider) -> httpx.Response:
        started = self.get("/openid/start?next=/account/usage")
        assert started.status_code == 303
        back = provider.authorize(started.headers["location"])
        return self.get(back.removeprefix("http://localhost"))


@pytest.fixture
def client(
    tmp_path_factory: pytest.TempPathFactory,
    database: Database,
    tmp_path: Any,
    provider: FakeProvider,
) -> Iterator[LocalClient]:
    settings = Settings(
        data=tmp_path, signup="open", openid_issuer=provider.issuer, openid_client_id=CLIENT,
        openid_client_secret=SECRET,
    )  # fmt: skip
    with LocalClient(settings, with_keys=True) as client:
        yield client
        services = client.application.services
        assert services.accounts is not None
        assert services.database is not None
        services.accounts.close()
        services.database.close()


def test_a_new_account_and_again(
    client: LocalClient, provider: FakeProvider, database: Database
) -> None:
    provider.claims = {"email": "Me@Example.org", "email_verified": True}
    visitor = Visitor(client)
    answer = visitor.sign_in(provider)
    assert (answer.status_code, answer.headers["location"]) == (303, "/account/usage")
    assert visitor.get("/account/keys").status_code == 200
    account = registry.get_account(database, "me@example.org")
    assert account.oidc_subject == f"{provider.issuer}|subject-1"
    assert account.verified_at is not None
    # The address may change at the provider: the subject is who it is.
    provider.claims = {"email": "other@example.org", "email_verified": True}
    assert Visitor(client).sign_in(provider).status_code == 303
    assert len(registry.list_accounts(database)) == 1


def test_an_existing_account_is_linked_by_a_confirmed_address_only(
    client: LocalClient, provider: FakeProvider, database: Database
) -> None:
    registry.create_account(database, "me@example.org", "pro-1m")
    provider.claims = {"email": "me@example.org", "email_verified": False}
    assert Visitor(client).sign_in(provider).status_code == 403
    provider.claims["email_verified"] = True
    assert Visitor(client).sign_in(provider).status_code == 303
    assert registry.get_account(database, "me@example.org").plan == "pro-1m"


def test_closed_sign_up_is_closed_here_too(
    client: LocalClient, provider: FakeProvider, database: Database
) -> None:
    client.application.services.settings.signup = "closed"
    provider.claims = {"email": "me@example.org", "email_verified": True}
    assert Visitor(client).sign_in(provider).status_code == 403
    assert registry.list_accounts(database) == []


def test_an_answer_to_another_browser_is_refused(
    client: LocalClient, provider: FakeProvider
) -> None:
    provider.claims = {"email": "me@example.org", "email_verified": True}
    started = Visitor(client).get("/openid/start")
    back = provider.authorize(started.headers["location"]).removeprefix("http://localhost")
    assert Visitor(client).get(back).status_code == 400
    other = Visitor(client)
    other.get("/openid/start")
    assert other.get(back).status_code == 403


def test_the_providers_mistakes(client: LocalClient, provider: FakeProvider) -> None:
    provider.claims = {"email": "me@example.org", "email_verified": True, "nonce": "replayed"}
    assert Visitor(client).sign_in(provider).status_code == 502
    client.application.services.extras.clear()
    provider.configuration["issuer"] = "https://other.example"
    assert Visitor(client).get("/openid/start").status_code == 502


GOOD = {"iss": "https://id.example", "aud": "me", "exp": 1_000, "nonce": "n", "sub": "s"}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"iss": "https://evil.example"}, "issuer"),
        ({"aud": "other"}, "audience"),
        ({"aud": ["me", "other"]}, "audience"),
        ({"azp": "other"}, "audience"),
        ({"nonce": "m"}, "nonce"),
        ({"exp": 100}, "time"),
        ({"exp": "soon"}, "time"),
        ({"sub": ""}, "subject"),
    ],
)
def test_id_tokens_for_others_are_refused(change: dict[str, Any], wrong: str) -> None:
    good = check_id_token(make_token(GOOD), "https://id.example", "me", "n", 900)
    assert good.sub == "s"
    with pytest.raises(OpenIdError, match=wrong):
        check_id_token(make_token(GOOD | change), "https://id.example", "me", "n", 900)


@pytest.mark.parametrize("token", ["", "a.b.c", "e30.bm8.x", "nothing"])
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(OpenIdError, match="cannot be read"):
        check_id_token(token, "i", "c", "n", 0)
