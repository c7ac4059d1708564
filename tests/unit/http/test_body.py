from __future__ import annotations

import pytest

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.http.body import FORM, merge, read_body, read_query

TEXTS = {"application/sparql-query": "query", "*": "data"}


def read(body: bytes, content_type: str = "application/json") -> dict[str, object]:
    return read_body(body, content_type, {}, ("data", "query"))


@pytest.mark.parametrize("body", [b"", b" \n", b"{}", b"null"])
def test_empty_bodies(body: bytes) -> None:
    assert read(body) == {}


def test_json_of_any_type() -> None:
    for content_type in ("application/json; charset=utf-8", "application/geo+json", "", FORM):
        assert read(b'{"a": 1}', content_type) == {"a": 1}
    assert read(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_bad_json_says_where() -> None:
    with pytest.raises(InvalidRequest, match="line 2, column") as caught:
        read(b'{"a": 1,\n "b": }')
    assert list(caught.value.details or ()) == ["body"]


@pytest.mark.parametrize("body", [b"[1]", b"5", b'"x"', b"\xff", b"{" * 100_000])
def test_other_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read(body)


def test_forms() -> None:
    assert read(b"data=a%20b+c&x=", FORM) == {"data": "a b c"}
    assert read(b"tags[a]=1&tags[b]=2", FORM) == {"tags": {"a": "1", "b": "2"}}


def test_whole_texts() -> None:
    known = ("data", "query")
    query = b'node["amenity"="cafe"](43,7,44,8);out;'
    for content_type in ("text/plain", FORM, "application/x-overpass", ""):
        assert read_body(query, content_type, TEXTS, known) == {"data": query.decode()}
    sparql = {"query": "ASK {}"}
    assert read_body(b"ASK {}", "application/sparql-query", TEXTS, known) == sparql
    assert read_body(b"data=node(1)%3B", FORM, TEXTS, known) == {"data": "node(1);"}
    assert read_body(b'{"data": "x"}', "text/plain", TEXTS, known) == {"data": "x"}


def test_text_that_is_no_utf8() -> None:
    with pytest.raises(InvalidRequest, match="UTF-8 at byte 2"):
        read_body(b"ab\xff", "text/plain", TEXTS, ())


def test_limits_of_query_strings() -> None:
    with pytest.raises(TooLarge):
        read_query(b"a=" + b"x" * 70_000)
    with pytest.raises(TooLarge):
        read_query(b"&".join(b"a=1" for _ in range(2_000)))


def test_merge() -> None:
    query = read_query(b"a=1&b=2&t[x]=1&t[y]=2&empty=")
    assert query == {"a": "1", "b": "2", "t": {"x": "1", "y": "2"}}
    merged = merge(query, {"a": 5, "b": None, "c": "", "t": {"y": 3}})
    assert merged == {"a": 5, "b": "2", "t": {"x": "1", "y": 3}}
