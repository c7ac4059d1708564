"""The API's description: OpenAPI document and reference page."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

import orjson
from msgspec import Meta

from mapyard.errors import NotFound
from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.reference.docs_page import render_docs
from mapyard.http.reference.guides import render_contents, render_guide, render_search
from mapyard.http.reference.openapi import build_openapi
from mapyard.http.reference.schemas import Schema
from mapyard.http.services import Services
from mapyard.library.documents import list_documents, write_index, write_whole
from mapyard.params.parser import NoParams, Params

HTML = "text/html"
TEXT = "text/plain; charset=utf-8"
MARKDOWN = "text/markdown; charset=utf-8"
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_CACHED = {"Cache-Control": "public, max-age=300"}


def _document(ctx: Context) -> Schema:
    def make(services: Services) -> dict[str, Schema]:
        return {}

    by_url: dict[str, Schema] = ctx.services.get("openapi", make)
    if ctx.base_url not in by_url:
        by_url.clear()  # a client may name any host: only the last one is kept
        by_url[ctx.base_url] = build_openapi(ctx.services.endpoints, ctx.base_url)
    return by_url[ctx.base_url]


@endpoint(
    "/openapi.json",
    summary="This API as an OpenAPI 3.1 document",
    tag="Operation",
    public=True,
    needs_dataset=False,
    media_types=(JSON,),
)
def openapi(ctx: Context, params: NoParams) -> Answer:
    """Describe every endpoint, parameter, answer and error in OpenAPI 3.1."""
    return Answer(orjson.dumps(_document(ctx)), headers=_CACHED)


@endpoint(
    "/docs",
    summary="This API's reference as a web page",
    tag="Operation",
    public=True,
    needs_dataset=False,
    media_types=(HTML,),
)
def docs(ctx: Context, params: NoParams) -> Answer:
    """Show the reference, with a form to try each endpoint."""
    return _html(render_docs(_document(ctx), ctx.base_url, has_accounts=_has_accounts(ctx)))


def _html(page: bytes) -> Answer:
    headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"}
    return Answer(page, HTML, headers=headers)


def _has_accounts(ctx: Context) -> bool:
    return ctx.services.database is not None


class SearchParams(Params):
    """What to look for in the guides."""

    q: Annotated[str, Meta(max_length=100, description="words that a section has to hold")] = ""


@endpoint(
    "/docs/search",
    summary="Search the guides",
    tag="Operation",
    public=True,
    needs_dataset=False,
    media_types=(HTML,),
    examples=[Example({"q": "opening hours"})],
)
def docs_search(ctx: Context, params: SearchParams) -> Answer:
    """Show the sections of the documentation that hold all words, as a web page."""
    return _html(render_search(params.q.strip(), has_accounts=_has_accounts(ctx)))


@endpoint(
    "/docs/guides",
    summary="All guides",
    tag="Operation",
    public=True,
    needs_dataset=False,
    media_types=(HTML,),
)
def docs_guides(ctx: Context, params: NoParams) -> Answer:
    """Show the contents of the documentation as a web page."""
    return _html(render_contents(has_accounts=_has_accounts(ctx)))


@endpoint(
    "/llms.txt",
    summary="What this service is, for language models: an index of the documentation",
    tag="Operation",
    public=True,
    needs_dataset=False,
    media_types=(TEXT,),
)
def llms(ctx: Context, params: NoParams) -> Answer:
    """Return the index of the documentation in the form of llmstxt.org."""
    return Answer(write_index(ctx.base_url).encode(), TEXT, headers=_CACHED)


@endpoint(
    "/llms-full.txt",
    summary="The whole documentation as one text",
    tag="Operation",
    public=True,
    needs_dataset=False,
    media_types=(TEXT,),
)
def llms_full(ctx: Context, params: NoParams) -> Answer:
    """Return all pages of the documentation, one after the other."""
    return Answer(write_whole(ctx.base_url).encode(), TEXT, headers=_CACHED)


class PageParams(Params):
    """Which page."""

    page: Annotated[
        str,
        Meta(max_length=100, description="name of the page: routing, or routing.md for the text"),
    ]


class FolderPageParams(PageParams):
    """Which page of which folder."""

    folder: Annotated[str, Meta(max_length=100, description="reference or switch")]


@endpoint(
    "/docs/{page}",
    summary="A page of the documentation",
    tag="Operation",
    public=True,
    needs_dataset=False,
    media_types=(MARKDOWN, HTML),
    errors=("not_found",),
    examples=[Example({"page": "routing.md"})],
)
def docs_page(ctx: Context, params: PageParams) -> Answer:
    """Return one page: the Markdown of `routing.md`, or `routing` as a web page."""
    return _page(ctx, params.page)


@endpoint(
    "/docs/{folder}/{page}",
    summary="A page of a folder of the documentation",
    tag="",
    public=True,
    needs_dataset=False,
    media_types=(MARKDOWN, HTML),
)
def docs_folder_page(ctx: Context, params: FolderPageParams) -> Answer:
    """Return one page of the reference, or of how to come from another service."""
    return _page(ctx, f"{params.folder}/{params.page}")


def _page(ctx: Context, name: str) -> Answer:
    for page in list_documents():
        if f"{page.name}.md" == name:
            return Answer(page.text.encode(), MARKDOWN, headers=_CACHED)
        if page.name == name:
            return _html(render_guide(page, has_accounts=_has_accounts(ctx)))
    raise NotFound(f"there is no page {name[:80]}; /docs/guides lists them")


def _file(name: str) -> bytes:
    return files("mapyard.http").joinpath("pages", name).read_bytes()


@endpoint(
    "/docs/docs.css",
    summary="Style of the reference page",
    tag="",
    public=True,
    inline=True,
    needs_dataset=False,
    media_types=("text/css",),
)
def docs_style(ctx: Context, params: NoParams) -> Answer:
    """Style of the reference page."""
    return Answer(_file("docs.css"), "text/css", headers=_CACHED)


@endpoint(
    "/docs/docs.js",
    summary="Script of the reference page",
    tag="",
    public=True,
    inline=True,
    needs_dataset=False,
    media_types=("text/javascript",),
)
def docs_script(ctx: Context, params: NoParams) -> Answer:
    """Script of the reference page."""
    return Answer(_file("docs.js"), "text/javascript", headers=_CACHED)
