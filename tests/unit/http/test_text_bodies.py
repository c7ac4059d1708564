"""Bodies that are one text, though they begin like JSON."""

from __future__ import annotations

import pytest

from mapyard.errors import InvalidRequest
from mapyard.http.body import FORM, read_body

TEXTS = {"text/plain": "data", "*": "data"}
KNOWN = ("data", "limit")


@pytest.mark.parametrize("media_type", ["", "text/plain", FORM, "application/octet-stream"])
@pytest.mark.parametrize(
    "text", ["[out:json];node(1);out;", "{{x=1}}node({{x}});out;", "node[a=b](1,2,3,4);out;"]
)
def test_reads_a_query_as_text(media_type: str, text: str) -> None:
    assert read_body(text.encode(), media_type, TEXTS, KNOWN) == {"data": text}


def test_reads_forms_and_json_as_before() -> None:
    assert read_body(b"data=node%281%29%3Bout%3B&limit=2", FORM, TEXTS, KNOWN) == {
        "data": "node(1);out;",
        "limit": "2",
    }
    assert read_body(b'{"data": "x"}', FORM, TEXTS, KNOWN) == {"data": "x"}
    with pytest.raises(InvalidRequest):
        read_body(b"[out:json];", "application/json", TEXTS, KNOWN)
