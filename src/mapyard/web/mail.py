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
    """Return whether a mail server is set."""
    return bool(settings.smtp_url)


def send_mail(settings: Settings, to: str, subject: str, text: str) -> bool:
    """Send a plain-text mail; False when the server did not take it (the log says why)."""
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
