"""How often somebody may fail to sign in, and send forms that cost or mail something.

What counts are failures: an attempt is counted before the password is compared, and given back
when it was right. Nobody locks another out: an address counts by itself and by the account it
tries; when an account is attacked from many addresses, each new one still has one try; and a
browser that has signed in to the account before is counted apart, by a cookie that only it has.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

from mapyard.accounts.addresses import AddressLimiter, network_of
from mapyard.accounts.decisions import Decision, LimitExceeded
from mapyard.http.services import Services
from mapyard.web.visit import Visit

_WINDOW_S: Final = 300.0
#: Failures in five minutes: of one address on one account, and on any account.
PER_PAIR: Final = 8
PER_ADDRESS: Final = 40
#: Failures on one account from strange browsers, beyond which each address has one try.
PER_ACCOUNT: Final = 60
#: Forms in five minutes and address: sign-up, forgotten password, links.
FORMS_PER_ADDRESS: Final = 60
#: Mails an hour to one address.
MAILS_PER_HOUR: Final = 4
DEVICE_COOKIE: Final = "mapyard_device"
_DEVICE_LIFE_S: Final = 365 * 86_400


class Throttle:
    """The limiters of this machine, shared by its workers."""

    def __init__(self, services: Services) -> None:
        folder = services.settings.data / "limits"

        def limiter(name: str, limit: int, window_s: float = _WINDOW_S) -> AddressLimiter:
            return AddressLimiter(folder / f"{name}.limits", limit, window_s=window_s)

        self.addresses = limiter("failures-addresses", PER_ADDRESS)
        self.pairs = limiter("failures-pairs", PER_PAIR)
        self.accounts = limiter("failures-accounts", PER_ACCOUNT)
        self.devices = limiter("failures-devices", PER_PAIR)
        self.forms = limiter("forms", FORMS_PER_ADDRESS)
        self.mails = limiter("mails", MAILS_PER_HOUR, 3_600.0)


class Attempt:
    """One attempt to sign in, counted as a failure until it is forgiven."""

    def __init__(self, taken: list[tuple[AddressLimiter, str]]) -> None:
        self._taken = taken

    def forgive(self) -> None:
        """It was right: it counts no longer."""
        for limiter, name in self._taken:
            limiter.give_back(name)
        self._taken = []


def get_throttle(services: Services) -> Throttle:
    """Return the throttle of this worker."""
    found: Throttle = services.get("web.throttle", Throttle)
    return found


def begin_attempt(visit: Visit, name: str, account_id: int, *, strict: bool = False) -> Attempt:
    """Count an attempt on what `name` names; raise LimitExceeded when there were too many failures.

    With `strict` (codes of six digits, after the password was right) strange browsers together
    have no more than PER_ACCOUNT failures.
    """
    throttle = get_throttle(visit.services)
    device = find_device(visit, account_id)
    if device:
        key = _name("device", device)
        _demand(throttle.devices.check(key))
        return Attempt([(throttle.devices, key)])
    address = visit.address
    account = _name("account", name)
    pair = _name("pair", name, network_of(address).hex())
    taken: list[tuple[AddressLimiter, str]] = []
    try:
        for limiter, key in ((throttle.addresses, address), (throttle.pairs, pair)):
            decision = limiter.check(key)
            _demand(decision)
            taken.append((limiter, key))
        attacked = throttle.accounts.check(account)
        if attacked.allowed:
            taken.append((throttle.accounts, account))
        elif strict or decision.remaining < PER_PAIR - 1:
            _demand(attacked)
    except LimitExceeded:
        Attempt(taken).forgive()  # what was refused tried nothing
        raise
    return Attempt(taken)


def count_form(visit: Visit) -> None:
    """Count a form for its address; raise LimitExceeded when there were too many."""
    _demand(get_throttle(visit.services).forms.check(visit.address))


def may_mail(services: Services, email: str) -> bool:
    """Count a mail to an address; False when it had enough of them."""
    return get_throttle(services).mails.check(_name("mail", email)).allowed


def remember_device(visit: Visit, account_id: int) -> None:
    """Let this browser's failures be counted apart from those of strangers."""
    if find_device(visit, account_id):
        return
    text = f"{account_id}.{secrets.token_urlsafe(12)}"
    visit.set_cookie(DEVICE_COOKIE, f"{text}.{_sign(visit, text)}", _DEVICE_LIFE_S)


def find_device(visit: Visit, account_id: int) -> str:
    """Return the name of a browser that has signed in to this account before, else ''."""
    value = visit.request.cookies.get(DEVICE_COOKIE, "")
    text, _, signature = value.rpartition(".")
    if not text or text.partition(".")[0] != str(account_id):
        return ""
    is_ours = hmac.compare_digest(signature.encode(), _sign(visit, text).encode())
    return text if is_ours else ""


def _sign(visit: Visit, text: str) -> str:
    return hmac.new(visit.services.secret, b"device " + text.encode(), hashlib.sha256).hexdigest()


def _demand(decision: Decision) -> None:
    if not decision.allowed:
        wait_s = decision.retry_after_s
        raise LimitExceeded(
            f"there were too many attempts; try again in {wait_s} seconds",
            headers={"Retry-After": str(wait_s)},
        )


def _name(kind: str, *parts: str) -> str:
    text = "\0".join(parts)
    return f"{kind} {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:40]}"
