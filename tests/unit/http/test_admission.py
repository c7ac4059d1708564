"""What counts for a client's address, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.accounts.errors import AccountsUnavailable
from mapyard.accounts.gate import AccountsGate
from mapyard.accounts.open import open_accounts
from mapyard.http.admission import Admissions


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
