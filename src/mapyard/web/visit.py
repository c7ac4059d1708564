"""One visit to a page: who comes, what the form holds, how the answer is made.

Pages are plain functions `(Visit) -> Response`; they run in a thread, because they ask the
database. `page()` makes a route of them and keeps watch: form size, CSRF token and origin, sign-in.
"""

from __future__ import annotations

import datetime as dt
import hmac
import logging
import re
import secrets
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mapyard.accounts.database import Database
from mapyard.accounts.models import Account
from mapyard.accounts.plans import (
    OVERAGE_PREMIUM_MICRO_USD,
    OVERAGE_STANDARD_MICRO_USD,
    PLANS,
)
from mapyard.accounts.sessions import LIFE_S, SignedIn, find_session
from mapyard.errors import MapyardError, TooLarge
from mapyard.http.services import Services
from mapyard.http.session import clear_session_cookie, is_same_origin, make_session_cookie
from mapyard.version import __version__
from mapyard.web.sealed import seal, unseal

log = logging.getLogger(__name__)

Needs = Literal["nobody", "account", "operator"]
PageFunction = Callable[["Visit"], Response]

MAX_FORM_BYTES: Final = 65_536
SESSION_COOKIE: Final = "mapyard_session"
MAP_COOKIE: Final = "mapyard_map"
FORM_COOKIE: Final = "mapyard_form"
#: Lets an operator's session see the pages of another account.
VIEW_COOKIE: Final = "mapyard_view"
VIEW_S: Final = 1_800
#: Pages that an operator may see as another account; the others are of the person alone.
VIEWABLE: Final = ("/account/keys", "/account/usage", "/account/plan", "/account/statements")

#: What a page says after a redirect, by the word in `?done=`.
MESSAGES: Final = {
    "revoked": "The key was revoked. It stops working everywhere within two seconds.",
    "key": "The key was changed. It holds within two seconds.",
    "plan": "The plan was changed. It holds within two seconds; nothing counted is lost.",
    "saved": "Saved.",
    "password": "The password was changed; all other sessions have ended.",
    "reset": "The password was changed. Sign in with it.",
    "verified": "The e-mail address is confirmed. Thank you.",
    "session": "The session has ended.",
    "factor-off": "The second factor is off.",
    "passkey": "The passkey was removed.",
    "address-mailed": "A mail with a link is on its way to the new address.",
    "address": "The e-mail address was changed.",
    "deleted": "The account and what belongs to it were deleted.",
    "mailed": "A mail with a link is on its way, if there is an account with this address.",
    "asked": "The operator of this service will see the request and send you a link.",
    "signed-out": "You are signed out.",
    "suspended": "The account is suspended; its keys stop within two seconds.",
    "resumed": "The account is active again.",
    "view-ended": "You are back. The audit log says what you looked at and when.",
}

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data: blob:; worker-src 'self' blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "geolocation=(self), camera=(), microphone=()",
}


class Refused(MapyardError):  # noqa: N818 - as in errors.py
    """The page is not for this visitor, or the form did not come from our page."""

    status, code = 403, "forbidden"


class Viewing(msgspec.Struct):
    """Which account an operator looks at, from which session."""

    account_id: int
    session: str


class Visit:
    """A request for a page."""

    def __init__(self, request: Request, form: dict[str, str]) -> None:
        self.request = request
        self.form = form
        self.services: Services = request.app.state.services
        self.cookies: list[str] = []
        self._signed_in: SignedIn | None = None
        #: The operator who sees this page of somebody else's account.
        self.viewer: Account | None = None
        self._looked = False

    @property
    def database(self) -> Database:
        """The accounts database (pages that need it exist only where there is one)."""
        assert self.services.database is not None
        return self.services.database

    @property
    def query(self) -> dict[str, str]:
        """Parameters of the address."""
        return dict(self.request.query_params)

    @property
    def signed_in(self) -> SignedIn | None:
        """The session and its account, looked up once."""
        if not self._looked and self.services.database is not None:
            token = self.request.cookies.get(self.session_cookie, "")
            self._signed_in = find_session(self.services.database, token)
            self._looked = True
            self._look_as_another()
        return self._signed_in

    def _look_as_another(self) -> None:
        """Put the account that an operator looks at in the place of the operator's own."""
        own = self._signed_in
        if own is None or not self.request.url.path.startswith("/account"):
            return
        account_id = self.viewed_account(own)
        if account_id is None:
            return
        with self.database.read() as session:
            account = session.get(Account, account_id)
        if account is not None:
            self._signed_in = SignedIn(own.session, account)
            self.viewer = own.account

    def viewed_account(self, own: SignedIn) -> int | None:
        """Return the id of the account that an operator's session looks at."""
        sealed = self.request.cookies.get(self._own(VIEW_COOKIE), "")
        held = unseal(self.services.secret, "view", sealed, Viewing) if sealed else None
        if held is None or not own.account.is_operator:
            return None
        return held.account_id if held.session == own.session.sha256.hex() else None

    def begin_view(self, account_id: int) -> None:
        """Let the operator who is signed in see the pages of an account, for half an hour."""
        assert self.signed_in is not None
        held = Viewing(account_id, self.signed_in.session.sha256.hex())
        sealed = seal(self.services.secret, "view", held, VIEW_S)
        self.set_cookie(self._own(VIEW_COOKIE), sealed, VIEW_S, site="Strict")

    def end_view(self) -> None:
        """Show the operator's own pages again."""
        self.set_cookie(self._own(VIEW_COOKIE), "", 0, site="Strict")

    def forget_who(self) -> None:
        """Take the visitor for nobody, without a look-up."""
        self._looked = True

    @property
    def map_session(self) -> SignedIn | None:
        """The session of a map page that was opened by a link."""
        if self.services.database is None:
            return None
        token = self.request.cookies.get(self._own(MAP_COOKIE), "")
        return find_session(self.services.database, token, "map")

    @property
    def account(self) -> Account:
        """The account whose page this is (`needs="account"` has made sure of it)."""
        assert self.signed_in is not None
        return self.signed_in.account

    @property
    def actor(self) -> str:
        """Who acts, for the audit log."""
        return self.signed_in.account.email if self.signed_in else "visitor"

    @property
    def address(self) -> str:
        """The client's address."""
        return self.request.client.host if self.request.client else ""

    @property
    def base_url(self) -> str:
        """Scheme and host of links to this server."""
        configured = self.services.settings.public_url.rstrip("/")
        return configured or f"{self.request.url.scheme}://{self.request.url.netloc}"

    @property
    def host(self) -> str:
        """The name of this server without a port, as the setting or the browser names it."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_https(self) -> bool:
        """Whether cookies may be marked Secure."""
        return self.base_url.startswith("https://")

    @property
    def may_use_passkeys(self) -> bool:
        """Whether passkeys can be offered: they are bound to the name that is set, or localhost.

        The name is never taken from a request: a passkey made under a wrong one would be lost.
        """
        return bool(self.services.settings.public_url and self.is_https) or self.host == "localhost"

    @property
    def session_cookie(self) -> str:
        """Name of the session cookie; browsers bind __Host- names to this host and to https."""
        return self._own(SESSION_COOKIE)

    @property
    def form_token(self) -> str:
        """What forms must send back: of the session, else of a cookie made for the form."""
        if self.signed_in is not None:
            return self.signed_in.session.csrf_token
        token = self.request.cookies.get(FORM_COOKIE, "")
        if len(token) < 20:
            token = secrets.token_urlsafe(24)
            self.request.cookies[FORM_COOKIE] = token
            self.cookies.append(f"{FORM_COOKIE}={token}; Path=/; {self._attributes}")
        return token

    @property
    def form_field(self) -> Markup:
        """The hidden field that every form carries."""
        return Markup('<input type="hidden" name="form_token" value="{}">').format(self.form_token)

    def check_form(self) -> None:
        """Raise Refused unless one of our own pages sent this form to this visitor."""
        expected = self.form_token
        sent = self.form.get("form_token", "")
        foreign = any(
            name in self.request.headers for name in ("sec-fetch-site", "origin")
        ) and not is_same_origin(self.request.headers)
        if foreign or not hmac.compare_digest(sent.encode(), expected.encode()):
            raise Refused("this form is out of date or came from another site; open it again")

    def keep_map_session(self, token: str) -> None:
        """Give the browser the session of its map page."""
        self.set_cookie(self._own(MAP_COOKIE), token, LIFE_S, site="Strict")

    def set_cookie(
        self, name: str, value: str, life_s: int, *, path: str = "/", site: str = "Lax"
    ) -> None:
        """Set a cookie that no script sees; a life of 0 takes it away."""
        secure = "; Secure" if self.is_https else ""
        self.cookies.append(
            f"{name}={value}; Path={path}; Max-Age={life_s}; HttpOnly; SameSite={site}{secure}"
        )

    def sign_in(self, token: str, account_id: int) -> None:
        """Give the browser its session; whatever it held before is worth nothing."""
        self.cookies += [
            f"{self.session_cookie}={token}; Path=/; Max-Age={LIFE_S}; {self._attributes}",
            f"{FORM_COOKIE}=; Path=/; Max-Age=0; {self._attributes}",
            make_session_cookie(self.services.secret, account_id, is_https=self.is_https),
        ]

    def sign_out(self) -> None:
        """Take the browser's session away."""
        self.cookies += [
            f"{self.session_cookie}=; Path=/; Max-Age=0; {self._attributes}",
            clear_session_cookie(is_https=self.is_https),
        ]

    def render(self, template: str, code: int = 200, **values: Any) -> Response:
        """Return a page."""
        return HTMLResponse(environment().get_template(template).render(visit=self, **values), code)

    def redirect(self, path: str, done: str = "") -> Response:
        """Send the browser to another page of ours; `done` names the message it shows."""
        if done:
            path += ("&" if "?" in path else "?") + f"done={quote(done)}"
        return RedirectResponse(path, 303)

    def _own(self, name: str) -> str:
        return f"__Host-{name}" if self.is_https else name

    @property
    def _attributes(self) -> str:
        return "HttpOnly; SameSite=Lax" + ("; Secure" if self.is_https else "")


def page(
    path: str, get: PageFunction, post: PageFunction | None = None, *, needs: Needs = "nobody"
) -> Route:
    """Return the route of a page; `post` gets its form, checked."""

    def answer(visit: Visit) -> Response:
        refusal = _refuse(visit, needs)
        if refusal is not None:
            response = refusal
        elif visit.request.method == "POST" and post is not None:
            visit.check_form()
            response = post(visit)
        else:
            response = get(visit)
        return finish(response, visit.cookies)

    async def endpoint(request: Request) -> Response:
        visit = Visit(request, await _read_form(request))
        try:
            return await run_in_threadpool(answer, visit)
        except MapyardError:
            raise
        except Exception:  # a crash becomes a page here: the front would answer with JSON
            log.exception("%s crashed", path)
            return render_problem(request, 500, "The server made a mistake; its log has it")

    methods = ["GET", "POST"] if post is not None else ["GET"]
    return Route(path, endpoint, methods=methods)


def _refuse(visit: Visit, needs: Needs) -> Response | None:
    if needs == "nobody":
        return None
    if visit.signed_in is None:
        url = visit.request.url
        target = f"{url.path}?{url.query}" if url.query else url.path
        return visit.redirect(f"/sign-in?next={quote(target, safe='/')}")
    if visit.viewer is not None:
        if visit.request.method == "POST":
            raise Refused(f"you look at the account of {visit.account.email}; change nothing there")
        if not visit.request.url.path.startswith(VIEWABLE):
            raise Refused(f"this page is for {visit.account.email} alone")
    if needs == "operator" and not visit.account.is_operator:
        raise Refused("this page is for operators of the service")
    return None


async def _read_form(request: Request) -> dict[str, str]:
    if request.method != "POST":
        return {}
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise TooLarge("the form is too large")
    pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100)
    return dict(pairs)


def finish(response: Response, cookies: list[str]) -> Response:
    """Add the security headers and the cookies."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    for cookie in cookies:
        response.headers.append("Set-Cookie", cookie)
    return response


def render_problem(
    request: Request, status: int, message: str, headers: dict[str, str] | None = None
) -> Response:
    """Return the page of an error."""
    visit = Visit(request, {})
    response = visit.render("problem.html", status, status=status, message=message)
    response.headers.update(headers or {})
    return finish(response, visit.cookies)


def render_refusal(request: Request, error: MapyardError) -> Response:
    """Return the page of a refusal without asking the database for who is signed in."""
    visit = Visit(request, {})
    visit.forget_who()
    wait = error.headers.get("Retry-After", "a few")
    message = f"Too many pages were asked for from your address. Try again in {wait} seconds."
    response = visit.render("problem.html", error.status, status=error.status, message=message)
    response.headers.update(error.headers)
    return finish(response, visit.cookies)


def text_of(error: MapyardError) -> str:
    """Return an error as a sentence for a form."""
    if error.details:
        name, problems = next(iter(error.details.items()))
        return f"The {name} {problems[0]}."
    return error.message[:1].upper() + error.message[1:] + "."


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates with their filters."""
    env = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals["version"] = __version__
    env.globals["messages"] = MESSAGES
    env.globals["plans"] = PLANS
    env.globals["overage"] = {
        "standard": 1_000 * OVERAGE_STANDARD_MICRO_USD,
        "premium": 1_000 * OVERAGE_PREMIUM_MICRO_USD,
    }
    env.filters["number"] = lambda value: f"{value:,}"
    env.filters["dollars"] = format_micro_usd
    env.filters["dollars_whole"] = lambda dollars: f"${dollars:,}"
    env.filters["when"] = lambda unix_s: _utc(unix_s).strftime("%d %b %Y, %H:%M")
    env.filters["iso"] = lambda unix_s: _utc(unix_s).isoformat().replace("+00:00", "Z")
    env.filters["ago"] = format_ago
    env.filters["date"] = format_iso
    env.filters["age"] = format_age
    env.filters["browser"] = name_browser
    return env


def format_micro_usd(micro_usd: int) -> str:
    """Return an amount in dollars: two decimals, more where it has them."""
    sign, micro_usd = ("−", -micro_usd) if micro_usd < 0 else ("", micro_usd)
    dollars, rest = divmod(micro_usd, 1_000_000)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}${dollars:,}.{decimals}"


def format_ago(unix_s: int) -> str:
    """Return how long ago a time was, roughly."""
    seconds = max(0, int(dt.datetime.now(dt.UTC).timestamp()) - unix_s)
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def format_age(hours: float) -> str:
    """Return an age in words: 40 minutes, 5 hours, 3 days, 4 months, 2 years."""
    for size, name in ((8_766, "year"), (1_461 / 2, "month"), (24, "day"), (1, "hour")):
        if hours >= 2 * size:
            return f"{hours / size:.0f} {name}s"
    return f"{max(1, round(hours * 60))} minutes"


def format_iso(text: str) -> str:
    """Return an ISO 8601 time as the pages write times, UTC; "unknown" for none."""
    try:
        then = dt.datetime.fromisoformat(text).astimezone(dt.UTC)
    except ValueError:
        return text or "unknown"
    return then.strftime("%d %b %Y, %H:%M")


#: What is found in a User-Agent names the browser; the first that fits, since all imitate others.
_BROWSERS: Final = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"), ("FxiOS", "Firefox"), ("HeadlessChrome", "Chrome"),
    ("CriOS", "Chrome"), ("Chrome", "Chrome"), ("Version", "Safari"), ("curl", "curl"),
)  # fmt: skip
_SYSTEMS: Final = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"),
    ("CrOS", "ChromeOS"), ("Mac OS X", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


def name_browser(user_agent: str) -> str:
    """Return a User-Agent as people say it: Firefox 128 on Linux."""
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    for mark, name in _BROWSERS:
        found = re.search(rf"\b{mark}\w*/([0-9]+)", user_agent)
        if found and (mark != "Version" or "Safari" in user_agent):
            return f"{name} {found[1]}" + (f" on {system}" if system else "")
    return user_agent[:60] or "unknown"


def _utc(unix_s: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(unix_s, dt.UTC)
