"""The profile: password, second factor, passkeys, sessions, address, one's data, recent changes."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

import segno
from markupsafe import Markup
from sqlalchemy import select
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from mapyard.accounts import links, privacy, registry, second_factor
from mapyard.accounts.models import Account, AuditEntry
from mapyard.accounts.passkeys import list_passkeys
from mapyard.accounts.passwords import hash_password, is_right_password
from mapyard.accounts.sessions import (
    end_all_sessions,
    end_named_session,
    list_sessions,
    start_session,
)
from mapyard.errors import InvalidRequest
from mapyard.http.services import Services
from mapyard.web.mail import can_mail, send_mail
from mapyard.web.outbox import get_outbox
from mapyard.web.sign_in import mail_verification
from mapyard.web.throttle import begin_attempt, count_form, may_mail
from mapyard.web.visit import Refused, Visit, page, text_of

#: Without a password to ask for, a sign-in so fresh proves that it is the owner, seconds.
_FRESH_S: Final = 900
PATH: Final = "/account/profile"


class NotConfirmed(Refused):
    """The password that a change asks for is not right, or the sign-in is too old."""


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page(PATH, show_profile, change_password, needs="account"),
        page(f"{PATH}/sessions", show_profile, end_sessions, needs="account"),
        page(f"{PATH}/sessions/end", show_profile, end_one_session, needs="account"),
        page(f"{PATH}/verify", show_profile, mail_again, needs="account"),
        page(f"{PATH}/factor", show_factor, switch_factor_on, needs="account"),
        page(f"{PATH}/factor/off", show_profile, switch_factor_off, needs="account"),
        page(f"{PATH}/factor/codes", show_profile, renew_codes, needs="account"),
        page(f"{PATH}/address", show_profile, change_address, needs="account"),
        page(f"{PATH}/address/confirm", show_address, confirm_address, needs="account"),
        page(f"{PATH}/export", show_profile, export, needs="account"),
        page(f"{PATH}/delete", show_delete, delete, needs="account"),
    ]


def show_profile(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Show what the account is."""
    assert visit.signed_in is not None
    database, account = visit.database, visit.account
    with database.read() as session:
        entries = session.scalars(
            select(AuditEntry)
            .where(AuditEntry.account_id == account.id)
            .order_by(AuditEntry.id.desc())
            .limit(15)
        ).all()
    return visit.render(
        "profile.html",
        code,
        account=account,
        error=error,
        can_mail=can_mail(visit.services.settings),
        factor_on=second_factor.is_on(account),
        codes_left=second_factor.count_codes(database, account.id),
        passkeys=list_passkeys(database, account.id),
        may_use_passkeys=visit.may_use_passkeys,
        sessions=list_sessions(database, account.id),
        this_session=visit.signed_in.session.sha256,
        entries=entries,
    )


def change_password(visit: Visit) -> Response:
    """Change the password after asking for the old one; all other sessions end."""
    account = visit.account
    try:
        confirm(visit, visit.form.get("old_password", ""))
        new_hash = hash_password(visit.form.get("password", ""), account.email)
    except (NotConfirmed, InvalidRequest) as error:
        return show_profile(visit, text_of(error), error.status)
    registry.change_account(
        visit.database,
        account.id,
        action="password.change",
        actor=visit.actor,
        address=visit.address,
        password_hash=new_hash,
    )
    _renew_session(visit)
    return visit.redirect(PATH, "password")


def confirm(visit: Visit, password: str) -> None:
    """Raise NotConfirmed unless the owner stands behind a change: password, or a fresh sign-in."""
    assert visit.signed_in is not None
    account = visit.account
    if account.password_hash is None:
        if time.time() - visit.signed_in.session.created_at > _FRESH_S:
            raise NotConfirmed("sign out and in again first; then you have a quarter of an hour")
        return
    attempt = begin_attempt(visit, account.email, account.id)
    if not is_right_password(account.password_hash, password):
        raise NotConfirmed("the password is not right")
    attempt.forgive()


def end_sessions(visit: Visit) -> Response:
    """End all other sessions."""
    _renew_session(visit)
    with visit.database.write() as session:
        registry.audit(session, visit.actor, "session.end-all", visit.account.id, {}, visit.address)
    return visit.redirect(PATH, "saved")


def end_one_session(visit: Visit) -> Response:
    """End one session, also this one."""
    ended = end_named_session(visit.database, visit.account.id, visit.form.get("session", ""))
    if not ended:
        raise InvalidRequest("this session has ended already")
    with visit.database.write() as session:
        registry.audit(session, visit.actor, "session.end", visit.account.id, {}, visit.address)
    return visit.redirect(PATH, "session")


def mail_again(visit: Visit) -> Response:
    """Mail the link that confirms the address once more."""
    count_form(visit)
    if can_mail(visit.services.settings) and visit.account.verified_at is None:
        mail_verification(visit)
    return visit.redirect(PATH, "mailed")


def show_factor(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Show the secret for the app and ask for its first code."""
    secret = second_factor.begin_totp(visit.database, visit.account.id)
    address = second_factor.totp_address(secret, visit.account.email, visit.host or "Mapyard")
    drawn = segno.make(address, error="m").svg_inline(scale=5, border=4, omitsize=True)
    return visit.render(
        "factor.html",
        code,
        error=error,
        # Dark on light in both looks: cameras want it so.
        picture=Markup(drawn),  # noqa: S704 - drawn by segno from numbers
        secret=" ".join(secret[i : i + 4] for i in range(0, len(secret), 4)),
    )


def switch_factor_on(visit: Visit) -> Response:
    """Take the first code, and show the recovery codes this one time."""
    try:
        confirm(visit, visit.form.get("password", ""))
        codes = second_factor.confirm_totp(
            visit.database, visit.account.id, visit.form.get("code", ""),
            actor=visit.actor, address=visit.address,
        )  # fmt: skip
    except (NotConfirmed, InvalidRequest) as error:
        return show_factor(visit, text_of(error), error.status)
    return visit.render("factor_codes.html", codes=codes, is_new=True)


def switch_factor_off(visit: Visit) -> Response:
    """Switch the second factor off."""
    try:
        confirm(visit, visit.form.get("password", ""))
    except NotConfirmed as error:
        return show_profile(visit, text_of(error), error.status)
    second_factor.switch_off(
        visit.database, visit.account.id, actor=visit.actor, address=visit.address
    )
    return visit.redirect(PATH, "factor-off")


def renew_codes(visit: Visit) -> Response:
    """Make new recovery codes."""
    try:
        confirm(visit, visit.form.get("password", ""))
    except NotConfirmed as error:
        return show_profile(visit, text_of(error), error.status)
    if not second_factor.is_on(visit.account):
        raise InvalidRequest("the second factor is off")
    codes = second_factor.renew_codes(
        visit.database, visit.account.id, actor=visit.actor, address=visit.address
    )
    return visit.render("factor_codes.html", codes=codes, is_new=False)


def change_address(visit: Visit) -> Response:
    """Mail a link to the new address; the old one holds until the link is used."""
    settings = visit.services.settings
    try:
        confirm(visit, visit.form.get("password", ""))
        email = registry.normalize_email(visit.form.get("email", ""))
    except (NotConfirmed, InvalidRequest) as error:
        return show_profile(visit, text_of(error), error.status)
    if not can_mail(settings):
        raise Refused("this service sends no mail; ask its operator for the change")
    count_form(visit)
    get_outbox(visit.services).put(
        partial(_mail_address, visit.services, visit.account, email, visit.address)
    )
    return visit.redirect(PATH, "address-mailed")


def _mail_address(services: Services, account: Account, email: str, address: str) -> None:
    assert services.database is not None
    if not may_mail(services, email):
        return
    if registry.find_account(services.database, email) is not None:
        send_mail(
            services.settings,
            email,
            "An account has this address already",
            "Somebody, hopefully you, wanted to give this address to another account. It has an "
            "account already, so nothing was changed.\n",
        )
        return
    link = links.make_link(
        services.database, "address", email,
        actor=account.email, account_id=account.id, address=address,
    )  # fmt: skip
    send_mail(
        services.settings,
        email,
        "Confirm your new e-mail address",
        f"Please confirm the new address of your account, in the browser in which you are signed "
        f"in:\n\n{services.settings.public_url.rstrip('/')}{link}\n\nThe link works once, for a "
        "day. If you did not ask for it, ignore this mail.\n",
    )


def show_address(visit: Visit) -> Response:
    """Ask for a click: programs that follow links in mails use up nothing."""
    token = visit.query.get("token", "")
    link = links.look_at_link(visit.database, "address", token)
    return visit.render("address.html", token=token, email=link.email)


def confirm_address(visit: Visit) -> Response:
    """Change the address; the old one is told."""
    old = visit.account.email
    with visit.database.write() as session:
        link = links.use_link(session, "address", visit.form.get("token", ""))
        if link.account_id != visit.account.id:
            raise Refused("this link is of another account; sign in to that one first")
        registry.change_email(session, visit.account.id, link.email, old, visit.address)
    if can_mail(visit.services.settings):
        get_outbox(visit.services).put(
            partial(
                send_mail,
                visit.services.settings,
                old,
                "The address of your account was changed",
                "This is no longer the address of your account. If you did not change it, tell the "
                "operator of the service at once.\n",
            )
        )
    return visit.redirect(PATH, "address")


def export(visit: Visit) -> Response:
    """Send all that is kept about the account."""
    count_form(visit)
    document = privacy.export_account(visit.database, visit.account.id)
    with visit.database.write() as session:
        registry.audit(session, visit.actor, "account.export", visit.account.id, {}, visit.address)
    headers = {"Content-Disposition": 'attachment; filename="mapyard-account.json"'}
    return JSONResponse(document, headers=headers)


def show_delete(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Say what goes and what stays, and ask."""
    return visit.render("delete.html", code, error=error, account=visit.account)


def delete(visit: Visit) -> Response:
    """Delete the account."""
    try:
        if visit.form.get("email", "").strip().lower() != visit.account.email:
            raise InvalidRequest("enter the e-mail address of the account to delete it")
        confirm(visit, visit.form.get("password", ""))
        privacy.delete_account(
            visit.database, visit.account.id, actor=visit.actor, address=visit.address
        )
    except (NotConfirmed, InvalidRequest, registry.Conflict) as error:
        return show_delete(visit, text_of(error), error.status)
    visit.sign_out()
    return visit.redirect("/sign-in", "deleted")


def _renew_session(visit: Visit) -> None:
    end_all_sessions(visit.database, visit.account.id)
    user_agent = visit.request.headers.get("user-agent", "")
    token = start_session(visit.database, visit.account.id, user_agent, address=visit.address)
    visit.sign_in(token, visit.account.id)
