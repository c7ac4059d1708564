"""At /api/v1/query a text is PlazaQL or Overpass QL; which one is told by its words alone."""

from __future__ import annotations

import time

import pytest

from mapyard.errors import TooLarge
from mapyard.http.routes.query import QueryParams, count_premium, is_plazaql


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
    ("text", "count"),
    [
        ("search(node).elevation();", 1),
        ("search(node).sort(elevation());", 1),
        ("search(node).filter(elevation() > 400);", 1),
        ("elevation(point(47.1, 9.5));", 1),
        ("search(node).around(9, route(origin: point(47.1, 9.5), destination: point(1, 2)));", 1),
        ("$a = isochrone(point(47.1, 9.5), 60); $b = isochrone(point(47.2, 9.5), 60);\n"
         "search(node).within($a) + search(node).within($b);", 2),
        ('nearest(point(47.1, 9.5)); search(node, elevation: "3").length();', 0),
        ('search(node, name: "route(origin");', 0),
        ("node[route=bus](1,2,3,4);out; // elevation(", 0),
    ],
)  # fmt: skip
def test_calls_of_premium_services_are_counted(text: str, count: int) -> None:
    assert count_premium(QueryParams(data=text)) == count


def test_too_many_premium_calls_are_refused_by_place() -> None:
    text = "\n".join(["elevation(point(47.1, 9.5));"] * 11)
    with pytest.raises(TooLarge, match=r"line 11, column 1: elevation\(\) is one call"):
        count_premium(QueryParams(data=text))
