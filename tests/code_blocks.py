"""The blocks of code in README and docs, as the tests that run them read them.

A block that cannot run here has the comment `<!-- not run: why -->` before it; one that a test of
its own runs has `<!-- run by: tests/… -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

from osm_files import ROOT

DOCS = ROOT / "docs"
#: Decisions tell what was tried, with outlines of code; their blocks are not for readers to run.
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "ARCHITECTURE.md",
    *sorted(page for page in DOCS.rglob("*.md") if "decisions" not in page.parts),
)
KINDS = {"bash": "sh", "javascript": "js"}
MARK = re.compile(r"<!-- (not run|run by): (\S.*) -->")
#: A line of a file of settings, as systemd reads it; what follows wide space is our remark.
SETTING = re.compile(r"(MAPYARD_\w+)=((?:(?! {2}| mapyard ).)*)(?: {2}.*)?")
PROGRAM = re.compile(
    r"(?:# .*\n)*(?:[A-Z_]+=\S+ +)*(?:export |[A-Z]+=\$\()?(?:\S+/bin/)?"
    r"(?:curl|docker|git|make|mapyard|mkdir|ogrinfo|pip|printf|python3?|ray|RAY_\w+=\S+)(?: |$)"
)


class Block(NamedTuple):
    """A block of code: where and of which kind it is, and why it is not run or by which test."""

    page: Path
    line: int
    kind: str
    text: str
    why_not_run: str
    run_by: str

    @property
    def is_run(self) -> bool:
        """Whether the test of its kind runs it."""
        return not (self.why_not_run or self.run_by)

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@lru_cache
def read_page(page: Path) -> tuple[Block, ...]:
    """Return the blocks of a page in order."""
    return tuple(_read(page))


def read_blocks(*kinds: str) -> list[Block]:
    """Return the blocks of these kinds on all pages, or all blocks."""
    found = [block for page in PAGES for block in read_page(page)]
    return [block for block in found if not kinds or block.kind in kinds]


def group_blocks(kind: str) -> dict[str, list[Block]]:
    """Return page → what is run together: its blocks of a kind that are run."""
    groups: dict[str, list[Block]] = {}
    for block in read_blocks(kind):
        if block.is_run:
            groups.setdefault(str(block.page.relative_to(ROOT)), []).append(block)
    return groups


def _read(page: Path) -> Iterator[Block]:
    marks: dict[str, str] = {}
    for token in MarkdownIt("commonmark").parse(page.read_text()):
        if token.type == "html_block":
            marks = dict(MARK.findall(token.content))
        elif token.type in ("fence", "code_block"):
            assert token.map is not None
            kind = KINDS.get(token.info, token.info) or _guess(token.content)
            if kind == "sh":
                kind = _kind_of_shell(token.content)
            why, test = marks.get("not run", ""), marks.get("run by", "")
            yield Block(page, token.map[0] + 1, kind, token.content, why, test)
            marks = {}
        elif token.type == "inline":
            marks = {}


def _guess(text: str) -> str:
    """Return the kind of a block that names none, as indented ones."""
    if PROGRAM.match(text) or is_settings(text):
        return "sh"
    if text.startswith("search("):
        return "plazaql"
    return "json" if text.startswith('{"') else "text"


def _kind_of_shell(text: str) -> str:
    if is_settings(text):
        return "settings"
    return "curl" if all(line.startswith("curl ") for line in split_commands(text)) else "sh"


def is_settings(text: str) -> bool:
    return all(SETTING.fullmatch(line) for line in text.splitlines())


def split_commands(text: str) -> list[str]:
    """Return the commands of a block, continued lines and open quotes included; no comments."""
    commands, command = [], ""
    for line in text.splitlines():
        command = f"{command}\n{line}" if command else line
        quotes = re.sub(r"(?m)(^| )# .*$", "", command).count("'")
        if not command.endswith("\\") and quotes % 2 == 0:
            if command.strip() and not command.startswith("#"):
                commands.append(command)
            command = ""
    assert not command, f"ends within a command: {command}"
    return commands
