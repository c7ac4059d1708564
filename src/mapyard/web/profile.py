"""The profile page: password, sessions, confirmation of the address."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts import registry
from mapyard.accounts.passwords import hash_password, is_right_password
from mapyard.accounts.sessions import end_all_sessions, list_sessions, start_session
from mapyard.errors import InvalidRequest
from mapyard.http.services import Services
from mapyard.web.mail import can_mail
from mapyard.web.sign_in import mail_verification, throttle
from mapyard.web.visit import Visit, page, text_of


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/account/profile", show_profile, change_password, needs="account"),
        page("/account/profile/sessions", show_profile, end_sessions, needs="account"),
        page("/account/profile/verify", show_profile, mail_again, needs="account"),
    ]


def show_profile(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Show what the account is."""
    assert visit.signed_in is not None
    return visit.render(
        "profile.html",
        code,
        account=visit.account,
        error=error,
        can_mail=can_mail(visit.services.settings),
        sessions=list_sessions(visit.database, visit.account.id),
        this_session=visit.signed_in.session.sha256,
    )


def change_password(visit: Visit) -> Response:
    """Change the password after asking for the old one; all other sessions end."""
    account = visit.account
    throttle(visit, account.email)
    if account.password_hash is not None and not is_right_password(
        account.password_hash, visit.form.get("old_password", "")
    ):
        return show_profile(visit, "The old password is not right.", 403)
    try:
        new_hash = hash_password(visit.form.get("password", ""), account.email)
    except InvalidRequest as error:
        return show_profile(visit, text_of(error), 400)
    registry.change_account(
        visit.database,
        account.id,
        action="password.change",
        actor=visit.actor,
        password_hash=new_hash,
    )
    _renew_session(visit)
    return visit.redirect("/account/profile", "password")


def end_sessions(visit: Visit) -> Response:
    """End all other sessions."""
    _renew_session(visit)
    return visit.redirect("/account/profile", "saved")


def mail_again(visit: Visit) -> Response:
    """Mail the link that confirms the address once more."""
    throttle(visit, visit.account.email)
    if can_mail(visit.services.settings) and visit.account.verified_at is None:
        mail_verification(visit, visit.account.email)
    return visit.redirect("/account/profile", "mailed")


def _renew_session(visit: Visit) -> None:
    end_all_sessions(visit.database, visit.account.id)
    user_agent = visit.request.headers.get("user-agent", "")
    visit.sign_in(start_session(visit.database, visit.account.id, user_agent), visit.account.id)
