"""Mail through the SMTP server of the settings; without one, operators hand links out."""

from __future__ import annotations

import logging
import smtplib
import ssl
from email.message import EmailMessage
from typing import Final
from urllib.parse import unquote, urlsplit

from mapyard.settings import Settings

log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 10.0
_OWN_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


def can_mail(settings: Settings) -> bool:
    """Return whether mail can be sent: there is a server, and an address to put into links.

    Links are never made of the Host that a request names: whoever sends the request could have a
    stranger mailed a link to a server of his own.
    """
    return bool(settings.smtp_url and settings.public_url)


def why_no_mail(settings: Settings) -> str:
    """Return what keeps mail from being sent, '' when nothing does."""
    if not settings.smtp_url:
        return "No mail server is set (MAPYARD_SMTP_URL): you hand the links out."
    if not settings.public_url:
        return (
            "No mail is sent: MAPYARD_SMTP_URL is set, but not MAPYARD_PUBLIC_URL, which the links "
            "in mails begin with. Until then you hand the links out."
        )
    return ""


def send_mail(settings: Settings, to: str, subject: str, text: str) -> bool:
    """Send a plain-text mail; False when the server did not take it (the log says why).

    Called from the outbox: it takes as long as the mail server likes.
    """
    server = urlsplit(settings.smtp_url)
    message = EmailMessage()
    message["From"] = settings.mail_from or f"Mapyard <mapyard@{server.hostname}>"
    message["To"] = to
    message["Subject"] = subject
    message.set_content(text)
    host = server.hostname or "localhost"
    try:
        if server.scheme == "smtps":
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(
                host, server.port or 465, timeout=_TIMEOUT_S, context=ssl.create_default_context()
            )
        else:
            smtp = smtplib.SMTP(host, server.port or 587, timeout=_TIMEOUT_S)
        with smtp:
            smtp.ehlo()
            if server.scheme == "smtp" and smtp.has_extn("starttls"):
                smtp.starttls(context=ssl.create_default_context())
            elif server.scheme == "smtp" and host not in _OWN_HOSTS:
                # Links to choose a password do not travel in the clear.
                raise smtplib.SMTPException("the server does not offer STARTTLS")
            if server.username:
                smtp.login(unquote(server.username), unquote(server.password or ""))
            smtp.send_message(message)
    except (OSError, smtplib.SMTPException) as error:
        log.error("a mail to %s was not sent: %s", to.partition("@")[2], error)
        return False
    return True
