"""For mkdocs: the first page is README.md, and links to files of the source tree lead to GitHub."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "https://github.com/mapyard/mapyard/blob/main/"
LINK = re.compile(r"(\]\()([^)#:\s]+)([^)]*\))")


def on_files(files: Any, config: Any) -> Any:
    """Add README.md as index.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(text: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite links to what is not among the pages."""
    folder = posixpath.dirname(page.file.src_uri)

    def rewrite(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, match[2]))
        inside = target.removeprefix("docs/")
        if target.startswith("docs/") and files.get_file_from_path(inside):
            return match[0]
        path = ROOT / target
        if not path.exists():  # README.md's own links are from the top
            target = posixpath.normpath(match[2])
            path = ROOT / target
        return f"{match[1]}{SOURCE}{target}{match[3]}" if path.exists() else match[0]

    return LINK.sub(rewrite, text)
