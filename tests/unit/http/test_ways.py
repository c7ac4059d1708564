"""It is told whether the engine was called about ways; quick questions wait for no thread."""

import numpy as np
import pytest

from mapyard.http.metrics import WAYS, Requests
from mapyard.http.routes import route as endpoint
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES
from servers import copy_data

CASINO, PALACE, SEA = [7.4281, 43.7392], [7.4200, 43.7314], [7.46, 43.60]


@pytest.fixture(scope="module")
def client(build_once, tmp_path_factory):
    built = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    data = copy_data(built, tmp_path_factory.mktemp("ways") / "data")
    with LocalClient(Settings(data=data, updates="off")) as made:
        yield made


@pytest.fixture
def hops(client, monkeypatch):
    """How often a job went to a thread."""
    counted = []
    run = client.application.light.run

    def listen(job, *arguments, **options):
        counted.append(job)
        return run(job, *arguments, **options)

    monkeypatch.setattr(client.application.light, "run", listen)
    return counted


def ask(client, body):
    answer = client.post("/api/v1/route", json=body)
    kept = ("content-type", "x-dataset-timestamp", "x-engine-calls", "x-ignored-parameters")
    return answer.status_code, {name: answer.headers.get(name) for name in kept}, answer.content


@pytest.mark.parametrize("mode", ["auto", "foot", "bicycle"])
@pytest.mark.parametrize(
    "more",
    [
        {}, {"geometries": "polyline"}, {"geometries": "polyline6", "overview": "simplified"},
        {"overview": "false", "bogus": 1}, {"snap_radius": 40},
    ],
)  # fmt: skip
def test_quick_routes_are_those_of_the_pool(client, hops, monkeypatch, mode, more):
    rng = np.random.default_rng(3)
    places = np.column_stack([rng.uniform(7.414, 7.431, 40), rng.uniform(43.729, 43.743, 40)])
    bodies = [
        {"origin": one, "destination": other, "mode": mode} | more
        for one, other in zip(places[::2].tolist(), places[1::2].tolist(), strict=True)
    ]
    quick = [ask(client, body) for body in bodies]
    assert len(hops) <= 2  # where there is no way, the engine has a second look
    hops.clear()
    monkeypatch.setattr(endpoint.library, "find_quickly", lambda *_: None)
    slow = [ask(client, body) for body in bodies]
    assert len(hops) == len(bodies)
    assert quick == slow
    assert sum(status == 200 for status, *_ in quick) >= (5 if "snap_radius" in more else 15)


@pytest.mark.parametrize(
    "more",
    [{"steps": True}, {"alternatives": 1}, {"waypoints": [SEA]}, {"format": "gpx"},
     {"mode": "wheelchair"}, {"exclude": ["toll"]}, {"through": [0]}, {"elevation": True}],
)  # fmt: skip
def test_what_may_take_long_goes_to_a_thread(client, hops, more):
    ask(client, {"origin": CASINO, "destination": PALACE, "mode": "foot"} | more)
    assert len(hops) == 1


def test_calls_of_the_engine_are_told_where_a_thread_makes_them(client):
    plain = {"origin": CASINO, "destination": PALACE, "mode": "foot"}
    assert ask(client, plain)[1]["x-engine-calls"] == "0"
    assert int(ask(client, plain | {"steps": True})[1]["x-engine-calls"]) >= 1
    for number, calls in ((1, "1"), (2, "1")):  # two roads are looked for in a thread
        body = {"geometry": CASINO, "mode": "wheelchair", "number": number}
        assert client.post("/api/v1/nearest", json=body).headers["x-engine-calls"] == calls


def test_ways_are_counted_by_who_answered():
    requests = Requests()
    before = {by: WAYS.labels("/api/v1/route", by)._value.get() for by in ("engine", "prepared")}
    for calls in (0, 0, 3):
        requests.note_ways("/api/v1/route", calls)
    requests.hand_over()
    requests.hand_over()
    after = {by: WAYS.labels("/api/v1/route", by)._value.get() for by in before}
    assert {by: after[by] - before[by] for by in before} == {"engine": 1, "prepared": 2}
