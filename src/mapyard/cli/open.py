"""`mapyard open`: a link that opens the operator's map page."""

from __future__ import annotations

import sys

from mapyard.accounts.open import make_map_link
from mapyard.cli.accounts import DataOption, actor, open_data
from mapyard.cli.serve import address_of
from mapyard.settings import get_settings


def command(data: DataOption = None) -> None:
    """Print a link that opens the operator's map page in the first browser that follows it.

    The link works once, within a day. The browser then asks the API for the operator's account, for
    two weeks; it is not signed in to the account's pages.
    """
    settings = get_settings()
    base = settings.public_url.rstrip("/") or address_of(settings)
    with open_data(data) as database:
        sys.stdout.write(base + make_map_link(database, actor=actor()) + "\n")
