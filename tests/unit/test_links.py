"""Links between documents lead somewhere."""

from __future__ import annotations

import re

from osm_files import ROOT

LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
CODE = re.compile(r"```.*?```|`[^`]*`|^    .*?$", re.DOTALL | re.MULTILINE)


def test_relative_links_of_documents_exist() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(documents) > 20
    broken = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in documents
        for target in LINK.findall(CODE.sub("", document.read_text()))
        if not (document.parent / target).exists()
    ]
    assert broken == []


def find_anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them (none comes twice here)."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def test_anchors_of_links_are_headings() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = []
    for document in documents:
        text = CODE.sub("", document.read_text())
        for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", text):
            page = document.parent / target if target else document
            if page.suffix == ".md" and anchor not in find_anchors(page.read_text()):
                broken.append(f"{document.relative_to(ROOT)}: {target}#{anchor}")
    assert broken == []
