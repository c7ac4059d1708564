"""Sign up, sign in, sign out; forgotten passwords and confirmed addresses."""

from __future__ import annotations

import hashlib
from typing import Final

from sqlalchemy import select
from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts import links, registry
from mapyard.accounts.addresses import AddressLimiter
from mapyard.accounts.database import now_s
from mapyard.accounts.decisions import LimitExceeded
from mapyard.accounts.models import Account
from mapyard.accounts.passwords import hash_password, is_right_password
from mapyard.accounts.sessions import end_all_sessions, end_session, start_session
from mapyard.errors import InvalidRequest, NotFound
from mapyard.http.services import Services
from mapyard.web.mail import can_mail, send_mail
from mapyard.web.visit import Visit, page, text_of

_WINDOW_S: Final = 300.0
#: Attempts in five minutes: on one account from anywhere, and from one address on any account.
PER_ACCOUNT: Final = 8
PER_ADDRESS: Final = 60


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/sign-in", show_sign_in, sign_in),
        page("/sign-out", show_sign_in, sign_out),
        page("/sign-up", show_sign_up, sign_up),
        page("/forgot", show_forgot, forgot),
        page("/reset", show_reset, reset),
        page("/verify", show_verify, verify),
    ]


def show_sign_in(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Show the form, or go on when signed in already."""
    if visit.signed_in is not None:
        return visit.redirect("/account")
    return visit.render(
        "sign_in.html", code, error=error, email=visit.form.get("email", ""), next=next_path(visit)
    )


def sign_in(visit: Visit) -> Response:
    """Check the password, slowly and not too often, and begin a new session."""
    email = visit.form.get("email", "").strip().lower()
    throttle(visit, email)
    with visit.database.read() as session:
        account = session.scalar(select(Account).where(Account.email == email[:254]))
    right = is_right_password(
        account.password_hash if account else None, visit.form.get("password", "")
    )
    if account is None or not right:
        return show_sign_in(visit, "E-mail address and password do not match an account.", 401)
    if account.suspended_at is not None:
        return show_sign_in(visit, "This account is suspended; ask the operator.", 403)
    return begin(visit, account, next_path(visit))


def sign_out(visit: Visit) -> Response:
    """End the session, here and in the table."""
    end_session(visit.database, visit.request.cookies.get(visit.session_cookie, ""))
    visit.sign_out()
    return visit.redirect("/sign-in", "signed-out")


def show_sign_up(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Show the form, or why there is none."""
    token = visit.form.get("token") or visit.query.get("token", "")
    invitation = links.look_at_link(visit.database, "invite", token) if token else None
    if invitation is None and visit.services.settings.signup != "open":
        return visit.render("sign_up_closed.html", 403)
    return visit.render(
        "sign_up.html",
        code,
        error=error,
        token=token,
        invitation=invitation,
        email=invitation.email if invitation else visit.form.get("email", ""),
    )


def sign_up(visit: Visit) -> Response:
    """Create the account with its first key, and show the key this one time."""
    throttle(visit, "")
    token, password = visit.form.get("token", ""), visit.form.get("password", "")
    if not token and visit.services.settings.signup != "open":
        return visit.render("sign_up_closed.html", 403)
    try:
        invitation = links.look_at_link(visit.database, "invite", token) if token else None
        email = registry.normalize_email(
            invitation.email if invitation else visit.form.get("email", "")
        )
        password_hash = hash_password(password, email)  # takes long: before the transaction
        with visit.database.write() as session:
            if token:
                links.use_link(session, "invite", token)
            account = registry.add_account(
                session,
                email,
                (invitation.plan if invitation else None) or "free",
                operator=False,
                actor=email,
                password_hash=password_hash,
                verified_at=now_s() if invitation else None,
            )
            key, secret = registry.add_key(session, account.id, "live", "First key", actor=email)
    except (InvalidRequest, registry.Conflict) as error:
        return show_sign_up(visit, text_of(error), 400)
    if not invitation and can_mail(visit.services.settings):
        mail_verification(visit, email)
    session_token = start_session(
        visit.database, account.id, visit.request.headers.get("user-agent", "")
    )
    visit.sign_in(session_token, account.id)
    return visit.render("welcome_key.html", key=key, secret=secret, email=email)


def show_forgot(visit: Visit) -> Response:
    """Ask for the address."""
    return visit.render("forgot.html", can_mail=can_mail(visit.services.settings))


def forgot(visit: Visit) -> Response:
    """Mail a link, or leave the request for an operator; the answer tells nothing."""
    throttle(visit, visit.form.get("email", ""))
    settings = visit.services.settings
    try:
        account = registry.find_account(visit.database, visit.form.get("email", ""))
    except InvalidRequest:
        account = None
    if account is not None:
        if can_mail(settings):
            link = links.make_link(visit.database, "reset", account.email, actor=account.email)
            send_mail(
                settings,
                account.email,
                "Choose a new password",
                "Somebody, hopefully you, asked for a new password for this address.\n\n"
                f"{visit.base_url}{link}\n\nThe link works once, for two hours. "
                "Without it, nothing changes.\n",
            )
        else:
            with visit.database.write() as session:
                registry.audit(session, "visitor", "password.asked", account.id, {}, visit.address)
    return visit.redirect("/sign-in", "mailed" if can_mail(settings) else "asked")


def show_reset(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Ask for the new password."""
    token = visit.form.get("token") or visit.query.get("token", "")
    link = links.look_at_link(visit.database, "reset", token)
    return visit.render("reset.html", code, token=token, email=link.email, error=error)


def reset(visit: Visit) -> Response:
    """Set the new password; every session of the account ends."""
    throttle(visit, "")
    try:
        token = visit.form.get("token", "")
        email = links.look_at_link(visit.database, "reset", token).email
        password_hash = hash_password(visit.form.get("password", ""), email)
        with visit.database.write() as session:
            links.use_link(session, "reset", token)
            account = session.scalar(select(Account).where(Account.email == email))
            if account is None:
                raise NotFound("the account of this link is gone")
            account.password_hash = password_hash
            account.verified_at = account.verified_at or now_s()
            registry.audit(session, account.email, "password.reset", account.id, {}, visit.address)
    except InvalidRequest as error:
        return show_reset(visit, text_of(error), 400)
    end_all_sessions(visit.database, account.id)
    visit.sign_out()
    return visit.redirect("/sign-in", "reset")


def show_verify(visit: Visit) -> Response:
    """Ask for a click: programs that follow links in mails use up nothing."""
    token = visit.query.get("token", "")
    link = links.look_at_link(visit.database, "verify", token)
    return visit.render("verify.html", token=token, email=link.email)


def verify(visit: Visit) -> Response:
    """Note that the address is its owner's."""
    with visit.database.write() as session:
        link = links.use_link(session, "verify", visit.form.get("token", ""))
        account = session.scalar(select(Account).where(Account.email == link.email))
        if account is not None:
            account.verified_at = now_s()
            registry.audit(session, account.email, "email.verified", account.id, {}, visit.address)
    return visit.redirect("/account/keys" if visit.signed_in else "/sign-in", "verified")


def begin(visit: Visit, account: Account, target: str = "/account") -> Response:
    """Begin a session after the account has proved itself; an old one of this browser ends."""
    old = visit.request.cookies.get(visit.session_cookie, "")
    if old:
        end_session(visit.database, old)
    user_agent = visit.request.headers.get("user-agent", "")
    visit.sign_in(start_session(visit.database, account.id, user_agent), account.id)
    with visit.database.write() as session:
        registry.audit(session, account.email, "sign-in", account.id, {}, visit.address)
    return visit.redirect(target)


def throttle(visit: Visit, email: str) -> None:
    """Count an attempt; raise LimitExceeded when there were too many."""
    limiters = visit.services.get("web.throttle", _open_limiters)
    name = email.strip().lower()[:254]
    decisions = [limiters[0].check(visit.address)]
    if name:
        decisions.append(limiters[1].check(f"account {hash_name(name)}"))
    for decision in decisions:
        if not decision.allowed:
            wait_s = decision.retry_after_s
            raise LimitExceeded(
                f"there were too many attempts; try again in {wait_s} seconds",
                headers={"Retry-After": str(wait_s)},
            )


def hash_name(name: str) -> str:
    """Return a short name of an e-mail address for the throttle's table."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def _open_limiters(services: Services) -> tuple[AddressLimiter, AddressLimiter]:
    folder = services.settings.data / "limits"
    return (
        AddressLimiter(folder / "sign-in-addresses.limits", PER_ADDRESS, window_s=_WINDOW_S),
        AddressLimiter(folder / "sign-in-accounts.limits", PER_ACCOUNT, window_s=_WINDOW_S),
    )


def mail_verification(visit: Visit, email: str) -> None:
    """Mail the link that confirms an address."""
    link = links.make_link(visit.database, "verify", email, actor=email)
    send_mail(
        visit.services.settings,
        email,
        "Confirm your e-mail address",
        f"Welcome to Mapyard. Please confirm this address:\n\n{visit.base_url}{link}\n\n"
        "If you did not sign up, ignore this mail.\n",
    )


def next_path(visit: Visit) -> str:
    """Return where to go after signing in: a path of this server, nothing else."""
    target = visit.form.get("next") or visit.query.get("next", "")
    is_ours = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_ours and target.isprintable() else "/account"
