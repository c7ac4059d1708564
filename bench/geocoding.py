"""How well and how fast the geocoder finds what an extract holds.

    python -m bench.geocoding EXTRACT.osm.pbf [--sample 1000] [--show 5]
                              [--nominatim PYTHON PROJECT]

The truth is the extract itself: every address, written in seven ways, and every name of a street or
place; a wrong letter in the longest word; two thirds of the letters while typing; every address's
own point in reverse. Samples are drawn with a fixed seed. CPU time of one process, in this process,
answers written as features.

With --nominatim the same questions are put to Nominatim's library in the same run: PYTHON is one
that has nominatim-api, PROJECT the folder whose database holds the same extract.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.deadline import no_deadline
from mapyard.geo.sphere import haversine_m
from mapyard.geocoding.answer.batch import Options, answer_rows
from mapyard.geocoding.geocoder import Geocoder, open_geocoder
from mapyard.geocoding.kinds import PLACE, STREET
from mapyard.store.reader import E7, Store, open_store
from mapyard.text.folding import fold

NEAR_M = 50.0
SEED = 1


class Known(NamedTuple):
    """One address of the extract."""

    street: str
    number: str
    city: str
    postcode: str
    lon: float
    lat: float


def strip_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).replace("ß", "ss")


def abbreviate(street: str) -> str:
    for long, short in (
        ("strasse", "str."), ("Strasse", "Str."), ("straße", "str."), ("Straße", "Str."),
        ("Avenue", "Av."), ("Boulevard", "Bd"), ("Place", "Pl."), ("Street", "St"),
        ("Road", "Rd"), ("Carrer", "C."),
    ):  # fmt: skip
        street = street.replace(long, short)
    return street


def join(*parts: str) -> str:
    return ", ".join(part.strip() for part in parts if part.strip())


WAYS: dict[str, Callable[[Known], str]] = {
    "street number, postcode city": lambda k: join(
        f"{k.street} {k.number}", f"{k.postcode} {k.city}"
    ),
    "postcode city, number street": lambda k: join(
        f"{k.postcode} {k.city}", f"{k.number} {k.street}"
    ),
    "street abbreviated": lambda k: join(
        f"{abbreviate(k.street)} {k.number}", f"{k.postcode} {k.city}"
    ),
    "without postcode": lambda k: join(f"{k.street} {k.number}", k.city),
    "without city, where unique": lambda k: f"{k.street} {k.number}",
    "lower case": lambda k: WAYS["street number, postcode city"](k).lower(),
    "without accents": lambda k: strip_accents(WAYS["street number, postcode city"](k)),
}


class Peer:
    """Nominatim, asked with the same questions."""

    def __init__(self, python: str, project: str) -> None:
        self._command = [python, str(Path(__file__).with_name("nominatim_peer.py")), project]

    def ask(self, questions: list[Any]) -> tuple[list[list[dict[str, Any]]], float]:
        """Return the answers, and the CPU milliseconds per question, its database's included."""
        done = subprocess.run(
            self._command, input=json.dumps(questions).encode(), capture_output=True, check=True
        )
        found = json.loads(done.stdout)
        return found["answers"], found["cpu_s"] * 1e3 / max(1, len(questions))


def compare(
    peer: Peer | None,
    tally: Tally,
    questions: list[Any],
    is_hit: Callable[[int, list[dict[str, Any]]], bool],
) -> None:
    """Print how often the peer is right about the same questions, and the ratio of CPU."""
    if peer is None or not questions:
        return
    answers, cpu_ms = peer.ask(questions)
    hits = sum(is_hit(i, answer) for i, answer in enumerate(answers))
    own_ms = float(np.mean(tally.times_ms))
    print(
        f"{'    Nominatim':44} {hits:6}/{len(questions):<6} {hits / len(questions):7.2%}   "
        f"{cpu_ms:5.2f} ms mean, {cpu_ms / own_ms:.0f} times ours ({own_ms:.2f} ms mean)"
    )


class Tally:
    """Counts hits and times."""

    def __init__(self, title: str) -> None:
        self.title, self.hits, self.total = title, 0, 0
        self.times_ms: list[float] = []
        self.missed: list[str] = []

    def add(self, is_hit: bool, question: str) -> None:
        self.total += 1
        self.hits += is_hit
        if not is_hit:
            self.missed.append(question)

    def time(self, work: Callable[[], Any]) -> Any:
        started_s = time.process_time()
        result = work()
        self.times_ms.append((time.process_time() - started_s) * 1e3)
        return result

    def print(self, show: int) -> None:
        share = self.hits / max(1, self.total)
        times = np.array(self.times_ms or [0.0])
        print(
            f"{self.title:44} {self.hits:6}/{self.total:<6} {share:7.2%}   "
            f"{np.median(times):5.2f} ms median {np.percentile(times, 95):6.2f} ms p95"
        )
        for question in self.missed[:show]:
            print("      missed:", question)


def read_addresses(store: Store) -> list[Known]:
    rows = store.rows_with_key("addr:housenumber")
    boxes = store.boxes(rows) / E7
    found = []
    for row, box in zip(rows.tolist(), boxes.tolist(), strict=True):
        tags = store.tags(row)
        street = tags.get("addr:street") or tags.get("addr:place")
        if street and box[0] <= box[2]:
            found.append(
                Known(
                    street,
                    tags["addr:housenumber"],
                    tags.get("addr:city", ""),
                    tags.get("addr:postcode", ""),
                    (box[0] + box[2]) / 2,
                    (box[1] + box[3]) / 2,
                )
            )
    return found


def check_addresses(
    geocoder: Geocoder, sample: list[Known], known: list[Known], show: int, peer: Peer | None
) -> None:
    same: dict[tuple[str, str], list[Known]] = defaultdict(list)
    for address in known:
        same[fold(address.street), fold(address.number)].append(address)
    for title, write in WAYS.items():
        tally = Tally(title)
        questions: list[str] = []
        expected: list[tuple[Known, list[Known]]] = []
        for address in sample:
            twins = same[fold(address.street), fold(address.number)]
            if "unique" in title and len({twin.city for twin in twins}) > 1:
                continue
            question = write(address)
            features = tally.time(lambda q=question: geocoder.forward(q, 1))
            twins = [t for t in twins if not t.city or not address.city or t.city == address.city]
            tally.add(bool(features) and is_house(features[0], address, twins), question)
            questions.append(question)
            expected.append((address, twins))
        tally.print(show)

        def is_hit(
            i: int,
            found: list[dict[str, Any]],
            expected: list[tuple[Known, list[Known]]] = expected,
        ) -> bool:
            return bool(found) and is_peers_house(found[0], *expected[i])

        compare(peer, tally, questions, is_hit)


def is_peers_house(found: dict[str, Any], address: Known, twins: list[Known]) -> bool:
    return fold(found["house_number"] or "") == fold(address.number) and any(
        float(haversine_m(found["lon"], found["lat"], t.lon, t.lat)) <= NEAR_M for t in twins
    )


def is_house(feature: dict[str, Any], address: Known, twins: list[Known]) -> bool:
    properties = feature["properties"]
    if properties["source"] != "address" and (
        fold(properties.get("street", "")) != fold(address.street)
        or fold(properties.get("house_number", "")) != fold(address.number)
    ):
        return False
    lon, lat = feature["geometry"]["coordinates"]
    return any(float(haversine_m(lon, lat, t.lon, t.lat)) <= NEAR_M for t in twins)


def read_names(geocoder: Geocoder) -> list[tuple[str, str]]:
    """Return (name, name of the town) of every mapped street and place."""
    g = geocoder.gazetteer
    found = []
    for document in np.flatnonzero(np.isin(g.kind, (PLACE, STREET)) & (g.row >= 0)).tolist():
        name = g.tags(document).get("name", "")
        town = int(g.town[document])
        if name and len(name) > 2:
            city = g.tags(town).get("name", "") if town >= 0 and town != document else ""
            found.append((name, city))
    return list(dict.fromkeys(found))


def mistype(text: str, chance: random.Random) -> str:
    """Return the text with a letter of its longest word changed, lost, added or swapped."""
    words = text.split(" ")
    i = max(range(len(words)), key=lambda k: len(words[k]))
    word = words[i]
    if len(word) < 5:
        return text
    at = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(4)
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    if kind == 0:
        word = word[:at] + letter + word[at + 1 :]
    elif kind == 1:
        word = word[:at] + word[at + 1 :]
    elif kind == 2:
        word = word[:at] + letter + word[at:]
    else:
        word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join([*words[:i], word, *words[i + 1 :]])


def check_names(
    geocoder: Geocoder, names: list[tuple[str, str]], show: int, peer: Peer | None
) -> None:
    chance = random.Random(SEED)
    exact = Tally("names, rank 1")
    typo1, typo5 = Tally("one typo in the longest word, rank 1"), Tally("one typo, top 5")
    typed = Tally("two thirds of the letters, top 5")
    keys = Tally("every keystroke (times only)")
    asked: list[tuple[str, str]] = []
    mistyped: list[tuple[str, str]] = []
    for name, city in names:
        question = join(name, city)
        is_it = make_check(name)
        features = exact.time(lambda q=question: geocoder.forward(q, 5))
        exact.add(bool(features) and is_it(features[0]), question)
        asked.append((name, question))
        wrong = mistype(name, chance)
        if wrong != name:
            question = join(wrong, city)
            features = typo5.time(lambda q=question: geocoder.forward(q, 5))
            typo1.add(bool(features) and is_it(features[0]), question)
            typo5.add(any(map(is_it, features)), question)
            mistyped.append((name, question))
        part = name[: max(3, -(-len(name) * 2 // 3))]
        features = typed.time(lambda q=part: geocoder.autocomplete(q, 5))
        typed.add(any(map(is_it, features)), f"{part} ({name})")
    for name, _ in names[:100]:
        for length in range(1, len(name) + 1):
            keys.time(lambda q=name[:length]: geocoder.autocomplete(q, 5))
    exact.print(show)
    compare(peer, exact, [q for _, q in asked], lambda i, found: has_name(found[:1], asked[i][0]))
    typo1.times_ms = typo5.times_ms
    typo1.print(show)
    typo5.print(show)
    compare(peer, typo5, [q for _, q in mistyped], lambda i, found: has_name(found, mistyped[i][0]))
    typed.print(show)
    times = np.array(keys.times_ms)
    print(
        f"{'autocomplete, every keystroke':44} {len(times)} keystrokes: {np.median(times):.2f} ms "
        f"median, {np.percentile(times, 95):.2f} ms p95, {times.max():.2f} ms at most"
    )


def has_name(found: list[dict[str, Any]], name: str) -> bool:
    return any(fold(name) == fold(text) for result in found for text in result["names"])


def make_check(name: str) -> Callable[[dict[str, Any]], bool]:
    folded = fold(name)

    def is_it(feature: dict[str, Any]) -> bool:
        properties = feature["properties"]
        texts = [properties.get("name", ""), properties.get("street", "")]
        texts += [v for k, v in properties.get("tags", {}).items() if "name" in k]
        return any(folded == fold(text) for text in texts if text)

    return is_it


def check_reverse(geocoder: Geocoder, count: int, show: int, peer: Peer | None) -> None:
    g = geocoder.gazetteer
    tally = Tally("reverse of an address's own point")
    entries = random.Random(SEED).sample(range(len(g.address_row)), min(count, len(g.address_row)))
    for entry in entries:
        lon, lat = float(g.address_lon[entry]) / E7, float(g.address_lat[entry]) / E7
        features = tally.time(lambda x=lon, y=lat: geocoder.reverse(x, y))
        number = g.number_text(entry)
        is_it = bool(features) and (
            features[0]["properties"].get("house_number") == number
            and features[0]["properties"]["distance_m"] < 1.0
        )
        tally.add(is_it, f"{g.store.name_of(int(g.address_row[entry]))} {number}")
    tally.print(show)
    points = [[g.address_lon[e] / E7, g.address_lat[e] / E7] for e in entries]
    numbers = [g.number_text(entry) for entry in entries]
    compare(
        peer, tally, points,
        lambda i, found: bool(found) and found[0]["house_number"] == numbers[i],
    )  # fmt: skip


def check_batch(geocoder: Geocoder, sample: list[Known]) -> None:
    rows = [WAYS["street number, postcode city"](address) for address in sample]
    started_s = time.process_time()
    for _ in answer_rows(geocoder, rows, Options(), no_deadline()):
        pass
    seconds = time.process_time() - started_s
    print(f"{'batch':44} {len(rows) / max(seconds, 1e-9):.0f} rows per second and core")


def open_data(extract: Path, folder: Path) -> Iterator[Geocoder]:
    data = folder / "data"
    if not (data / "current").exists():
        report = build_dataset([extract], data, select_steps(["text"]), Reporter(quiet=True))
        part = report.manifest.parts["text"]
        size = sum(file.bytes for file in part.files.values())
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(
            f"built in {report.cpu_seconds:.2f} s CPU with the store, {part.seconds:.2f} s (wall) "
            f"for this part; {size / 1e6:.2f} MB, {size / extract.stat().st_size:.2f} of the PBF; "
            f"peak {peak_mb:.0f} MB"
        )
        print("documents:", part.report)
    store = open_store(data / "current" / "elements")
    yield open_geocoder(data / "current" / "text", store)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extract", type=Path)
    parser.add_argument("--sample", type=int, default=1000, help="addresses and names looked for")
    parser.add_argument("--nominatim", nargs=2, metavar=("PYTHON", "PROJECT"))
    parser.add_argument("--show", type=int, default=0, help="misses to print of each check")
    options = parser.parse_args()
    peer = Peer(*options.nominatim) if options.nominatim else None
    print(
        f"machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    )
    print("command:", " ".join(sys.argv))
    with tempfile.TemporaryDirectory() as folder:
        for geocoder in open_data(options.extract, Path(folder)):
            geocoder.forward("warm up")
            chance = random.Random(SEED)
            known = read_addresses(geocoder.gazetteer.store)
            sample = chance.sample(known, min(options.sample, len(known)))
            names = read_names(geocoder)
            names = chance.sample(names, min(options.sample, len(names)))
            print(
                f"{len(known)} addresses with a street or place, {len(sample)} of them asked for; "
                f"{len(names)} names"
            )
            if sample:
                check_addresses(geocoder, sample, known, options.show, peer)
                check_batch(geocoder, sample)
            check_names(geocoder, names, options.show, peer)
            check_reverse(geocoder, options.sample, options.show, peer)


if __name__ == "__main__":
    main()
