"""Parts of a dataset open whichever question asks for them first."""

from __future__ import annotations

import subprocess
import sys

import pytest

READ = """
import sys, mapyard
m = mapyard.open(sys.argv[1])
print({question})
"""


@pytest.mark.parametrize(
    "question",
    [
        "len(m.sparql('SELECT ?c { ?n ql:contains-word \"caf* paris\" ; ql:contains-entity ?c }'))",
        "len(m.overpass('{{geocodeArea:Monaco-Ville}}->.a;node(area.a)[tourism=museum];out;'))",
        'len(m.plazaql(\'search(tourism: "museum").within(boundary(name: "Monaco-Ville"));\'))',
    ],
    ids=["sparql", "overpass", "plazaql"],
)
def test_text_is_found_by_who_never_searched(monaco: object, question: str) -> None:
    """In a process of its own: no other question has been imported."""
    counts = []
    for before in ("", "m.geocode('Monaco'); m.search('Monaco')\n"):
        script = READ.format(question=question).replace("print", before + "print", 1)
        done = subprocess.run(
            [sys.executable, "-c", script, str(monaco)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        counts.append(int(done.stdout))
    assert counts[0] == counts[1] > 0
