"""What counts for a client's address, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mapyard.accounts.errors import AccountsUnavailable
from mapyard.accounts.gate import AccountsGate
from mapyard.accounts.open import open_accounts
from mapyard.errors import Overloaded
from mapyard.http.admission import Admissions
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import endpoint
from mapyard.params.parser import Params
from mapyard.server.local import LocalClient

MakeClient = Callable[..., LocalClient]


def test_a_silent_database_is_not_the_client_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_accounts(tmp_path)
    gate = AccountsGate(database, tmp_path, anonymous_per_minute=3)
    admissions = Admissions(gate)

    def ask() -> int:
        error = admissions.admit(
            {"x-api-key": "pk_live_x"}, b"", "203.0.113.9", premium=False
        ).error
        assert error is not None
        return error.status

    def silent(*_: object, **__: object) -> None:
        raise AccountsUnavailable("the accounts database does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(gate, "authenticate", silent)
        assert [ask() for _ in range(6)] == [503] * 6
    assert [ask() for _ in range(5)] == [401, 401, 401, 429, 429]  # keys that are wrong do count
    gate.close()
    database.close()


class Calls(Params):
    """How many premium requests this one comes to."""

    calls: int = 0


@endpoint("/api/v1/calls", methods=("POST",), summary="", tag="", needs_dataset=False,
          count_premium=lambda params: params.calls)  # fmt: skip
def calls(ctx: Context, params: Calls) -> Answer:
    return Answer.json({"done": params.calls})


@endpoint("/api/v1/broken", methods=("POST",), summary="", tag="", needs_dataset=False,
          count_premium=lambda params: params.calls)  # fmt: skip
def broken(ctx: Context, params: Calls) -> Answer:
    raise Overloaded("not now")


def test_a_body_may_come_to_several_premium_requests(make_client: MakeClient) -> None:
    client = make_client(calls, broken, plan="free")
    gate = client.application.services.accounts
    limiter: Any = gate._limiter  # type: ignore[union-attr]

    def used(count: int, path: str = "calls") -> tuple[int, tuple[int, ...]]:
        answer = client.post(f"/api/v1/{path}", json={"calls": count})
        return answer.status_code, limiter.used(1)[:2]

    assert used(0) == (200, (1, 0))
    assert used(1) == (200, (1, 4))
    assert used(3) == (200, (1, 16))
    assert used(2, "broken") == (503, (1, 16))
    assert used(7) == (429, (1, 16))  # what was taken before the refusal goes back


def test_premium_calls_count_in_the_minute(make_client: MakeClient) -> None:
    client = make_client(calls, plan="free")
    assert client.post("/api/v1/calls", json={"calls": 8}).headers["x-ratelimit-remaining"] == "2"
    refused = client.post("/api/v1/calls", json={"calls": 3})
    assert refused.json()["error"]["code"] == "rate_limited"
