"""Pages of operators: accounts, invitations and links, audit log, state of the service."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts import links, privacy, registry, reports, second_factor
from mapyard.accounts.database import now_s
from mapyard.accounts.models import Account, AuditEntry, Key, Token, UsageDay
from mapyard.accounts.passkeys import list_passkeys
from mapyard.accounts.plans import PLANS, get_plan
from mapyard.accounts.statements import list_months
from mapyard.errors import InvalidRequest, NotFound
from mapyard.http.services import Services
from mapyard.web.mail import can_mail, send_mail, why_no_mail
from mapyard.web.outbox import get_outbox
from mapyard.web.plan import get_statement, send_statement
from mapyard.web.usage import draw_requests, list_periods, read_period, today_utc
from mapyard.web.visit import PageFunction, Visit, page

PAGE_SIZE = 50


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []

    def operator_page(path: str, get: PageFunction, post: PageFunction | None = None) -> BaseRoute:
        return page(path, get, post, needs="operator")

    return [
        operator_page("/operator", lambda visit: visit.redirect("/operator/accounts")),
        operator_page("/operator/accounts", show_accounts, create_account),
        operator_page("/operator/accounts/{id:int}", show_account, change_account),
        operator_page("/operator/accounts/{id:int}/link", show_account, make_reset_link),
        operator_page("/operator/accounts/{id:int}/revoke", show_account, revoke_key),
        operator_page("/operator/accounts/{id:int}/statements/{month}", show_statement),
        operator_page("/operator/accounts/{id:int}/view", show_account, begin_view),
        operator_page("/operator/view/end", show_audit, end_view),
        operator_page("/operator/links", show_links, invite),
        operator_page("/operator/audit", show_audit),
    ]


#: States that accounts are filtered by.
STATES: Final[dict[str, tuple[str, Any]]] = {
    "active": ("Active", Account.suspended_at.is_(None) & Account.deleted_at.is_(None)),
    "suspended": ("Suspended", Account.suspended_at.is_not(None)),
    "operator": ("Operators", Account.is_operator.is_(True)),
    "unconfirmed": ("Address not confirmed", Account.verified_at.is_(None)),
    "deleted": ("Deleted", Account.deleted_at.is_not(None)),
}


def show_accounts(visit: Visit, error: str = "", code: int = 200) -> Response:
    """List accounts with this month's units; search by address, filter by plan and state, sort."""
    search, plan = visit.query.get("q", "").strip().lower(), visit.query.get("plan", "")
    state, sort = visit.query.get("state", ""), visit.query.get("sort", "")
    number = _page_number(visit)
    month = today_utc().replace(day=1)
    units = (
        select(UsageDay.account_id, func.sum(UsageDay.units).label("units"))
        .where(UsageDay.day >= month)
        .group_by(UsageDay.account_id)
        .subquery()
    )
    keys = (
        select(Key.account_id, func.count().label("active"))
        .where(Key.revoked_at.is_(None))
        .group_by(Key.account_id)
        .subquery()
    )
    query = (
        select(Account, func.coalesce(units.c.units, 0), func.coalesce(keys.c.active, 0))
        .outerjoin(units, units.c.account_id == Account.id)
        .outerjoin(keys, keys.c.account_id == Account.id)
    )
    orders: dict[str, Any] = {
        "email": Account.email,
        "plan": Account.plan,
        "keys": func.coalesce(keys.c.active, 0).desc(),
        "units": func.coalesce(units.c.units, 0).desc(),
        "": Account.id.desc(),
    }
    query = query.order_by(orders.get(sort, orders[""]), Account.id.desc())
    count = select(func.count()).select_from(Account)
    if search:
        condition = Account.email.contains(search, autoescape=True)
        query, count = query.where(condition), count.where(condition)
    if plan in PLANS:
        query, count = query.where(Account.plan == plan), count.where(Account.plan == plan)
    if state in STATES:
        query, count = query.where(STATES[state][1]), count.where(STATES[state][1])
    with visit.database.read() as session:
        rows = session.execute(query.limit(PAGE_SIZE).offset((number - 1) * PAGE_SIZE)).all()
        total = session.scalar(count) or 0
    return visit.render(
        "operator_accounts.html",
        code,
        rows=rows,
        total=total,
        search=search,
        plan=plan,
        state=state,
        states={name: title for name, (title, _) in STATES.items()},
        sort=sort,
        number=number,
        pages=max(1, -(-total // PAGE_SIZE)),
        error=error,
    )


def create_account(visit: Visit) -> Response:
    """Create an account; its owner gets a link to choose a password."""
    try:
        account = registry.create_account(
            visit.database,
            visit.form.get("email", ""),
            visit.form.get("plan", "free"),
            actor=visit.actor,
            verified_at=now_s(),  # the operator stands for the address
        )
    except (InvalidRequest, registry.Conflict) as error:
        return show_accounts(visit, error.message, 400)
    return visit.redirect(f"/operator/accounts/{account.id}", "saved")


def show_account(visit: Visit, link: str = "") -> Response:
    """Show one account whole; `link` is one just made, shown this one time."""
    database, account = visit.database, _account(visit)
    today = today_utc()
    first, last, period = read_period(visit.query.get("period", ""), today)
    days = reports.sum_days(database, account.id, first, min(last, today))
    with database.read() as session:
        entries = session.scalars(
            select(AuditEntry)
            .where(AuditEntry.account_id == account.id)
            .order_by(AuditEntry.id.desc())
            .limit(20)
        ).all()
    return visit.render(
        "operator_account.html",
        account=account,
        limits=registry.limits_of(account),
        keys=registry.list_keys(database, account.id),
        has_passkeys=bool(list_passkeys(database, account.id)),
        link=visit.base_url + link if link else "",
        chart=draw_requests(days),
        period=period,
        periods=list_periods(today),
        allowances=reports.allowances(database, account.id, registry.limits_of(account), today),
        endpoints=reports.sum_groups(database, account.id, first, last, "endpoint"),
        errors=reports.recent_errors(database, account.id, 20),
        months=list_months(database, account, today)[:12],
        entries=entries,
    )


def change_account(visit: Visit) -> Response:
    """Change plan and limits, suspend or resume; each is one form."""
    account, form = _account(visit), visit.form
    done = "saved"
    fields: dict[str, Any]
    if form.get("action") == "suspend":
        if account.id == visit.account.id:
            raise InvalidRequest("you cannot suspend your own account")
        fields = {"suspended_at": now_s(), "suspended_reason": form.get("reason", "")[:500]}
        action, done = "account.suspend", "suspended"
    elif form.get("action") == "resume":
        fields = {"suspended_at": None, "suspended_reason": None}
        action, done = "account.resume", "resumed"
    elif form.get("action") == "factors":
        second_factor.switch_off(
            visit.database, account.id, actor=visit.actor, address=visit.address, passkeys=True
        )
        return visit.redirect(f"/operator/accounts/{account.id}", "factor-off")
    elif form.get("action") == "address":
        email = registry.normalize_email(form.get("email", ""))
        with visit.database.write() as session:
            registry.change_email(session, account.id, email, visit.actor, visit.address)
        return visit.redirect(f"/operator/accounts/{account.id}", "address")
    elif form.get("action") == "delete":
        if account.id == visit.account.id:
            raise InvalidRequest("delete your own account on your profile")
        if form.get("email", "").strip().lower() != account.email:
            raise InvalidRequest("enter the e-mail address of the account to delete it")
        privacy.delete_account(visit.database, account.id, actor=visit.actor, address=visit.address)
        return visit.redirect("/operator/accounts", "deleted")
    elif form.get("action") == "role":
        wants = form.get("is_operator") == "yes"
        if account.id == visit.account.id and not wants:
            raise InvalidRequest("you cannot take the operator's role from yourself")
        fields, action = {"is_operator": wants}, "account.role"
    else:
        fields = {
            "plan": get_plan(form.get("plan", "")).id,
            "per_minute_override": _optional_number(form, "per_minute", 1, 1_000_000),
            "month_units_override": _optional_number(form, "month_units", 0, 10**12),
        }
        action = "account.limits"
    registry.change_account(
        visit.database, account.id,
        action=action, actor=visit.actor, address=visit.address, **fields,
    )  # fmt: skip
    return visit.redirect(f"/operator/accounts/{account.id}", done)


def make_reset_link(visit: Visit) -> Response:
    """Make a link to choose a password, for handing out."""
    account = _account(visit)
    link = links.make_link(
        visit.database, "reset", account.email,
        actor=visit.actor, account_id=account.id, address=visit.address,
    )  # fmt: skip
    return show_account(visit, link)


def revoke_key(visit: Visit) -> Response:
    """Revoke a key of any account."""
    account, key_id = _account(visit), visit.form.get("key", "")
    if not (key_id.isascii() and key_id.isdigit() and len(key_id) < 10):
        raise InvalidRequest.of("key", "must be the id of a key")
    registry.revoke_key(
        visit.database, account.id, int(key_id), actor=visit.actor, address=visit.address
    )
    return visit.redirect(f"/operator/accounts/{account.id}", "revoked")


def begin_view(visit: Visit) -> Response:
    """Show the operator the pages of an account as its owner sees them; nothing can be changed."""
    account = _account(visit)
    _note_view(visit, account.id, "account.view")
    visit.begin_view(account.id)
    return visit.redirect("/account/usage")


def end_view(visit: Visit) -> Response:
    """Go back to the operator's own pages."""
    assert visit.signed_in is not None
    account_id = visit.viewed_account(visit.signed_in)
    visit.end_view()
    if account_id is None:
        return visit.redirect("/operator/accounts")
    _note_view(visit, account_id, "account.view-end")
    return visit.redirect(f"/operator/accounts/{account_id}", "view-ended")


def _note_view(visit: Visit, account_id: int, action: str) -> None:
    with visit.database.write() as session:
        registry.audit(session, visit.actor, action, account_id, {}, visit.address)


def show_statement(visit: Visit) -> Response:
    """Show a statement of any account."""
    month: str = visit.request.path_params["month"]
    statement = get_statement(visit, _account(visit), month.removesuffix(".json"))
    return send_statement(visit, statement, as_json=month.endswith(".json"))


def show_links(visit: Visit, link: str = "", email: str = "", error: str = "") -> Response:
    """Show open invitations and who asked for a new password."""
    now = now_s()
    with visit.database.read() as session:
        open_links = session.scalars(
            select(Token)
            .where(Token.expires_at > now, Token.kind.in_(("invite", "reset")))
            .order_by(Token.created_at.desc())
        ).all()
        asked = _password_requests(session, now)
    return visit.render(
        "operator_links.html",
        400 if error else 200,
        link=visit.base_url + link if link else "",
        email=email,
        error=error,
        open_links=open_links,
        asked=asked,
        can_mail=can_mail(visit.services.settings),
        no_mail=why_no_mail(visit.services.settings),
    )


def invite(visit: Visit) -> Response:
    """Make an invitation; mail it where mail is set."""
    try:
        email = registry.normalize_email(visit.form.get("email", ""))
        plan = get_plan(visit.form.get("plan", "free")).id
    except InvalidRequest as error:
        return show_links(visit, error=error.message)
    if registry.find_account(visit.database, email) is not None:
        return show_links(visit, error=f"An account with the address {email} exists.")
    link = links.make_link(
        visit.database, "invite", email, actor=visit.actor, plan=plan, address=visit.address
    )
    settings = visit.services.settings
    if can_mail(settings):
        text = (
            f"You are invited to use this map API:\n\n{visit.base_url}{link}\n\n"
            "The link works once, for two weeks.\n"
        )
        get_outbox(visit.services).put(
            partial(send_mail, settings, email, "You are invited to Mapyard", text)
        )
    return show_links(visit, link, email)


def show_audit(visit: Visit) -> Response:
    """Show the audit log, newest first."""
    number, search = _page_number(visit), visit.query.get("q", "").strip()
    query, count = select(AuditEntry), select(func.count()).select_from(AuditEntry)
    if search:
        condition = AuditEntry.actor.contains(search, autoescape=True) | AuditEntry.action.contains(
            search, autoescape=True
        )
        query, count = query.where(condition), count.where(condition)
    page_query = (
        query.order_by(AuditEntry.id.desc()).limit(PAGE_SIZE).offset((number - 1) * PAGE_SIZE)
    )
    with visit.database.read() as session:
        entries = session.scalars(page_query).all()
        total = session.scalar(count) or 0
        ids = {entry.account_id for entry in entries if entry.account_id is not None}
        rows = session.execute(select(Account.id, Account.email).where(Account.id.in_(ids)))
        emails = {row[0]: row[1] for row in rows}
    return visit.render(
        "operator_audit.html",
        entries=entries,
        emails=emails,
        search=search,
        number=number,
        pages=max(1, -(-total // PAGE_SIZE)),
        total=total,
    )


def _password_requests(session: Session, now: int) -> list[tuple[AuditEntry, str]]:
    rows = session.execute(
        select(AuditEntry, Account.email)
        .join(Account, Account.id == AuditEntry.account_id)
        .where(AuditEntry.action == "password.asked", AuditEntry.at > now - 7 * 86_400)
        .order_by(AuditEntry.id.desc())
        .limit(50)
    ).all()
    return [(row[0], row[1]) for row in rows]


def _account(visit: Visit) -> Account:
    with visit.database.read() as session:
        account = session.get(Account, visit.request.path_params["id"])
    if account is None:
        raise NotFound("there is no such account")
    return account


def _page_number(visit: Visit) -> int:
    text = visit.query.get("page", "1")
    return max(1, int(text)) if text.isdigit() and len(text) < 7 else 1


def _optional_number(form: dict[str, str], name: str, low: int, high: int) -> int | None:
    text = form.get(name, "").strip().replace(",", "")
    if not text:
        return None
    if not text.isdigit() or not low <= int(text) <= high:
        raise InvalidRequest.of(name, f"must be a whole number from {low:,} to {high:,}, or empty")
    return int(text)
