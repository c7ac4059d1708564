"""At /api/v1/query a text is PlazaQL or Overpass QL; which one is told by its words alone."""

from __future__ import annotations

import time

import pytest

from mapyard.http.errors import NotOffered
from mapyard.http.routes.query import _refuse_premium, is_plazaql


@pytest.mark.parametrize(
    "text",
    [
        "search(node);", "$a = search(node);", "\n\n\n  $a = 1;", 'boundary(name: "Monaco");',
        '  #dataset("x")\nsearch(node);', 'search(node, name: "route (north)").limit(2);',
    ],
)  # fmt: skip
def test_plazaql(text: str) -> None:
    assert is_plazaql(text)


@pytest.mark.parametrize(
    "text",
    [
        'node["name"="inner circle (north)"];out;', "node['name'~'x route ('];out;",
        "/* search( */ node;out;", "// route(\nnode;out;", 'node[name="a \\" point (b"];out;',
        "node[amenity=cafe](around:100,43.7,7.4);out;", "nonsense",
    ],
)  # fmt: skip
def test_overpass_ql(text: str) -> None:
    """What a text or a comment holds says nothing."""
    assert not is_plazaql(text)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000_000, '"' + '\\"' * 500_000 + "\\", "/*" * 500_000, "search " * 150_000,
        "search" + " " * 1_000_000, "#a" * 500_000, "#a\n" * 300_000, "'\"" * 500_000,
    ],
    ids=["lines", "quotes", "comments", "words", "spaces", "marks", "marked lines", "both quotes"],
)  # fmt: skip
def test_a_megabyte_is_looked_at_once(text: str) -> None:
    begun_s = time.process_time()
    is_plazaql(text)
    assert time.process_time() - begun_s < 2


@pytest.mark.parametrize(
    "text",
    [
        "search(node).elevation();", "search(node).sort(elevation());",
        "search(node).filter(elevation() > 400);", "elevation(point(47.1, 9.5));",
        "search(node).around(500, route(origin: point(47.1, 9.5), destination: point(47.2, 9.5)));",
    ],
)  # fmt: skip
def test_what_is_premium_is_not_had_for_a_standard_request(text: str) -> None:
    with pytest.raises(NotOffered, match="is not offered in a query over HTTP"):
        _refuse_premium(text)


def test_what_is_standard_is_let_through() -> None:
    _refuse_premium('nearest(point(47.1, 9.5)); search(node, elevation: "3").length();')
