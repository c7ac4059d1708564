from __future__ import annotations

import orjson

from mapyard.deadline import no_deadline
from mapyard.overpass.engine import run_text
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.osmjson import write_document
from mapyard.store.reader import Store


def answer(store: Store, text: str) -> bytes:
    return write_document(store, run_text(store, text).outs, "", Budget(no_deadline()))


def test_kept_member_lists_are_what_was_written_first(monaco_store: Store) -> None:
    relations = "[out:json];(rel[type=boundary];rel[type=route];rel[type=multipolygon];);"
    first = answer(monaco_store, relations + "out meta;")
    assert answer(monaco_store, relations + "out meta;") == first
    # Some kept, some not: the order of elements and members stays.
    elements = {e["id"]: e for e in orjson.loads(first)["elements"]}
    mixed = orjson.loads(answer(monaco_store, "[out:json];rel[type];out body;"))["elements"]
    assert [e["id"] for e in mixed] == sorted(e["id"] for e in mixed)
    for element in mixed:
        if element["id"] in elements:
            assert element["members"] == elements[element["id"]]["members"]
        row = monaco_store.find_row(2, element["id"])
        found = monaco_store.members([row])
        assert [m["ref"] for m in element.get("members", [])] == (found.eid >> 2).tolist()
