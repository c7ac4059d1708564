"""Sign up, sign in, sign out; forgotten passwords and confirmed addresses.

Nothing here tells a visitor whether an account exists, by words or by time: where mail can be sent,
sign-up and forgotten passwords are answered alike at once, and the outbox looks and mails.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from sqlalchemy import select
from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts import links, registry, second_factor
from mapyard.accounts.database import now_s
from mapyard.accounts.models import Account
from mapyard.accounts.passwords import hash_password, is_right_password
from mapyard.accounts.sessions import end_all_sessions, end_session, start_session
from mapyard.errors import InvalidRequest, NotFound
from mapyard.http.services import Services
from mapyard.web.mail import can_mail, send_mail
from mapyard.web.outbox import get_outbox
from mapyard.web.sealed import LIFE_S, seal, unseal
from mapyard.web.throttle import begin_attempt, count_form, may_mail, remember_device
from mapyard.web.visit import Refused, Visit, page, text_of

PENDING_COOKIE: Final = "mapyard_pending"


class Pending(msgspec.Struct, frozen=True):
    """A sign-in whose password was right and whose second factor is asked for."""

    account_id: int
    next: str


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/sign-in", show_sign_in, sign_in),
        page("/sign-in/code", show_code, check_code),
        page("/sign-out", show_sign_in, sign_out),
        page("/sign-up", show_sign_up, sign_up),
        page("/sign-up/confirm", show_sign_up, sign_up),
        page("/forgot", show_forgot, forgot),
        page("/reset", show_reset, reset),
        page("/verify", show_verify, verify, needs="account"),
    ]


def show_sign_in(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Show the form, or go on when signed in already."""
    if visit.signed_in is not None:
        return visit.redirect(next_path(visit))
    return visit.render(
        "sign_in.html",
        code,
        error=error,
        email=visit.form.get("email", ""),
        next=next_path(visit),
        may_use_passkeys=visit.may_use_passkeys,
    )


def sign_in(visit: Visit) -> Response:
    """Check the password, slowly and not too often, and begin a new session."""
    email = visit.form.get("email", "").strip().lower()[:254]
    with visit.database.read() as session:
        account = session.scalar(select(Account).where(Account.email == email))
    attempt = begin_attempt(visit, email, account.id if account else 0)
    right = is_right_password(
        account.password_hash if account else None, visit.form.get("password", "")
    )
    if account is None or not right:
        return show_sign_in(visit, "E-mail address and password do not match an account.", 401)
    attempt.forgive()
    return enter(visit, account, next_path(visit))


def enter(visit: Visit, account: Account, target: str) -> Response:
    """Go on after the first proof: ask for the second factor where there is one."""
    if account.suspended_at is not None:
        return show_sign_in(visit, "This account is suspended; ask the operator.", 403)
    if not second_factor.is_on(account):
        return begin(visit, account, target)
    sealed = seal(visit.services.secret, "pending", Pending(account.id, target))
    visit.set_cookie(PENDING_COOKIE, sealed, LIFE_S, path="/sign-in")
    return visit.redirect("/sign-in/code")


def show_code(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Ask for a code of the app, or a recovery code."""
    if _find_pending(visit) is None:
        return visit.redirect("/sign-in")
    return visit.render("sign_in_code.html", code, error=error)


def check_code(visit: Visit) -> Response:
    """Check the code and begin the session."""
    pending = _find_pending(visit)
    if pending is None:
        return visit.redirect("/sign-in")
    with visit.database.read() as session:
        account = session.get(Account, pending.account_id)
    if account is None or account.suspended_at is not None:
        raise Refused("this account is suspended; ask the operator")
    attempt = begin_attempt(visit, f"code {account.id}", account.id, strict=True)
    right = second_factor.take_code(
        visit.database, account.id, visit.form.get("code", "")[:100],
        actor=account.email, address=visit.address,
    )  # fmt: skip
    if not right:
        return show_code(visit, "This code does not fit, or was used before.", 401)
    attempt.forgive()
    visit.set_cookie(PENDING_COOKIE, "", 0, path="/sign-in")
    return begin(visit, account, pending.next)


def sign_out(visit: Visit) -> Response:
    """End the session, here and in the table."""
    end_session(visit.database, visit.request.cookies.get(visit.session_cookie, ""))
    visit.sign_out()
    return visit.redirect("/sign-in", "signed-out")


def show_sign_up(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Show the form, or why there is none."""
    token = visit.form.get("token") or visit.query.get("token", "")
    link = links.look_at_link(visit.database, _kind(visit), token) if token else None
    if link is None and visit.services.settings.signup != "open":
        return visit.render("sign_up_closed.html", 403)
    return visit.render(
        "sign_up.html",
        code,
        error=error,
        token=token,
        action=visit.request.url.path,
        link=link,
        invited=link is not None and link.kind == "invite",
        by_mail=link is None and can_mail(visit.services.settings),
        email=link.email if link else visit.form.get("email", ""),
    )


def sign_up(visit: Visit) -> Response:
    """Mail a link that confirms the address; with such a link, create the account and its key.

    Where no mail can be sent, the account is created at once; an address that is taken must then
    be told, for there is nothing else to answer.
    """
    count_form(visit)
    settings, token = visit.services.settings, visit.form.get("token", "")
    if not token and settings.signup != "open":
        return visit.render("sign_up_closed.html", 403)
    try:
        if not token and can_mail(settings):
            email = registry.normalize_email(visit.form.get("email", ""))
            get_outbox(visit.services).put(
                partial(_mail_sign_up, visit.services, email, visit.address)
            )
            return visit.render("sign_up_mailed.html", email=email)
        account, secret = _create(visit, token)
    except (InvalidRequest, registry.Conflict) as error:
        return show_sign_up(visit, text_of(error), 400)
    session_token = start_session(
        visit.database, account.id, _browser(visit), address=visit.address
    )
    visit.sign_in(session_token, account.id)
    remember_device(visit, account.id)
    return visit.render("welcome_key.html", secret=secret, email=account.email)


def _create(visit: Visit, token: str) -> tuple[Account, str]:
    """Create the account with its first key; raise InvalidRequest or Conflict."""
    kind = _kind(visit)
    link = links.look_at_link(visit.database, kind, token) if token else None
    email = registry.normalize_email(link.email if link else visit.form.get("email", ""))
    # Takes long: before the transaction.
    password_hash = hash_password(visit.form.get("password", ""), email)
    with visit.database.write() as session:
        if token:
            links.use_link(session, kind, token)
        account = registry.add_account(
            session,
            email,
            (link.plan if link else None) or "free",
            operator=False,
            actor=email,
            password_hash=password_hash,
            verified_at=now_s() if link else None,
        )
        _, secret = registry.add_key(
            session, account.id, "live", "First key", actor=email, address=visit.address
        )
    return account, secret


def show_forgot(visit: Visit) -> Response:
    """Ask for the address."""
    return visit.render("forgot.html", can_mail=can_mail(visit.services.settings))


def forgot(visit: Visit) -> Response:
    """Have a link mailed, or the request noted for an operator; the answer tells nothing."""
    count_form(visit)
    email = visit.form.get("email", "")[:300]
    get_outbox(visit.services).put(partial(_mail_reset, visit.services, email, visit.address))
    return visit.redirect("/sign-in", "mailed" if can_mail(visit.services.settings) else "asked")


def show_reset(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Ask for the new password."""
    token = visit.form.get("token") or visit.query.get("token", "")
    link = links.look_at_link(visit.database, "reset", token)
    return visit.render("reset.html", code, token=token, email=link.email, error=error)


def reset(visit: Visit) -> Response:
    """Set the new password; every session of the account ends."""
    count_form(visit)
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
    # Whoever proved the address by mail is not kept out by what others tried.
    remember_device(visit, account.id)
    return visit.redirect("/sign-in", "reset")


def show_verify(visit: Visit) -> Response:
    """Ask for a click: programs that follow links in mails use up nothing."""
    token = visit.query.get("token", "")
    link = links.look_at_link(visit.database, "verify", token)
    return visit.render("verify.html", token=token, email=link.email)


def verify(visit: Visit) -> Response:
    """Note that the address is its owner's, who must be signed in.

    Else a stranger could open an account with the address and have its owner confirm it.
    """
    with visit.database.write() as session:
        link = links.use_link(session, "verify", visit.form.get("token", ""))
        account = session.get(Account, visit.account.id)
        if account is None or account.email != link.email:
            raise Refused("this link is of another account; sign in to that one first")
        account.verified_at = now_s()
        registry.audit(session, account.email, "email.verified", account.id, {}, visit.address)
    return visit.redirect("/account/keys", "verified")


def begin(visit: Visit, account: Account, target: str = "/account") -> Response:
    """Begin a session after the account has proved itself; an old one of this browser ends."""
    old = visit.request.cookies.get(visit.session_cookie, "")
    if old:
        end_session(visit.database, old)
    token = start_session(visit.database, account.id, _browser(visit), address=visit.address)
    visit.sign_in(token, account.id)
    remember_device(visit, account.id)
    with visit.database.write() as session:
        registry.audit(session, account.email, "sign-in", account.id, {}, visit.address)
    return visit.redirect(target)


def mail_verification(visit: Visit) -> None:
    """Have the link mailed that confirms the address of the account that is signed in."""
    services, account = visit.services, visit.account
    get_outbox(services).put(partial(_mail_verification, services, account.id, visit.address))


def next_path(visit: Visit) -> str:
    """Return where to go after signing in: a path of this server, nothing else."""
    target = visit.form.get("next") or visit.query.get("next", "")
    is_ours = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_ours and target.isprintable() else "/account"


def _mail_sign_up(services: Services, email: str, address: str) -> None:
    assert services.database is not None
    if not may_mail(services, email):
        return
    base = services.settings.public_url.rstrip("/")
    if registry.find_account(services.database, email) is not None:
        send_mail(
            services.settings,
            email,
            "You have an account already",
            "Somebody, hopefully you, wanted to sign up with this address. There is an account "
            f"already.\n\nSign in: {base}/sign-in\nForgotten the password? {base}/forgot\n\n"
            "If it was not you, there is nothing to do.\n",
        )
        return
    link = links.make_link(services.database, "sign-up", email, actor=email, address=address)
    send_mail(
        services.settings,
        email,
        "Confirm your e-mail address",
        f"Welcome to Mapyard. Go on here to choose a password and get your first key:\n\n"
        f"{base}{link}\n\nThe link works once, for a day. If you did not sign up, ignore this "
        "mail: nothing has been created.\n",
    )


def _mail_reset(services: Services, email: str, address: str) -> None:
    database, settings = services.database, services.settings
    assert database is not None
    try:
        account = registry.find_account(database, email)
    except InvalidRequest:
        return
    if account is None or account.deleted_at is not None or not may_mail(services, account.email):
        return
    if not can_mail(settings):
        with database.write() as session:
            registry.audit(session, "visitor", "password.asked", account.id, {}, address)
        return
    link = links.make_link(
        database, "reset", account.email, actor="visitor", account_id=account.id, address=address
    )
    send_mail(
        settings,
        account.email,
        "Choose a new password",
        "Somebody, hopefully you, asked for a new password for this address.\n\n"
        f"{settings.public_url.rstrip('/')}{link}\n\nThe link works once, for two hours. "
        "Without it, nothing changes.\n",
    )


def _mail_verification(services: Services, account_id: int, address: str) -> None:
    assert services.database is not None
    with services.database.read() as session:
        account = session.get(Account, account_id)
    if account is None or not may_mail(services, account.email):
        return
    link = links.make_link(
        services.database, "verify", account.email,
        actor=account.email, account_id=account_id, address=address,
    )  # fmt: skip
    send_mail(
        services.settings,
        account.email,
        "Confirm your e-mail address",
        "Please confirm that this is the address of your account:\n\n"
        f"{services.settings.public_url.rstrip('/')}{link}\n\n"
        "If you have no account here, ignore this mail.\n",
    )


def _kind(visit: Visit) -> links.Kind:
    return "sign-up" if visit.request.url.path.endswith("/confirm") else "invite"


def _browser(visit: Visit) -> str:
    return visit.request.headers.get("user-agent", "")


def _find_pending(visit: Visit) -> Pending | None:
    sealed = visit.request.cookies.get(PENDING_COOKIE, "")
    return unseal(visit.services.secret, "pending", sealed, Pending)
