"""The guides as web pages: every page, every link, and the search."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mapyard.http.reference.guides import (
    group_pages,
    render_contents,
    render_guide,
    render_search,
    search_guides,
)
from mapyard.library.documents import Document, list_documents
from mapyard.server.local import LocalClient
from mapyard.settings import Settings

PAGES = list_documents()


class Links(HTMLParser):
    """What a page links to, and its anchors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
        if values.get("id"):
            self.ids.add(values["id"] or "")


def render(page: Document) -> str:
    return render_guide(page, has_accounts=True).decode()


def test_the_contents_name_every_page_once() -> None:
    named = [page.name for _, pages in group_pages() for page in pages]
    assert sorted(named) == sorted(page.name for page in PAGES)
    html = render_contents(has_accounts=False).decode()
    assert all(f'href="/docs/{name}"' in html for name in named)
    assert "/pricing" not in html  # a server without accounts has none
    assert "/pricing" in render_contents(has_accounts=True).decode()


def test_all_links_between_guides_lead_somewhere() -> None:
    pages = {f"/docs/{page.name}": Links(render(page)) for page in PAGES}
    known = {*pages, *(f"{path}.md" for path in pages)}
    others = {"/", "/docs", "/docs/guides", "/pricing", "/status", "/account", "/openapi.json"}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if link.startswith(("http", "mailto:")):
                continue
            is_known = not target or target in known | others
            if not is_known or (anchor and anchor not in pages[target or path].ids):
                broken.append((path, link))
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_its_tables_and_code(page: Document) -> None:
    html = render(page)
    assert f"<title>{page.title}".split(" &")[0].split("'")[0] in html
    # A table of Markdown is one of HTML, and no bar of it is left as text.
    rows = re.findall(r"^\|[ :|]*-[-: |]*\|$", page.text, re.MULTILINE)
    assert html.count("<table>") == len(rows)
    fences = len(re.findall(r"^```", page.text, re.MULTILINE)) // 2
    assert html.count('<div class="code">') >= fences
    assert "```" not in html


def test_the_search_finds_sections() -> None:
    first = search_guides("turn restrictions")[0]
    assert (first.url.partition("#")[0], "<mark>" in first.excerpt) == ("/docs/routing", True)
    assert search_guides("xqzzy") == []
    assert search_guides("  ") == []
    found = search_guides("MAPYARD_TRUSTED_NETWORKS")
    assert {"/docs/playground", "/docs/reference/settings"} <= {
        r.url.partition("#")[0] for r in found
    }


def test_what_is_searched_for_is_no_html() -> None:
    html = render_search('<script>"&', has_accounts=True).decode()
    assert "<script>&" not in html
    assert "&lt;script&gt;" in html
    assert all("<script" not in result.excerpt for result in search_guides("script"))


def test_pages_are_served(tmp_path: Path) -> None:
    with LocalClient(Settings(data=tmp_path)) as client:
        check_pages(client)


def check_pages(client: LocalClient) -> None:
    page = client.get("/docs/routing")
    assert page.headers["content-type"].startswith("text/html")
    assert client.get("/docs/routing.md").text.startswith("# ")
    assert client.get("/docs/switch/nominatim").status_code == 200
    assert "<mark>" in client.get("/docs/search?q=geocode").text
    assert client.get("/docs/guides").status_code == 200
    missing = client.get("/docs/nothing")
    assert missing.status_code == 404
    assert "/docs/guides" in missing.json()["error"]["message"]
