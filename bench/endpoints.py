"""CPU per request of every kind of endpoint, in process; compares two versions of the software.

python -m bench.endpoints --data DATA --save new.json   (then, in a checkout of the other version,
--save old.json), and python -m bench.endpoints --compare old.json new.json. DATA holds Monaco.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path
from typing import Any

API = "/api/v1"
HERE, THERE = [7.4246, 43.7384], [7.4197, 43.7314]
#: Name → path, body of a POST (None: GET), requests of a round.
CASES: dict[str, tuple[str, Any, int]] = {
    "by id": (f"{API}/features/way/94399684", None, 300),
    "box of 100": (f"{API}/features?bbox=43.73,7.41,43.74,7.43&limit=100", None, 40),
    "tag": (f"{API}/features?tags[amenity]=cafe&limit=20", None, 60),
    "stream": (f"{API}/features?tags[amenity]=cafe&format=csv", None, 30),
    "nearby": (f"{API}/features/nearby?lat=43.7384&lng=7.4246&tags[amenity]=cafe", None, 40),
    "search": (f"{API}/search?q=monte%20carlo", None, 40),
    "geocode": (f"{API}/geocode?q=Rue%20Grimaldi%205,%20Monaco", None, 40),
    "autocomplete": (f"{API}/geocode/autocomplete?q=rue%20grim", None, 40),
    "reverse": (f"{API}/geocode/reverse?lat=43.7384&lng=7.4246", None, 60),
    "batch": (f"{API}/geocode/batch", {"addresses": ["Rue Grimaldi 5", "Boulevard de Suisse"]}, 20),
    "route": (f"{API}/route", {"origin": HERE, "destination": THERE, "mode": "foot"}, 30),
    "nearest": (f"{API}/nearest?lat=43.7384&lng=7.4246", None, 100),
    "isochrone": (f"{API}/isochrone?lat=43.7384&lng=7.4246&time=300&mode=foot", None, 8),
    "matrix": (f"{API}/matrix", {"origins": [HERE, THERE], "destinations": [THERE]}, 30),
    "match": (f"{API}/map-match", {"trace": [HERE, [7.425, 43.739], [7.4255, 43.7396]],
                                   "mode": "foot"}, 20),
    "optimize": (f"{API}/optimize", {"waypoints": [HERE, THERE, [7.4273, 43.7402]],
                                     "mode": "foot"}, 10),
    "overpass": (f"{API}/overpass",
                 {"data": "node[amenity=cafe](43.73,7.41,43.75,7.43);out;"}, 30),
    "interpreter": ("/api/interpreter",
                    {"data": "[out:json];node[amenity=cafe](43.73,7.41,43.75,7.43);out;"}, 30),
    "sparql": (f"{API}/sparql", {"query": "SELECT ?s ?name WHERE { ?s osm:name ?name . "
                                 '?s osm:amenity "cafe" } LIMIT 20'}, 30),
    "tile": (f"{API}/tiles/14/8529/5974.mvt", None, 100),
}  # fmt: skip


def measure(data: Path, rounds: int) -> dict[str, float]:
    """Return the least CPU seconds per request of each kind."""
    from mapyard.server.local import LocalClient
    from mapyard.settings import Settings

    best: dict[str, float] = {}
    with LocalClient(Settings(data=data)) as client:
        for turn in range(rounds + 1):
            for name, (path, body, count) in CASES.items():
                method = "GET" if body is None else "POST"
                answer = client.request(method, path, json=body)
                assert answer.status_code == 200, f"{name}: {answer.text[:200]}"
                gc.disable()
                started = time.process_time()
                for _ in range(count):
                    client.request(method, path, json=body)
                spent = (time.process_time() - started) / count
                gc.enable()
                if turn:  # the first round opens and warms
                    best[name] = min(best.get(name, spent), spent)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path, nargs=2)
    options = parser.parse_args()
    if options.compare:
        old, new = (json.loads(file.read_text()) for file in options.compare)
        for name in old:
            ratio = new[name] / old[name]
            print(f"{name:14}{old[name] * 1e6:10.0f}{new[name] * 1e6:10.0f} µs{ratio:8.3f}")
        return
    found = measure(options.data, options.rounds)
    if options.save:
        options.save.write_text(json.dumps(found))
    for name, seconds in found.items():
        print(f"{name:14}{seconds * 1e6:10.0f} µs")


if __name__ == "__main__":
    main()
