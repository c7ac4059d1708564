"""What another service's form costs beyond our own endpoint for the same question, in CPU.

python -m bench.forms --data DATA   (Monaco)

Both are asked in process, in turn, the same number of times; the least of the rounds counts. A form
may add 0.1 ms or 10 %, whichever is more. OSRM's steps, with every crossing on the way, are no
question of ours: beside them stands what Valhalla's form hands out of the engine in that format.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

API = "/api/v1"
A, B, C = "7.4246,43.7384", "7.4197,43.7314", "7.4273,43.7402"
LINE = [[7.4246, 43.7384], [7.4197, 43.7314]]
ALLOWED_MS, ALLOWED_SHARE = 0.1, 0.10
#: One of two answers may be just long enough to be compressed, and the client here unpacks it.
PLAIN = {"Accept-Encoding": "identity"}


class Question(NamedTuple):
    """One question in a form and in ours: path, and body of a POST."""

    name: str
    form: tuple[str, Any]
    ours: tuple[str, Any]
    count: int = 20


def _valhalla(action: str, **request: Any) -> tuple[str, Any]:
    return f"/valhalla/{action}?json={quote(json.dumps(request))}", None


def _route(**more: Any) -> tuple[str, Any]:
    return f"{API}/route", {"origin": LINE[0], "destination": LINE[1], **more}


POINTS = [{"lat": 43.7384, "lon": 7.4246}, {"lat": 43.7314, "lon": 7.4197}]
MATRIX = (f"{API}/matrix", {"origins": LINE, "destinations": LINE})
ADDRESS = "Rue%20Grimaldi%205,%20Monaco"
REVERSE = (f"{API}/geocode/reverse?lat=43.7384&lng=7.4246&limit=1", None)
QUESTIONS = (
    Question("nominatim search", (f"/nominatim/search?q={ADDRESS}&format=jsonv2&limit=5", None),
             (f"{API}/geocode?q={ADDRESS}&limit=5", None)),
    Question("nominatim reverse", ("/nominatim/reverse?lat=43.7384&lon=7.4246&format=jsonv2", None),
             REVERSE),
    Question("photon", ("/photon/api?q=rue%20grim&limit=5", None),
             (f"{API}/geocode/autocomplete?q=rue%20grim&limit=5", None)),
    Question("photon reverse", ("/photon/reverse?lat=43.7384&lon=7.4246", None), REVERSE),
    Question("pelias search", (f"/pelias/v1/search?text={ADDRESS}&size=5", None),
             (f"{API}/geocode?q={ADDRESS}&limit=5", None)),
    Question("pelias autocomplete", ("/pelias/v1/autocomplete?text=rue%20grim", None),
             (f"{API}/geocode/autocomplete?q=rue%20grim&limit=10", None)),
    Question("osrm route",
             (f"/osrm/route/v1/driving/{A};{B}?overview=full&geometries=geojson", None), _route()),
    Question("osrm route, steps",
             (f"/osrm/route/v1/driving/{A};{B}?overview=full&geometries=geojson&steps=true", None),
             _valhalla("route", locations=POINTS, costing="auto", format="osrm",
                       directions_type="maneuvers", shape_format="geojson")),
    Question("osrm table", (f"/osrm/table/v1/driving/{A};{B}", None), MATRIX),
    Question("osrm nearest", (f"/osrm/nearest/v1/driving/{A}", None),
             (f"{API}/nearest?lat=43.7384&lng=7.4246", None), 60),
    Question("valhalla route", _valhalla("route", locations=POINTS, costing="auto"),
             _route(steps=True)),
    Question("valhalla matrix", _valhalla("sources_to_targets", sources=POINTS, targets=POINTS,
                                          costing="auto"), MATRIX),
    Question("valhalla isochrone",
             _valhalla("isochrone", locations=POINTS[:1], costing="pedestrian",
                       contours=[{"time": 5}], polygons=True),
             (f"{API}/isochrone?lat=43.7384&lng=7.4246&time=300&mode=foot", None), 6),
    Question("openrouteservice directions",
             ("/ors/v2/directions/driving-car/geojson", {"coordinates": LINE}), _route(steps=True)),
    Question("openrouteservice matrix",
             ("/ors/v2/matrix/driving-car",
              {"locations": LINE, "metrics": ["duration", "distance"]}), MATRIX),
    Question("graphhopper route",
             ("/graphhopper/route?point=43.7384,7.4246&point=43.7314,7.4197&profile=car"
              "&points_encoded=false", None), _route(steps=True)),
    Question("ogc items",
             ("/ogc/collections/amenities/items?bbox=7.41,43.73,7.43,43.74&limit=20", None),
             (f"{API}/features?bbox=43.73,7.41,43.74,7.43&tags[amenity]=*&limit=20", None)),
)  # fmt: skip


def measure(data: Path, rounds: int) -> list[tuple[str, float, float]]:
    """Return name, ms of the form and ms of our endpoint for each question."""
    from mapyard.server.local import LocalClient
    from mapyard.settings import Settings

    best: dict[tuple[str, bool], float] = {}
    with LocalClient(Settings(data=data)) as client:
        for turn in range(rounds + 1):
            for question in QUESTIONS:
                for is_form, (path, body) in ((True, question.form), (False, question.ours)):
                    method = "GET" if body is None else "POST"
                    answer = client.request(method, path, json=body, headers=PLAIN)
                    assert answer.status_code == 200, f"{question.name}: {answer.text[:200]}"
                    gc.disable()
                    started = time.process_time()
                    for _ in range(question.count):
                        client.request(method, path, json=body, headers=PLAIN)
                    spent = (time.process_time() - started) / question.count * 1e3
                    gc.enable()
                    if turn:  # the first round opens and warms
                        key = (question.name, is_form)
                        best[key] = min(best.get(key, spent), spent)
    return [(q.name, best[q.name, True], best[q.name, False]) for q in QUESTIONS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    print(f"{'':30}{'form':>9}{'ours':>9}{'added':>9}{'':>8}")
    for name, form, ours in measure(options.data, options.rounds):
        added = form - ours
        is_over = added > max(ALLOWED_MS, ALLOWED_SHARE * ours)
        share = f"{added / ours:+.0%}"
        print(
            f"{name:30}{form:9.3f}{ours:9.3f}{added:+9.3f}{share:>8}{'  over' if is_over else ''}"
        )


if __name__ == "__main__":
    main()
