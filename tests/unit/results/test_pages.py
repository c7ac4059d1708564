from __future__ import annotations

import json

import httpx
import pytest

from mapyard.results.pages import (
    PageEnd,
    PageRequest,
    open_collection,
    page_headers,
    write_collection,
)


def test_a_cursor_takes_precedence() -> None:
    assert PageRequest(10, offset=5).by_offset
    assert not PageRequest(10, cursor="c", offset=5).by_offset
    assert not PageRequest(10).by_offset


def test_the_last_page_has_no_link() -> None:
    assert page_headers(PageEnd(20, False), "/x") == {"X-Limit": "20", "X-Has-More": "false"}


@pytest.mark.parametrize(
    ("end", "name", "value"),
    [
        (PageEnd(2, True, next_cursor="abc_-"), "cursor", "abc_-"),
        (PageEnd(2, True, next_offset=4), "offset", "4"),
    ],
)
def test_link_repeats_the_query_but_no_secret(end: PageEnd, name: str, value: str) -> None:
    query = [
        ("tags[name]", "Café & co=1"), ("api_key", "pk_live_secret"), ("cursor", "old"),
        ("offset", "2"), ("limit", "2"), ("bbox", "1,2,3,4"), ("tags", "a"), ("tags", "b"),
    ]  # fmt: skip
    headers = page_headers(end, "/api/v1/features", query)
    assert "secret" not in headers["Link"]
    target = headers["Link"].removeprefix("<").removesuffix('>; rel="next"')
    url = httpx.URL(target)
    assert url.path == "/api/v1/features"
    assert sorted(url.params.multi_items()) == sorted(
        [
            ("tags[name]", "Café & co=1"), ("bbox", "1,2,3,4"), ("tags", "a"), ("tags", "b"),
            ("limit", "2"), (name, value),
        ]
    )  # fmt: skip
    assert (headers.get("X-Next-Cursor") or headers["X-Next-Offset"]) == value


def test_collection_members() -> None:
    whole = json.loads(
        write_collection(
            [b'{"a":1}', b'{"b":2}'],
            pagination=PageEnd(2, True, next_cursor="c"),
            members=[("missing", b"[]")],
        )
    )
    assert whole["features"] == [{"a": 1}, {"b": 2}]
    assert whole["attribution"] == "© OpenStreetMap contributors (ODbL)"
    assert whole["missing"] == []
    assert whole["pagination"] == {
        "limit": 2, "has_more": True, "next_cursor": "c", "next_offset": None,
    }  # fmt: skip


@pytest.mark.parametrize("features", [[], [b"{}"], [b"{}", b"{}", b"{}"]])
def test_collections_of_any_length_are_json(features: list[bytes]) -> None:
    assert len(json.loads(write_collection(features))["features"]) == len(features)
    assert len(json.loads(open_collection() + b",".join(features) + b"]}")["features"]) == len(
        features
    )
