"""Addresses are shown without login and without what follows a question mark."""

from __future__ import annotations

import pytest

from mapyard.addresses import show_address, split_login
from mapyard.settings import Settings, list_settings, show_setting


@pytest.mark.parametrize(
    ("url", "address", "login"),
    [
        ("https://a.example/b.pbf", "https://a.example/b.pbf", None),
        ("https://ann:pw@a.example:81/b", "https://a.example:81/b", ("ann", "pw")),
        ("https://ann@a.example/b", "https://a.example/b", ("ann", "")),
        ("https://a%40b:p%3A%2F@c.example/d?e=f", "https://c.example/d?e=f", ("a@b", "p:/")),
        ("https://a.example/x@y", "https://a.example/x@y", None),
        ("http://u:p@[::1]:80/", "http://[::1]:80/", ("u", "p")),
        ("", "", None),
    ],
)
def test_the_login_apart(url: str, address: str, login: tuple[str, str] | None) -> None:
    assert split_login(url) == (address, login)


def test_what_is_shown_has_no_key() -> None:
    assert show_address("https://u:p@a.example/x.pbf?sig=abc#d") == "https://a.example/x.pbf"


def test_a_setting_is_shown_without_login() -> None:
    (setting,) = (one for one in list_settings() if one.name == "update_source")
    settings = Settings(update_source="https://ann:pw@a.example/updates")
    assert show_setting(setting, settings) == "https://a.example/updates"
