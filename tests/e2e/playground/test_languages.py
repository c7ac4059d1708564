"""The map page in the reader's language: the browser's, or the one that was chosen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser import PHONE, Browser
from map_page import find_violations, open_tool, wait, wait_for_text
from servers import Server

pytestmark = pytest.mark.xdist_group("playground")

LOADED = "window.playground && window.playground.map.loaded()"


@pytest.fixture
def english_again(tab: Browser, server: Server) -> Iterator[None]:
    yield
    tab.evaluate("localStorage.removeItem('mapyard-language')")
    tab.open(f"{server.address}/#map=15/43.7384/7.4246")
    wait(tab, LOADED, 90)


@pytest.mark.usefixtures("english_again")
def test_another_language_is_chosen_and_kept(page: Browser, axe: str) -> None:
    assert page.evaluate("document.documentElement.lang") == "en"
    assert "Route" in page.text("#tools")
    with page.page.expect_event("load"):
        page.page.select_option("#corner .language", "de")
    wait(page, f"document.documentElement.lang === 'de' && {LOADED}", 90)
    assert page.evaluate("document.title") == "Karte · Mapyard"
    assert "Reichweite" in page.text("#tools")
    style = page.evaluate("playground.map.getStyle()")
    assert "name_de" in str([layer.get("layout") for layer in style["layers"]])
    assert page.page.get_attribute(".maplibregl-ctrl-zoom-in", "title") == "Vergrößern"

    open_tool(page, "route")
    page.evaluate("void playground.page.current.points.setAll([[7.4215,43.7365],[7.4290,43.7395]])")
    wait_for_text(page, "Verkehrsmittel vergleichen")
    wait(page, "document.querySelectorAll('.steps li').length > 1")
    assert "Richtung Norden fahren" in page.text(".steps")  # the steps are in German too
    assert ",".join(page.evaluate("playground.page.current.points.names")) == "Von,Nach"

    open_tool(page, "features")
    page.click("#panel button.primary")
    wait_for_text(page, "Ergebnisse")
    assert find_violations(page, axe) == []


@pytest.mark.usefixtures("english_again")
def test_page_speaks_the_language_of_the_browser(page: Browser, server: Server) -> None:
    chromium = page.page.context.browser
    assert chromium is not None
    session = page.page.context.storage_state()
    for locale, language, tool in (
        ("fr-CA", "fr", "Itinéraire"),
        ("es-MX", "es", "Ruta"),
        ("de-AT", "de", "Rundfahrt"),
        ("nl-NL", "en", "Round trip"),
    ):
        width, height = PHONE
        context = chromium.new_context(
            locale=locale,
            storage_state=session,
            viewport={"width": width, "height": height},
            color_scheme="dark",
        )
        other = Browser(context.new_page())
        other.open(f"{server.address}/#map=15/43.7384/7.4246")
        wait(other, "document.querySelectorAll('#tools button').length > 5", 60)
        assert other.evaluate("document.documentElement.lang") == language, locale
        assert tool in other.text("#tools")
        # The sources stay readable where they fold: gray on dark, as the rest.
        wait(other, "document.querySelector('.maplibregl-ctrl-attrib.maplibregl-compact')")
        color = "getComputedStyle(document.querySelector('.maplibregl-ctrl-attrib')).color"
        assert other.evaluate(color) == "rgb(162, 175, 166)"
        assert other.errors == []
        context.close()
