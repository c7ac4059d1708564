from __future__ import annotations

import pytest

from mapyard.http.languages import read_languages


@pytest.mark.parametrize(
    ("header", "langs"),
    [
        ("de", ("de",)),
        ("de-CH,de;q=0.9,en;q=0.8", ("de-CH", "de", "en")),
        ("en;q=0.5, fr", ("fr", "en")),
        ("fr;q=0, en", ("en",)),
        ("*", ()),
        ("", ()),
        ("zh-Hant-TW, ja;q=0.3", ("zh-Hant-TW", "ja")),
        ("de;q=x, en", ("en",)),
        ("<script>", ()),
    ],
)
def test_languages_of_a_header(header: str, langs: tuple[str, ...]) -> None:
    assert read_languages(header) == langs
