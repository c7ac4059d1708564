"""How far the answers of a form agree with the original's on the same extract.

python -m bench.forms_agreement nominatim OURS THEIRS --data DATA
python -m bench.forms_agreement osrm OURS THEIRS --data DATA

OURS and THEIRS are addresses of running servers: http://127.0.0.1:4000/nominatim and the
original's; of OSRM …/osrm and one osrm-routed, with --profile. Questions are drawn from the dataset
with a fixed seed. Per kind: how many are answered by both, and how many of these answers agree in
what.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from mapyard.geo.sphere import distance_m
from mapyard.store.reader import Store, open_store

Tally = dict[str, list[float]]
#: Questions of each kind.
SAMPLE = 150


def ask(client: httpx.Client, path: str, **params: Any) -> Any:
    answer = client.get(path, params=params)
    return answer.json() if answer.status_code == 200 else None


def draw(store: Store, key: str, count: int, rng: random.Random) -> list[dict[str, str]]:
    """Return tags of elements with a key, their id under "@"."""
    rows = store.rows_with_key(key).tolist()
    chosen = rng.sample(rows, min(count, len(rows)))
    return [store.tags(row) | {"@": store.name_of(row)} for row in chosen]


def iter_questions(store: Store, rng: random.Random) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the kind of a question of Nominatim, its call and parameters."""
    for tags in draw(store, "addr:housenumber", 3 * SAMPLE, rng):
        if "addr:street" in tags:
            text = f"{tags['addr:housenumber']} {tags['addr:street']}"
            yield "house", "search", {"q": f"{text}, {tags.get('addr:city', '')}".rstrip(", ")}
    for tags in draw(store, "highway", 4 * SAMPLE, rng):
        if "name" in tags:
            yield "street", "search", {"q": tags["name"]}
    for tags in draw(store, "amenity", 4 * SAMPLE, rng):
        if "name" in tags:
            yield "thing by name", "search", {"q": tags["name"]}
    for tags in draw(store, "place", SAMPLE, rng):
        if "name" in tags:
            yield "place", "search", {"q": tags["name"]}
    for row in rng.sample(store.rows_with_key("building").tolist(), SAMPLE):
        box = store.boxes(np.array([row]))[0] / 1e7
        lon, lat = float(box[[0, 2]].mean()), float(box[[1, 3]].mean())
        at = {"lat": round(lat, 6), "lon": round(lon, 6)}
        yield "reverse, house", "reverse", at
        yield "reverse, street", "reverse", {**at, "zoom": 16}
        yield "reverse, town", "reverse", {**at, "zoom": 10}
    for tags in [*draw(store, "amenity", SAMPLE, rng), *draw(store, "highway", SAMPLE, rng)]:
        if "name" in tags:
            kind, _, number = tags["@"].partition("/")
            yield "lookup", "lookup", {"osm_ids": f"{kind[0].upper()}{number}"}


def compare_nominatim(ours: httpx.Client, theirs: httpx.Client, store: Store) -> None:
    tally: dict[str, Tally] = defaultdict(lambda: defaultdict(list))
    asked: dict[str, int] = defaultdict(int)
    keys: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for kind, call, params in iter_questions(store, random.Random(4)):
        if asked[kind] >= SAMPLE:
            continue
        asked[kind] += 1
        more = {"format": "jsonv2", "addressdetails": 1, "extratags": 1, "namedetails": 1}
        found = [ask(client, f"/{call}", **params, **more) for client in (ours, theirs)]
        own, other = ((one[0] if one else {}) if isinstance(one, list) else one or {}
                      for one in found)  # fmt: skip
        counts = tally[kind]
        for name, one in (("ours alone", own), ("theirs alone", other)):
            others = other if one is own else own
            counts[name].append("place_rank" in one and "place_rank" not in others)
        if "place_rank" not in own or "place_rank" not in other:
            continue
        same = all(own.get(name) == other.get(name) for name in ("osm_type", "osm_id"))
        counts["same element"].append(same)
        counts["same name"].append(own["name"] == other["name"])
        counts["within 100 m"].append(apart_m(own, other) < 100.0)
        if not same:
            continue
        for name in ("category", "type", "addresstype", "place_rank"):
            counts[name].append(own[name] == other[name])
        counts["display_name"].append(own["display_name"] == other["display_name"])
        for key in {*own["address"], *other["address"]}:
            mine, yours = own["address"].get(key), other["address"].get(key)
            place = 0 if mine == yours else 1 if None not in (mine, yours) else 2 if mine else 3
            keys[key][place] += 1
    print_tally(tally)
    print("\nkeys of addresses, same element: same value, other value, ours alone, theirs alone")
    for key, numbers in sorted(keys.items(), key=lambda item: -sum(item[1])):
        print(f"{key:24}" + "".join(f"{number:7}" for number in numbers))


def apart_m(one: dict[str, Any], other: dict[str, Any]) -> float:
    places = [float(place[name]) for place in (one, other) for name in ("lon", "lat")]
    return distance_m(*places)


def compare_osrm(ours: httpx.Client, theirs: httpx.Client, store: Store, profile: str) -> None:
    """Ways between houses: where they begin, how long they are and take, what the answers have."""
    rng = random.Random(3)
    boxes = store.boxes(store.rows_with_key("addr:housenumber")) / 1e7
    places = [f"{(w + e) / 2:.5f},{(s + n) / 2:.5f}" for w, s, e, n in boxes.tolist()]
    tally: Tally = defaultdict(list)
    members: tuple[set[str], set[str]] = (set(), set())
    for _ in range(SAMPLE):
        call = f"/route/v1/{profile}/{rng.choice(places)};{rng.choice(places)}"
        more = {"overview": "full", "steps": "true", "annotations": "distance,duration,speed"}
        own, other = (client.get(call, params=more).json() for client in (ours, theirs))
        tally["same code"].append(own["code"] == other["code"])
        if not own["code"] == other["code"] == "Ok":
            continue
        for found, answer in zip(members, (own, other), strict=True):
            found.update(iter_members(answer))
        same = []
        for one, two in zip(own["waypoints"], other["waypoints"], strict=True):
            same.append(distance_m(*one["location"], *two["location"]) < 5.0)
            tally["same name"].append(one["name"] == two["name"])
        tally["same road within 5 m"] += same
        if not all(same) or not other["routes"][0]["distance"]:
            continue
        (mine,), (yours,) = own["routes"][:1], other["routes"][:1]
        length = mine["distance"] / yours["distance"]
        for share in (0.01, 0.05, 0.2):
            tally[f"length within {share:.0%}"].append(abs(length - 1) <= share)
        tally["_length"].append(length)
        tally["_duration"].append(mine["duration"] / yours["duration"])
    for name, values in tally.items():
        if name.startswith("_"):
            low, _, middle, _, high = np.percentile(values, [10, 25, 50, 75, 90])
            print(f"{name[1:]:22} {middle:.3f} of theirs (10 % below {low:.2f}, above {high:.2f})")
        else:
            print(f"{name:22} {100 * statistics.fmean(values):6.1f} % of {len(values)}")
    print("members of theirs alone:", sorted(members[1] - members[0]))
    print("members of ours alone:", sorted(members[0] - members[1]))


def iter_members(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from iter_members(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from iter_members(inner, f"{path}[]")
    else:
        yield path


def print_tally(tally: dict[str, Tally]) -> None:
    names = list(dict.fromkeys(name for counts in tally.values() for name in counts))
    for kind, counts in tally.items():
        print(f"\n{kind}: {len(counts['ours alone'])} asked")
        for name in names:
            if values := counts.get(name):
                print(f"  {name:16} {100 * statistics.fmean(values):6.1f} % of {len(values)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=("nominatim", "osrm"))
    parser.add_argument("ours")
    parser.add_argument("theirs")
    parser.add_argument("--profile", default="driving")
    parser.add_argument("--data", type=Path, default=Path("data"))
    options = parser.parse_args()
    store = open_store(options.data / "current" / "elements")
    with (
        httpx.Client(base_url=options.ours, timeout=60) as ours,
        httpx.Client(base_url=options.theirs, timeout=60) as theirs,
    ):
        if options.form == "osrm":
            compare_osrm(ours, theirs, store, options.profile)
        else:
            compare_nominatim(ours, theirs, store)


if __name__ == "__main__":
    main()
