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


@pytest.mark.parametrize("charset", ["punycode", "idna", "zip", "unicode_escape", "utf-7"])
def test_charsets_that_nobody_writes_in_are_refused(charset: str) -> None:
    with pytest.raises(InvalidRequest, match=f"charset {charset}"):
        read_body(b"a-" + b"b" * 1_000, f"text/csv; charset={charset}", {"text/csv": "csv"}, ())


@pytest.mark.parametrize("charset", ["latin-1", "windows-1251", "utf-16-le", "big5", "shift_jis"])
def test_charsets_that_people_write_in_are_read(charset: str) -> None:
    text = {"windows-1251": "имя", "big5": "地址", "shift_jis": "住所"}.get(charset, "a")
    read = read_body(text.encode(charset), f"text/csv; charset={charset}", {"text/csv": "csv"}, ())
    assert read == {"csv": text}
