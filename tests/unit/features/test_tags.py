from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.features.tags import TagFilter, TagMatcher, parse_tag_filters
from mapyard.store.reader import Store

KEYS = {"amenity", "addr:city", "addr", "fuel:diesel"}


def parse(pairs: list[tuple[str, str]] | None = None, *texts: str) -> list[TagFilter]:
    return list(parse_tag_filters(pairs or [], texts, KEYS.__contains__))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("cafe", TagFilter("amenity", "in", ("cafe",))),
        ("cafe|bar", TagFilter("amenity", "in", ("bar", "cafe"))),
        ("cafe|cafe", TagFilter("amenity", "in", ("cafe",))),
        ("*", TagFilter("amenity", "exists")),
        ("!", TagFilter("amenity", "absent")),
        ("~^Caf|x*", TagFilter("amenity", "regex", ("^Caf|x*",))),
        (r"\*", TagFilter("amenity", "in", ("*",))),
        (r"\!", TagFilter("amenity", "in", ("!",))),
        (r"\~x", TagFilter("amenity", "in", ("~x",))),
        (r"a\|b", TagFilter("amenity", "in", ("a|b",))),
        (r"a\\b", TagFilter("amenity", "in", ("a\\b",))),
        (r"a\b", TagFilter("amenity", "in", ("a\\b",))),
        ("a*b!c~d", TagFilter("amenity", "in", ("a*b!c~d",))),
        ("a=b", TagFilter("amenity", "in", ("a=b",))),
        (r"\~a|b", TagFilter("amenity", "in", ("b", "~a"))),
    ],
)
def test_values(value: str, expected: TagFilter) -> None:
    assert parse([("amenity", value)]) == [expected]


@pytest.mark.parametrize(
    ("text", "key", "values"),
    [
        ("amenity=cafe", "amenity", ("cafe",)),
        ("amenity:cafe", "amenity", ("cafe",)),
        ("amenity", "amenity", None),
        ("unknown", "unknown", None),
        ("addr:city:Vaduz", "addr:city", ("Vaduz",)),
        ("addr:city", "addr:city", None),
        ("addr:street:Rue", "addr", ("street:Rue",)),
        ("shop:books:old", "shop", ("books:old",)),
        ("fuel:diesel:yes", "fuel:diesel", ("yes",)),
        ("fuel:diesel", "fuel:diesel", None),
        ("a=b=c", "a", ("b=c",)),
        ("website=http://x", "website", ("http://x",)),
        ("amenity=", "amenity", None),
        ("amenity:", "amenity", None),
    ],
)
def test_texts(text: str, key: str, values: tuple[str, ...] | None) -> None:
    expected = TagFilter(key, "exists") if values is None else TagFilter(key, "in", values)
    assert parse(None, text) == [expected]


def test_texts_take_the_same_values() -> None:
    assert parse(None, "name=~^Caf") == [TagFilter("name", "regex", ("^Caf",))]
    assert parse(None, "fixme=!") == [TagFilter("fixme", "absent")]
    assert parse(None, "amenity:cafe|bar") == [TagFilter("amenity", "in", ("bar", "cafe"))]


def test_filters_are_sorted_without_doubles() -> None:
    assert parse([("b", "1"), ("a", "2"), ("b", "1")]) == parse([("a", "2"), ("b", "1")])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a|", "empty value"),
        ("|", "empty value"),
        ("!cafe", "must be written"),
        ("a|~b", "must be written"),
        ("x\\", "lone backslash"),
        ("~", "empty regular expression"),
        ("y" * 3000, "characters"),
    ],
)
def test_bad_values_name_the_filter(value: str, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message) as caught:
        parse([("amenity", value)])
    assert list(caught.value.details or {}) == ["tags[amenity]"]


def test_a_filter_without_key_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no key"):
        parse(None, "=cafe")


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "(a", "a{2000}", "[z-a]"])
def test_what_re2_cannot_run_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(Unsupported, match="RE2 cannot run") as caught:
        parse([("name", f"~{pattern}")])
    assert "tags[name]" in (caught.value.details or {})


def test_limits() -> None:
    with pytest.raises(TooLarge):
        parse([(f"k{i}", "1") for i in range(51)])
    with pytest.raises(TooLarge):
        parse([("k", "|".join(str(i) for i in range(201)))])


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4))
def test_escaped_values_come_back(values: list[str]) -> None:
    text = "|".join(re.sub(r"([\\|*!~])", r"\\\1", value) for value in values)
    assert parse([("k", text)]) == [TagFilter("k", "in", tuple(sorted(set(values))))]


MATCHES = [
    (TagFilter("amenity", "in", ("cafe",)), lambda t: t.get("amenity") == "cafe"),
    (
        TagFilter("amenity", "in", ("bar", "cafe", "nosuch")),
        lambda t: t.get("amenity") in ("bar", "cafe"),
    ),
    (TagFilter("amenity", "in", ("nosuch",)), lambda t: False),
    (TagFilter("nosuch", "exists"), lambda t: False),
    (TagFilter("nosuch", "absent"), lambda t: True),
    (TagFilter("name", "exists"), lambda t: "name" in t),
    (TagFilter("name", "absent"), lambda t: "name" not in t),
    (TagFilter("name", "regex", ("^Rue",)), lambda t: t.get("name", "").startswith("Rue")),
    (TagFilter("name", "regex", ("^Ruex?",)), lambda t: t.get("name", "").startswith("Rue")),
    (TagFilter("name", "regex", ("^Rue|^Av",)), lambda t: t.get("name", "")[:2] in ("Ru", "Av")),
    (TagFilter("name", "regex", ("é",)), lambda t: "é" in t.get("name", "")),
    (
        TagFilter("name", "regex", ("(?i)^rue .*s$",)),
        lambda t: re.search("(?i)^rue .*s$", t.get("name", "")) is not None,
    ),
]


@pytest.mark.parametrize(("tag_filter", "passes"), MATCHES)
def test_matching_equals_a_look_at_each_element(
    monaco_store: Store, tag_filter: TagFilter, passes: object
) -> None:
    store = monaco_store
    rows = store.listed.astype(np.int64)
    expected = np.array([passes(store.tags(int(row))) for row in rows])  # type: ignore[operator]
    matcher = TagMatcher(store, tag_filter)
    assert (matcher.test(rows) == expected).all()
    if tag_filter.op != "absent":
        assert matcher.count == expected.sum()
        assert matcher.is_impossible == (not expected.any())
        assert sorted(matcher.rows().tolist()) == sorted(rows[expected].tolist())
