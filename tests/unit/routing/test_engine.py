"""Actors by call, errors by code."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mapyard.errors import MapyardError, TooLarge, Unsupported
from mapyard.routing import open_routing
from mapyard.routing.engine import NoRoad, NoRoute, TooFarApart, explain_error, make_actor

REQUEST = {
    "locations": [{"lon": 7.4246, "lat": 43.7384}, {"lon": 7.4197, "lat": 43.7314}],
    "costing": "pedestrian",
}


def test_calls_at_once_have_actors_of_their_own_and_agree(engine):
    ready = threading.Barrier(4)

    def ask() -> tuple[int, float]:
        ready.wait()
        lengths = {engine.call("route", REQUEST)["trip"]["summary"]["length"] for _ in range(5)}
        assert len(lengths) == 1
        return threading.get_ident(), lengths.pop()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: ask(), range(4)))
    assert len({ident for ident, _ in answers}) == 4
    assert len({length for _, length in answers}) == 1


def test_there_are_no_more_actors_than_calls_have_run_at_once(monkeypatch, graph: Path):
    made = []

    def make(config):
        made.append(config)
        return make_actor(config)

    monkeypatch.setattr("mapyard.routing.engine.make_actor", make)
    opened = open_routing(graph)
    bad = REQUEST | {"locations": [{"lon": 0, "lat": 0}] * 2}
    for _ in range(5):  # each in a thread of its own, one after the other
        thread = threading.Thread(target=opened.call, args=("route", REQUEST))
        thread.start()
        thread.join()
        with pytest.raises(NoRoad):
            opened.call("route", bad)
    assert len(made) == 1
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: opened.call("route", REQUEST), range(30)))
    assert len(made) <= 3


def test_a_fault_inside_the_engine_is_an_error_and_costs_its_actor(monkeypatch, graph: Path):
    made = []

    class Faulty:
        def route(self, text: str) -> str:
            raise RuntimeError("EdgeStatus Update on edge not previously set")

    def make(config):
        made.append(config)
        return Faulty() if len(made) == 1 else make_actor(config)

    monkeypatch.setattr("mapyard.routing.engine.make_actor", make)
    opened = open_routing(graph)
    with pytest.raises(MapyardError, match="engine failed: EdgeStatus"):
        opened.call("route", REQUEST)
    assert opened.call("route", REQUEST)["trip"]["summary"]["length"] > 0
    assert len(made) == 2


def test_a_closed_engine_opens_again(graph: Path):
    opened = open_routing(graph)
    first = opened.call("route", REQUEST)["trip"]["summary"]
    opened.close()
    assert opened.call("route", REQUEST)["trip"]["summary"] == first


def test_no_graph_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_routing(tmp_path)


@pytest.mark.parametrize(
    ("code", "kind", "status"),
    [
        (171, NoRoad, 404),
        (442, NoRoute, 404),
        (170, NoRoute, 404),
        (154, TooFarApart, 413),
        (150, TooLarge, 413),
        (443, Unsupported, 422),
        (130, Unsupported, 422),
    ],
)
def test_codes_become_our_errors(code, kind, status):
    error = explain_error(code, "text")
    assert isinstance(error, kind)
    assert error.status == status


def test_other_codes_are_failures():
    assert explain_error(599, "text").status == 500
