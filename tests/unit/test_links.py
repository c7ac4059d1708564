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
