"""The documentation as text, for programs that read: /llms.txt and assistants."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

#: Pages in the order of reading; others of the folder follow by name.
_FIRST: Final = (
    "library", "features", "search", "geocoding", "routing", "elevation", "overpass", "sparql",
    "tiles", "mcp", "accounts", "build", "updates",
)  # fmt: skip
_FENCE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[`*]")


class Document(NamedTuple):
    """One page: its name (`features`, `reference/endpoints`), title, first sentence and text."""

    name: str
    title: str
    summary: str
    text: str


def find_folder() -> Path | None:
    """Return the folder of the documentation: of the package, else of the checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "docs", package.parents[1] / "docs"):
        if (folder / "features.md").is_file():
            return folder
    return None


@lru_cache(maxsize=1)
def list_documents() -> tuple[Document, ...]:
    """Return all pages for users; empty where they are not installed."""
    folder = find_folder()
    if folder is None:
        return ()
    names = {page.relative_to(folder).with_suffix("").as_posix() for page in folder.rglob("*.md")}
    names = {name for name in names if not name.startswith(("decisions/", "develop/"))}
    ordered: list[str] = [name for name in _FIRST if name in names]
    ordered += sorted(names - set(ordered))
    return tuple(_read(folder, name) for name in ordered)


def _read(folder: Path, name: str) -> Document:
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    title = next((line[2:] for line in text.splitlines() if line.startswith("# ")), name)
    prose = _FENCE.sub("", text)
    paragraphs = [p for p in prose.split("\n\n") if p and p[0] not in "#<!|`\n-> "]
    first = " ".join(paragraphs[0].split()) if paragraphs else ""
    plain = _LINK.sub(r"\1", first)
    summary = re.split(r"(?<=[.:])\s", plain)[0][:200]
    return Document(name, title, summary, text)


def write_index(base_url: str) -> str:
    """Return llms.txt: what this is, and a link with a line for each page."""
    lines = [
        "# Mapyard",
        "",
        "> A complete map API from one OpenStreetMap extract: geocoding, routing, isochrones, "
        "matrices, map matching, feature and name search, Overpass QL, SPARQL, elevation, tiles.",
        "",
        f"Endpoints are below {base_url}/api/v1 and need a key as X-API-Key. "
        f"{base_url}/openapi.json describes all of them; {base_url}/mcp is a server of the Model "
        "Context Protocol; `pip install mapyard` is the same as a Python library.",
        "",
        "## Documentation",
        "",
    ]
    lines += [
        f"- [{page.title}]({base_url}/docs/{page.name}.md): {page.summary}".rstrip(": ")
        for page in list_documents()
    ]
    return "\n".join(lines) + "\n"


def write_whole(base_url: str) -> str:
    """Return llms-full.txt: all pages, one after the other."""
    pages = (f"<!-- {base_url}/docs/{p.name}.md -->\n\n{p.text.strip()}" for p in list_documents())
    return "\n\n---\n\n".join(pages) + "\n"
