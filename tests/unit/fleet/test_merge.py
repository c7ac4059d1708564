"""Merging pages: what regions' rows come to, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from mapyard.fleet.host import DISTANCES_HEADER, TIERS_HEADER
from mapyard.fleet.merge import MERGES, Asked
from mapyard.fleet.wire import Reply


def make_reply(ids: list[str], *, more: bool, **headers: list[Any]) -> Reply:
    names = {"tiers": TIERS_HEADER, "distances": DISTANCES_HEADER}
    found = [(b"x-has-more", b"true" if more else b"false")]
    found += [(names[name], orjson.dumps(values)) for name, values in headers.items()]
    return Reply(200, found, orjson.dumps({"features": [{"id": name} for name in ids]}))


def join(path: str, limit: int, replies: list[Reply], **more: Any) -> tuple[list[str], str]:
    params = SimpleNamespace(limit=limit, cursor=None, offset=None, **more)
    asked = Asked(params, {}, path, path, [], "generation")
    headers, body = MERGES[path].join(asked, replies)
    return [feature["id"] for feature in orjson.loads(body)["features"]], headers["X-Has-More"]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (2, (["node/1", "way/1"], "true")),
        (5, (["node/1", "way/1", "node/2", "node/3"], "true")),
    ],
)
def test_elements_come_once_by_id(limit: int, expected: tuple[list[str], str]) -> None:
    replies = [
        make_reply(["node/1", "node/2", "node/3"], more=False),
        make_reply(["way/1", "node/3"], more=limit == 5),
    ]
    assert join("/api/v1/features", limit, replies) == expected


def test_the_end_is_where_nobody_has_more() -> None:
    replies = [make_reply(["node/1"], more=False), make_reply([], more=False)]
    assert join("/api/v1/features", 5, replies) == (["node/1"], "false")


def test_distances_decide_before_ids() -> None:
    replies = [
        make_reply(["node/9", "node/1"], more=False, distances=[1.5, 3.0]),
        make_reply(["node/5", "node/1"], more=False, distances=[1.5, 3.0]),
    ]
    found = join("/api/v1/features/nearby", 9, replies)
    assert found == (["node/5", "node/9", "node/1"], "false")


def test_typos_count_only_where_no_region_has_the_name_itself() -> None:
    """A region that knows only others would else say that there is more."""
    exact = make_reply(["node/5"], more=False, tiers=[2])
    typos = make_reply(["node/1", "node/2"], more=True, tiers=[5, 5])
    assert join("/api/v1/search", 2, [exact, typos]) == (["node/5"], "false")
    assert join("/api/v1/search", 2, [typos]) == (["node/1", "node/2"], "true")
    others = make_reply(["node/7"], more=True, tiers=[4])
    assert join("/api/v1/search", 2, [exact, others]) == (["node/5", "node/7"], "true")
