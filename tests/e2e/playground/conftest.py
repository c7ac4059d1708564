"""The map page of one server, drawn once for all its tests: by software, that takes a while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import CHROMIUM, DESKTOP, PHONE, TABLET, WEBGL, Browser, open_browser
from map_page import open_link, wait
from mapyard.store.tag_history import write_history
from servers import Server, running


@pytest.fixture(scope="module")
def server(monaco_copy: Path) -> Iterator[Server]:
    add_tag_history(monaco_copy / "current")
    with running(monaco_copy, monaco_copy.parent / "serve.log") as started:
        yield started


def add_tag_history(dataset: Path) -> None:
    """Give a dataset the history of one update: two cafés more, and one bench less."""
    before = Counter({("amenity", "bench"): 1})
    now = Counter({("amenity", "cafe"): 2, ("amenity", None): 1})
    times = ("2026-03-01T00:00:00Z", "2026-03-20T00:00:00Z")
    write_history(dataset, dataset.parent, times, before, now)


@pytest.fixture(scope="module")
def tab(server: Server, monaco_copy: Path) -> Iterator[Browser]:
    """The map page, drawn: by software, so once for all tests."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with open_browser(*WEBGL) as browser:
        browser.open(open_link(server, monaco_copy))
        browser.open(f"{server.address}/#map=15/43.7384/7.4246")
        wait(browser, "window.playground && window.playground.map.loaded()", 90)
        yield browser


@pytest.fixture(params=[DESKTOP, TABLET, PHONE], ids=["desktop", "tablet", "phone"])
def window(tab: Browser, request: pytest.FixtureRequest) -> Iterator[None]:
    """Windows of three sizes, for what people do: each flow is gone through in all."""
    tab.resize(*request.param)
    yield
    tab.resize(*DESKTOP)


@pytest.fixture
def page(tab: Browser) -> Iterator[Browser]:
    """The page at its beginning; afterwards the console must hold no error."""
    tab.errors.clear()
    tab.evaluate("void playground.page.open(playground.page.tools[0], {state: {}})")
    tab.evaluate("void (playground.page.states = {})")
    tab.evaluate("localStorage.clear()")
    tab.evaluate("void playground.map.jumpTo({center: [7.4246, 43.7384], zoom: 15})")
    wait(tab, "playground.map.loaded()")
    yield tab
    assert tab.errors == []
