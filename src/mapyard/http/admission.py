"""Who asks and whether it may: key, account, limits, and the headers that say so.

The accounts' gate decides; this module reads the key from a request and keeps what belongs to the
request until it is settled. Without a gate (library use, tests) everything is admitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from mapyard.errors import MapyardError
from mapyard.http.endpoints import MapUse
from mapyard.http.session import find_session_account
from mapyard.http.trust import lies_in, read_networks

if TYPE_CHECKING:
    from mapyard.accounts.decisions import Decision
    from mapyard.accounts.gate import AccountsGate
    from mapyard.accounts.lookup import Identity

HeaderList = list[tuple[bytes, bytes]]
#: How keys begin (accounts/keys.py).
KEY_PREFIX: Final = "pk_"

#: Headers of every answer that browsers of other origins may read.
EXPOSED: Final = (
    "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, "
    "X-Dataset-Timestamp, X-Limit, X-Has-More, X-Next-Cursor, X-Next-Offset, Link, ETag"
)


class Admission:
    """What was decided about one request."""

    __slots__ = ("account_id", "by_token", "decision", "error", "further", "key_id", "key_name")

    def __init__(self) -> None:
        self.decision: Decision | None = None
        #: Of what counts as several requests, the ones beyond the first.
        self.further: list[Decision] = []
        #: Why the request is refused, or None.
        self.error: MapyardError | None = None
        self.account_id = 0
        #: The key that was used, also to begin the map session whose token came; 0 for none.
        self.key_id = 0
        self.by_token = False
        #: Prefix and last four characters, for the log.
        self.key_name = ""

    def add_headers(self, headers: HeaderList) -> None:
        """Append the rate-limit headers."""
        decision = self.decision
        if decision is not None:
            headers.append((b"x-ratelimit-limit", b"%d" % decision.limit))
            headers.append((b"x-ratelimit-remaining", b"%d" % decision.remaining))
            headers.append((b"x-ratelimit-reset", b"%d" % decision.reset_s))


def read_key(headers: Mapping[str, str], query_string: bytes) -> str | None:
    """Return the key of a request: X-API-Key, then Authorization: Bearer, then api_key.

    Clients of other services send it as Authorization alone, or as `key` in the query.
    """
    key = headers.get("x-api-key")
    if key:
        return key.strip()
    authorization = headers.get("authorization")
    if authorization and authorization[:7].lower() == "bearer ":
        return authorization[7:].strip()
    if authorization and authorization.startswith(KEY_PREFIX):
        return authorization.strip()
    if b"key=" in query_string:
        for name, value in parse_qsl(query_string.decode("utf-8", "replace")):
            if name == "api_key" or (name == "key" and value.startswith(KEY_PREFIX)):
                return value
    return None


def read_map_session(query_string: bytes) -> str | None:
    """Return the token of a map session, None where there is none."""
    if b"session=" in query_string:
        for name, value in parse_qsl(query_string.decode("utf-8", "replace")):
            if name == "session":
                return value
    return None


def _admitted(admission: Admission, identity: Identity, decision: Decision) -> Admission:
    admission.account_id, admission.key_id = identity.account_id, decision.key_id
    admission.key_name = identity.masked_key
    admission.decision = decision
    if not decision.allowed:
        admission.error = decision.error()
    return admission


class Admissions:
    """Asks the gate, if there is one."""

    def __init__(
        self,
        gate: AccountsGate | None,
        secret: bytes = b"",
        *,
        open_networks: tuple[str, ...] = (),
        open_account: int = 0,
    ) -> None:
        self.gate = gate
        self._secret = secret
        #: Where requests without a key come from that count for an account.
        self._open_networks = read_networks(open_networks) if open_account else ()
        self._open_account = open_account

    def admit(
        self,
        headers: Mapping[str, str],
        query_string: bytes,
        client: str,
        *,
        premium: bool,
        group: str = "",
        method: str = "GET",
        map_use: MapUse = "",
        may_wait: bool = True,
    ) -> Admission:
        """Authenticate and count one request; the refusal, if any, is in `error`.

        `group` is the endpoint's group in the reference, for keys that are not for all of them.
        `map_use` says whether, and for what, the token of a map session serves as a key.
        With `may_wait` False it raises MustAsk rather than waiting for a server or the disk.
        """
        admission = Admission()
        gate = self.gate
        if gate is None:
            return admission
        try:
            token = read_map_session(query_string) if map_use in ("open", "tile") else None
            if token is not None:
                identity, decision = gate.admit_map(
                    token, is_tile=map_use == "tile", may_wait=may_wait
                )
                admission.by_token = True
                return _admitted(admission, identity, decision)
            identity = self._identify(gate, headers, query_string, client, may_wait=may_wait)
            if identity.guard is not None:
                method = "GET" if map_use == "begin" else method
                refusal = identity.guard.find_refusal(group, method, client, headers.get("origin"))
                if refusal is not None:
                    admission.key_name = identity.masked_key
                    raise refusal
        except MapyardError as error:
            if error.status >= 500:  # our fault: the key may well be good
                admission.error = error
                admission.decision = gate.peek_address(client)
                return admission
            decision = gate.admit_address(client)
            admission.error = error if decision.allowed else decision.error()
            admission.decision = decision
            return admission
        decision = gate.admit(identity, premium=premium, may_wait=may_wait)
        return _admitted(admission, identity, decision)

    def _identify(
        self,
        gate: AccountsGate,
        headers: Mapping[str, str],
        query_string: bytes,
        client: str,
        *,
        may_wait: bool,
    ) -> Identity:
        key = read_key(headers, query_string)
        if key is None and self._secret and "cookie" in headers:
            account_id = find_session_account(self._secret, headers)
            if account_id is not None:
                return gate.authenticate_account(account_id, may_wait=may_wait)
        if key is None and self._open_networks and lies_in(client, self._open_networks):
            return gate.authenticate_account(self._open_account, may_wait=may_wait)
        return gate.authenticate(key, may_wait=may_wait)

    def count_premium(self, admission: Admission, count: int) -> None:
        """Let an admitted request count as `count` premium ones, now that its body is known.

        The refusal, if any, is in `error`. May wait for a server or the disk.
        """
        if self.gate is None or admission.decision is None or not admission.account_id:
            return
        made = self.gate.admit_premium(admission.decision, count)
        # The refused one, if any, says in headers and error which limit it was.
        admission.decision, admission.further = made[-1], made[:-1]
        if not admission.decision.allowed:
            admission.error = admission.decision.error()

    def visit(self, client: str) -> Admission:
        """Count a page or public endpoint for its address; the refusal, if any, is in `error`."""
        admission = Admission()
        if self.gate is not None:
            admission.decision = decision = self.gate.admit_page(client)
            if not decision.allowed:
                admission.error = decision.error()
        return admission

    def show(self, client: str) -> Admission:
        """Return the state of an address, counting nothing: for what is cheap or must answer."""
        admission = Admission()
        if self.gate is not None:
            admission.decision = self.gate.peek_address(client)
        return admission

    def settle(
        self, admission: Admission, status: int, route: str, took_ms: float, code: str, request: str
    ) -> None:
        """Note the outcome."""
        if self.gate is not None and admission.account_id and admission.decision is not None:
            for decision in (admission.decision, *admission.further):
                self.gate.settle(decision, status, route, took_ms, code=code, request_id=request)
