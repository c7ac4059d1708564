"""Pages of OGC API for people: the same answers, with their links to follow."""

from __future__ import annotations

import html
from typing import Any, Final

from mapyard.http.answer import Answer
from mapyard.http.context import Context

HTML: Final = "text/html; charset=utf-8"
_MOST_CELL: Final = 120
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · OGC API</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
nav a, .links a {{ margin-right: 1rem }}
table {{ border-collapse: collapse; width: 100%; margin: 1rem 0 }}
th, td {{ text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #8884; vertical-align: top;
  overflow-wrap: anywhere }}
a {{ color: #0a6b4b }}
@media (prefers-color-scheme: dark) {{ a {{ color: #8fe3bf }} }}
footer {{ margin-top: 2rem; opacity: .7; font-size: .9rem }}
</style>
</head>
<body>
<nav aria-label="Parts"><a href="{base}?f=html">OGC API</a><a href="{base}/collections?f=html">Collections</a>
<a href="{base}/tiles?f=html">Tiles</a></nav>
<main>
<h1>{title}</h1>
{body}
</main>
<footer>Data © <a href="https://www.openstreetmap.org/copyright">OpenStreetMap contributors</a>, ODbL ·
<a href="{self}">as JSON</a></footer>
</body>
</html>
"""  # noqa: E501


def wants_html(ctx: Context, f: str) -> bool:
    """Return whether a page is asked for: by `f`, else by a browser's Accept header."""
    if f:
        return f == "html"
    return ctx.accept.startswith("text/html")


def page(ctx: Context, base: str, title: str, body: str) -> Answer:
    """Return a page; `body` is HTML."""
    query = ctx.query_string.decode("latin-1")
    kept = "&".join(part for part in query.split("&") if part and not part.startswith("f="))
    own = f"{ctx.base_url}{ctx.path}?{kept + '&' if kept else ''}f=json"
    filled = _PAGE.format(
        title=html.escape(title), body=body, base=html.escape(ctx.base_url + base),
        self=html.escape(own),
    )  # fmt: skip
    return Answer(filled.encode(), HTML, headers={"Vary": "Accept"})


def write_links(links: list[dict[str, str]]) -> str:
    """Return links as a list."""
    items = "".join(
        f'<li><a href="{_as_page(link)}">{html.escape(link.get("title") or link["rel"])}</a> '
        f"<small>{html.escape(link['rel'].rpartition('/')[2])}</small></li>"
        for link in links
    )
    return f"<ul>{items}</ul>"


def _as_page(link: dict[str, str]) -> str:
    href = link["href"]
    if "/ogc" in href and "json" in link.get("type", "") and "{" not in href:
        href += ("&" if "?" in href else "?") + "f=html"
    return html.escape(href)


def write_table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table; cells are HTML."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def write_link(href: str, text: str) -> str:
    """Return a link to a page."""
    joined = href + ("&" if "?" in href else "?") + "f=html"
    return f'<a href="{html.escape(joined)}">{html.escape(text)}</a>'


def write_value(value: Any) -> str:
    """Return a value, cut to what fits a cell."""
    text = str(value)
    return html.escape(text if len(text) <= _MOST_CELL else text[: _MOST_CELL - 1] + "…")


def write_facts(facts: dict[str, Any]) -> str:
    """Return names and values as a table."""
    rows = [[html.escape(name), write_value(value)] for name, value in facts.items()]
    return write_table(["Property", "Value"], rows)
