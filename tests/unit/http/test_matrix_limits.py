"""All forms of a matrix have one limit, that of the settings, and tell of calls of the engine."""

import numpy as np
import pytest

from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES
from servers import copy_data

CASINO, PALACE = np.array([7.4281, 43.7392]), np.array([7.4200, 43.7314])
COUNT = 102  # squared more than the limit that is usual


def make_places(count):
    rng = np.random.default_rng(4)
    along = rng.uniform(0, 1, (count, 1))
    return (CASINO + along * (PALACE - CASINO)).round(6).tolist()


def ask(client, form, rows, columns):
    places = make_places(COUNT)
    origins, targets = places[:rows], places[:columns]
    if form == "mapyard":
        body = {"origins": origins, "destinations": targets, "mode": "foot"}
        return client.post("/api/v1/matrix", json=body)
    if form == "osrm":
        text = ";".join(f"{lon},{lat}" for lon, lat in places[: max(rows, columns)])
        options = {
            "sources": ";".join(map(str, range(rows))),
            "destinations": ";".join(map(str, range(columns))),
        }
        return client.get(f"/osrm/table/v1/foot/{text}", params=options)
    if form == "ors":
        body = {
            "locations": places[: max(rows, columns)], "metrics": ["duration"],
            "sources": list(map(str, range(rows))), "destinations": list(map(str, range(columns))),
        }  # fmt: skip
        return client.post("/ors/v2/matrix/foot-walking", json=body)
    if form == "graphhopper":
        body = {
            "from_points": origins, "to_points": targets, "profile": "foot",
            "out_arrays": ["times", "distances"],
        }  # fmt: skip
        return client.post("/graphhopper/matrix", json=body)
    ends = [[{"lon": lon, "lat": lat} for lon, lat in some] for some in (origins, targets)]
    body = {
        "sources": ends[0], "targets": ends[1], "costing": "pedestrian",
        "verbose": form == "verbose",
    }  # fmt: skip
    return client.post("/valhalla/sources_to_targets", json=body)


FORMS = ["mapyard", "osrm", "ors", "graphhopper", "valhalla", "verbose"]


@pytest.fixture(scope="module")
def data(build_once, tmp_path_factory):
    built = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    return copy_data(built, tmp_path_factory.mktemp("matrices") / "data")


@pytest.fixture(scope="module", params=[6, 20_000])
def client(request, data):
    chosen = Settings(data=data, updates="off", matrix_pairs=request.param)
    with LocalClient(chosen) as made:
        made.most = request.param
        yield made


@pytest.mark.parametrize("form", FORMS)
def test_the_setting_is_the_limit(client, form):
    few, many = ask(client, form, 2, 3), ask(client, form, COUNT, COUNT)
    assert few.status_code == 200, few.text
    assert few.headers["x-engine-calls"] == "0"
    if client.most < COUNT * COUNT:
        assert many.status_code in (400, 413)
        assert f"at most {client.most}" in many.text
        assert ask(client, form, 3, 3).status_code in (400, 413)
    else:
        assert many.status_code == 200, many.text[:300]
        assert many.headers["x-engine-calls"] == "0"


def test_other_questions_tell_of_no_engine(client):
    assert "x-engine-calls" not in client.get("/healthz").headers


@pytest.mark.parametrize("form", ["valhalla", "verbose", "graphhopper"])
def test_rows_are_written_like_cells(client, form):
    rows = ask(client, form, 2, 3).json()
    times = rows.get("times") or rows["sources_to_targets"]
    if form == "verbose":
        assert [[cell["to_index"] for cell in row] for row in times] == [[0, 1, 2]] * 2
        assert [[cell["from_index"] for cell in row] for row in times] == [[0] * 3, [1] * 3]
        times = [[cell["time"] for cell in row] for row in times]
    elif form == "valhalla":
        times = times["durations"]
    cells = ask(client, "mapyard", 2, 3).json()["durations"]
    assert np.array(times) == pytest.approx(np.array(cells), abs=0.51)
