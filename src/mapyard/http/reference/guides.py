"""The guides as web pages: the Markdown of docs/ in one look with the reference, with a search."""

from __future__ import annotations

import posixpath
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import jinja2
from markupsafe import Markup, escape

from mapyard.http.reference.try_it import find_requests, write_form
from mapyard.library.documents import Document, list_documents

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

#: The contents: titles of groups, and their pages in order. Pages that are not named come last.
_GROUPS: Final = (
    ("Begin", ("install", "tutorials", "playground", "library", "clients", "mcp", "compare")),
    ("Places", ("geocoding", "search", "features", "pagination", "elevation", "bulk")),
    ("Ways", ("routing",)),
    ("Queries", ("overpass", "sparql", "plazaql", "datasets")),
    ("Maps", ("tiles",)),
    ("Switch from another service", ("switch/",)),
    (
        "Run it",
        (
            "build",
            "sizing",
            "updates",
            "serve",
            "operate",
            "fleet",
            "accounts",
            "dashboard",
            "releasing",
        ),
    ),
    ("Reference", ("reference/",)),
    ("Conformance", ("overpass-conformance", "sparql-conformance", "sparql-w3c")),
)
_MOST_RESULTS: Final = 40
_EXCERPT: Final = 160


class Section(NamedTuple):
    """A heading of a page and the text below it, for the search."""

    page: Document
    heading: str
    anchor: str
    text: str


class Result(NamedTuple):
    """What the search found: where, and a piece of the text with the words marked."""

    url: str
    title: str
    heading: str
    excerpt: Markup


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("mapyard.http", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def group_pages() -> tuple[tuple[str, tuple[Document, ...]], ...]:
    """Return the contents: groups with their pages."""
    left = {page.name: page for page in list_documents()}
    groups = []
    for title, wanted in _GROUPS:
        names = [
            name
            for want in wanted
            for name in left
            if name == want or (want.endswith("/") and name.startswith(want))
        ]
        groups.append((title, tuple(left.pop(name) for name in names)))
    groups.append(("More", tuple(left.values())))
    return tuple((title, pages) for title, pages in groups if pages)


def render_guide(page: Document, *, has_accounts: bool) -> bytes:
    """Return a page of the documentation as HTML."""
    body, headings = _render(page)
    flat = [one for _, pages in group_pages() for one in pages]
    place = flat.index(page)
    return _write(
        "guide.html",
        title=page.title,
        name=page.name,
        body=Markup(body),  # noqa: S704 - the parser lets no HTML of a page through
        headings=headings,
        before=flat[place - 1] if place else None,
        after=flat[place + 1] if place + 1 < len(flat) else None,
        query="",
        has_accounts=has_accounts,
    )


def render_contents(*, has_accounts: bool) -> bytes:
    """Return the first page: all pages with a line each."""
    return _write("guides.html", title="Guides", name="", query="", has_accounts=has_accounts)


def render_search(query: str, *, has_accounts: bool) -> bytes:
    """Return what a search over all pages found."""
    return _write(
        "guide_search.html",
        title=f"Search: {query}" if query else "Search",
        name="",
        query=query,
        results=search_guides(query),
        most=_MOST_RESULTS,
        has_accounts=has_accounts,
    )


def _write(template: str, **values: object) -> bytes:
    page = _environment().get_template(template)
    return page.render(groups=group_pages(), **values).encode()


def search_guides(query: str) -> list[Result]:
    """Return the sections that hold all words, those with them in titles and headings first."""
    words = [word for word in query.casefold().split() if word][:10]
    if not words:
        return []
    begins = [re.compile(r"(?<!\w)" + re.escape(word), re.IGNORECASE) for word in words]
    found = []
    for order, section in enumerate(_sections()):
        title, heading, text = section.page.title, section.heading, section.text
        counts = [
            8 * bool(word.search(heading))
            + 4 * bool(word.search(title))
            + min(len(word.findall(text)), 5)
            for word in begins
        ]
        if not all(counts):
            continue
        score = sum(counts)
        # The reference repeats what the guides explain.
        found.append((section.page.name.startswith("reference/"), -score, order, section))
    found.sort(key=lambda row: row[:3])
    return [_show(section, words) for *_, section in found[:_MOST_RESULTS]]


def _show(section: Section, words: list[str]) -> Result:
    text = " ".join(section.text.split())
    pattern = "|".join(rf"(?<!\w){re.escape(word)}" for word in words)
    first = re.search(pattern, text, re.IGNORECASE)
    start = max(0, (first.start() if first else 0) - _EXCERPT // 3)
    piece = text[start : start + _EXCERPT]
    parts = re.split(f"({pattern})", piece, flags=re.IGNORECASE)
    marked = "".join(
        f"<mark>{escape(part)}</mark>" if place % 2 else str(escape(part))
        for place, part in enumerate(parts)
    )
    dots = ("… " if start else "", " …" if start + _EXCERPT < len(text) else "")
    url = f"/docs/{section.page.name}" + (f"#{section.anchor}" if section.anchor else "")
    excerpt = Markup(dots[0] + marked + dots[1])  # noqa: S704 - the text was escaped above
    return Result(url, section.page.title, section.heading, excerpt)


@cache
def _sections() -> tuple[Section, ...]:
    """Return all pages in pieces: one per heading."""
    sections = []
    for page in list_documents():
        tokens = _parse(page.text)
        heading, anchor, text = "", "", list[str]()
        for place, token in enumerate(tokens):
            if token.type == "heading_open":
                sections.append(Section(page, heading, anchor, " ".join(text)))
                heading = _plain(tokens[place + 1])
                anchor, text = str(token.attrs.get("id", "")), []
            elif token.type == "inline" and tokens[place - 1].type != "heading_open":
                text.append(_plain(token))
            elif token.type in ("fence", "code_block"):
                text.append(token.content)
        sections.append(Section(page, heading, anchor, " ".join(text)))
    return tuple(section for section in sections if section.text or section.heading)


def _plain(inline: Token) -> str:
    return "".join(
        child.content if child.type in ("text", "code_inline") else " "
        for child in inline.children or ()
        if child.type in ("text", "code_inline", "softbreak")
    )


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _parse(text: str) -> list[Token]:
    """Return the tokens of a page; headings have ids as on GitHub."""
    tokens = _markdown().parse(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    seen: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            slug = re.sub(r"[^\w\- ]", "", _plain(tokens[place + 1]).lower()).replace(" ", "-")
            number = seen.get(slug, 0)
            seen[slug] = number + 1
            token.attrSet("id", f"{slug}-{number}" if number else slug)
    return tokens


@cache
def _render(page: Document) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the HTML of a page, and its headings of the second level: (anchor, text)."""
    tokens = _parse(page.text)
    names = {one.name for one in list_documents()}
    headings = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            headings.append((str(token.attrs["id"]), _plain(tokens[place + 1])))
        for child in token.children or ():
            if child.type == "link_open":
                _turn_link(child, page.name, names)
    html: str = _markdown().renderer.render(tokens, _markdown().options, {})
    html = html.replace("<th></th>", "<td></td>")  # nothing heads a column of names
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>")
    codes = iter([token.content for token in tokens if token.type in ("fence", "code_block")])
    html = re.sub(
        r"<pre>(.*?)</pre>", lambda pre: _frame(pre[1], next(codes)), html, flags=re.DOTALL
    )
    return html, tuple(headings)


def _frame(inner: str, code: str) -> str:
    """Return a block of code with a button to copy it, and a form for each request in it."""
    forms = "".join(write_form(request) for request in find_requests(code))
    copy = '<button class="copy">Copy</button>'
    return f'<div class="code">{copy}<pre tabindex="0">{inner}</pre></div>{forms}'


def _turn_link(link: Token, name: str, names: set[str]) -> None:
    """Lead a link to another page as it is served here; what is not served is in the source."""
    target = str(link.attrs.get("href", ""))
    if re.match(r"[a-z]+:|#|/", target):
        if target.startswith("http"):
            link.attrSet("rel", "noopener")
        return
    path, _, anchor = target.partition("#")
    found = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).removesuffix(".md")
    if found in names:
        link.attrSet("href", f"/docs/{found}" + (f"#{anchor}" if anchor else ""))
    else:
        inside = posixpath.normpath(posixpath.join("docs", posixpath.dirname(name), path))
        link.attrSet("href", f"https://github.com/mapyard/mapyard/blob/main/{inside}")
        link.attrSet("rel", "noopener")
