"""The error of accounts that cannot be asked; light, so that the limiter needs no database."""

from __future__ import annotations

from mapyard.errors import MapyardError


class AccountsUnavailable(MapyardError):  # noqa: N818 - as in mapyard.errors, named after its code
    """The accounts database or the limits cannot be opened, or are of another version."""

    status, code = 503, "accounts_unavailable"


class MustAsk(Exception):  # noqa: N818 - a signal: no failure
    """Only a server or the disk can tell: ask again where waiting holds up nobody else."""
