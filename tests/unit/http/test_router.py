from __future__ import annotations

from types import ModuleType
from typing import Any, Literal

import pytest

from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import collect, endpoint
from mapyard.http.router import Router
from mapyard.params.parser import Params


class Nothing(Params):
    pass


def router(*paths: str, methods: tuple[Any, ...] = ("GET",)) -> Router:
    module = ModuleType("routes")
    for index, path in enumerate(paths):

        def handler(ctx: Context, params: Nothing) -> Answer:
            return Answer(b"")

        handler.__module__ = "routes"
        handler.__annotations__ = {"params": Nothing}
        declared = endpoint(path, methods=methods, summary="", tag="")(handler)
        setattr(module, f"handler_{index}", declared)
    return Router(collect([module]))


PATHS = ("/a", "/a/{x}", "/a/b", "/a/{x}/c", "/a/b/{y}", "/t/{z}/{x}/{y}", "/t/{z}/list")


@pytest.mark.parametrize(
    ("path", "template", "values"),
    [
        ("/a", "/a", {}),
        ("/a/", "/a", {}),
        ("/a/b", "/a/b", {}),
        ("/a/q", "/a/{x}", {"x": "q"}),
        ("/a/q/", "/a/{x}", {"x": "q"}),
        ("/a/q/c", "/a/{x}/c", {"x": "q"}),
        ("/a/b/q", "/a/b/{y}", {"y": "q"}),
        ("/a/b/c", "/a/b/{y}", {"y": "c"}),
        ("/t/1/2/3", "/t/{z}/{x}/{y}", {"z": "1", "x": "2", "y": "3"}),
        ("/t/1/list", "/t/{z}/list", {"z": "1"}),
    ],
)
def test_finds(path: str, template: str, values: dict[str, str]) -> None:
    found = router(*PATHS).find(path)
    assert found is not None
    assert (found[0].template, found[1]) == (template, values)


def test_finds_again_what_it_found_before_and_keeps_few() -> None:
    routes = router(*PATHS)
    first = routes.find("/t/1/2/3")
    assert routes.find("/t/1/2/3") is first
    for x in range(10_000):
        found = routes.find(f"/t/1/{x}/3")
        assert found is not None
        assert found[1]["x"] == str(x)
    assert len(routes._found) <= 4_096
    assert routes.find("/t/1/" + "9" * 1_000 + "/3") is not None
    assert not any(len(path) > 200 for path in routes._found)


@pytest.mark.parametrize("path", ["", "/", "/b", "/a//", "/a//c", "/t/1/2", "/t/1/2/3/4", "a"])
def test_finds_nothing(path: str) -> None:
    assert router(*PATHS).find(path) is None


def test_allowed_methods() -> None:
    found = router("/a", methods=("POST", "GET")).find("/a")
    assert found is not None
    assert found[0].allowed == ("GET", "HEAD", "POST", "OPTIONS")


def test_the_same_path_twice_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="GET /a"):
        router("/a", "/a")


class Formatted(Params):
    format: Literal["json", "csv"] = "json"


def test_a_suffix_is_a_form_where_there_is_one() -> None:
    module = ModuleType("routes")

    def handler(ctx: Context, params: Formatted) -> Answer:
        return Answer(b"")

    handler.__module__ = "routes"
    handler.__annotations__ = {"params": Formatted}
    module.handler = endpoint("/list", aliases=("/x/{y}/list",), summary="", tag="")(handler)  # type: ignore[attr-defined]
    found = Router(collect([module]))
    for path, values in (
        ("/list.csv", {"format": "csv"}),
        ("/list.json", {"format": "json"}),
        ("/x/5/list.csv", {"y": "5", "format": "csv"}),
    ):
        assert (known := found.find(path)) is not None
        assert known[1] == values
        assert known[0].allowed == ("GET", "HEAD", "OPTIONS")
    for path in ("/list.gpx", "/list.exe", "/list.", "/.csv", "/list.csv.csv"):
        assert found.find(path) is None
    assert router("/a").find("/a.csv") is None
