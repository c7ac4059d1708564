"""The interactive map of a result draws itself in a browser, without any request."""

from __future__ import annotations

from pathlib import Path

import pytest

import mapyard
from browser import CHROMIUM, open_browser


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_it_draws_tiles_and_features_offline(monaco: Path, tmp_path: Path) -> None:
    file = tmp_path / "parks.html"
    with mapyard.open(monaco) as source:
        source.features(tags={"leisure": "park"}).to_html(file)
    with open_browser() as browser:
        asked: list[str] = []
        browser.page.on("request", lambda request: asked.append(request.url))
        browser.page.goto(file.as_uri())
        browser.page.wait_for_function("document.documentElement.dataset.drawn", timeout=60_000)
        drawn = int(browser.page.evaluate("document.documentElement.dataset.drawn"))
        layers = browser.page.evaluate(
            "[...new Set(map.queryRenderedFeatures().map((f) => f.source))].sort()"
        )
        errors = browser.errors
    assert drawn > 100
    assert layers == ["found", "shortbread"] or "found" in layers
    assert not [url for url in asked if not url.startswith(("file:", "blob:", "data:"))]
    assert not errors
