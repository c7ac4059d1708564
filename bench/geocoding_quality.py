"""How many addresses of extracts are found, as people write them; printed as a table.

    python -m bench.geocoding_quality EXTRACT.osm.pbf … [--sample 500] [--show 3] [--keys 300]

The truth is the extract itself: 500 random addresses of each (or all, if fewer), written exactly,
with one and two typos, without the city, in another order, abbreviated, transliterated (names in
other scripts by name:en, int_name, or the ISO and BGN systems below, which are not those of the
index) and unfinished. An answer is right where it has the number and is, or lies within 50 m of, an
address of that street and number; without a city it may be any of those that have it.

Then the keys of typed addresses: for each beginning from the fourth letter, whether the right
answer, once in the list of ten, stays. Before the number is typed in full that is the street. And
the CPU of each key.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.geocoding import NEAR_M, SEED, Known, join, open_data, read_addresses
from mapyard.geo.sphere import haversine_m
from mapyard.geocoding.geocoder import Feature, Geocoder
from mapyard.geocoding.words.housenumbers import parse_numbers
from mapyard.store.reader import E7, Store
from mapyard.text.analysis import name_key
from mapyard.text.folding import fold
from mapyard.text.words import ABBREVIATIONS

#: Lengths of lists in which the answer is looked for.
FIRST, FIVE = 1, 5
MAX_LISTED = 10

# ISO 9 and BGN/PCGN for Cyrillic, ELOT 743 for Greek: other systems than the index uses.
_CYRILLIC = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
_ISO_9_LETTERS = "a b v g d e ë ž z i j k l m n o p r s t u f h c č š ŝ _ y _ è û â"
_BGN_LETTERS = "a b v g d e yo zh z i y k l m n o p r s t u f kh ts ch sh shch _ y _ e yu ya"
_ISO_9, _BGN = (
    dict(zip(_CYRILLIC, letters.replace("_", "-").split(" "), strict=True))
    for letters in (_ISO_9_LETTERS, _BGN_LETTERS)
)
for _table in (_ISO_9, _BGN):
    _table |= {"ъ": "", "ь": ""}


def transliterate(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(letter, letter) for letter in text.lower())


def is_latin(text: str) -> bool:
    return all(ord(letter) < 0x250 or not letter.isalpha() for letter in text)


def mistype(text: str, chance: random.Random) -> str:
    """Return the text with one letter of a word of five or more changed, lost, added or swapped."""
    words = text.split(" ")
    long = [i for i, word in enumerate(words) if len(word) >= 5 and word.isalpha()]
    if not long:
        return text
    i = chance.choice(long)
    word = words[i]
    at = chance.randrange(1, len(word) - 1)
    # A letter of the same script: another one of the text.
    letter = chance.choice([other for other in text.lower() if other.isalpha()])
    words[i] = chance.choice(
        (
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        )
    )
    return " ".join(words)


_SHORT: dict[str, str] = {}
for _short, _forms in ABBREVIATIONS.items():
    for _form in _forms:
        if 1 < len(_short) < len(_form) and not _short.startswith(("ulitsa",)):
            _SHORT.setdefault(_form, _short)
#: Usual ones before others of the table.
_SHORT |= {
    "street": "St", "road": "Rd", "avenue": "Ave", "boulevard": "Blvd", "lane": "Ln", "place": "Pl",
    "drive": "Dr", "north": "N", "south": "S", "east": "E", "west": "W", "улица": "ул.",
    "проезд": "пр.", "carrer": "C.", "avinguda": "Av.", "rue": "R.", "strasse": "Str.",
}  # fmt: skip


def abbreviate(street: str) -> str:
    words = []
    for word in street.split(" "):
        low = word.lower()
        if low in _SHORT:
            words.append(_SHORT[low])
        elif low.endswith(("strasse", "straße")):
            words.append(word[: -len("asse") if low.endswith("asse") else -len("aße")] + ".")
        else:
            words.append(word)
    return " ".join(words)


Writer = Callable[[Known, random.Random, dict[str, list[str]]], list[str]]


def write_exact(k: Known, *_: object) -> list[str]:
    return [join(f"{k.street} {k.number}", f"{k.postcode} {k.city}")]


def write_typos(count: int) -> Writer:
    def write(k: Known, chance: random.Random, _: dict[str, list[str]]) -> list[str]:
        street = k.street
        for _i in range(count):
            street = mistype(street, chance)
        return [join(f"{street} {k.number}", k.city)] if street != k.street else []

    return write


def write_transliterated(k: Known, chance: random.Random, names: dict[str, list[str]]) -> list[str]:
    if is_latin(k.street):
        return []
    written = [f"{name} {k.number}" for name in names.get(k.street, ())]
    if any("а" <= letter <= "я" for letter in k.street.lower()):
        written += [f"{transliterate(k.street, table)} {k.number}" for table in (_ISO_9, _BGN)]
    return written


def write_unfinished(k: Known, *_: object) -> list[str]:
    text = f"{k.street} {k.number}, {k.city}" if k.city else f"{k.street} {k.number}"
    return [text[: len(f"{k.street} {k.number}") + 2]] if k.city else [text]


WAYS: dict[str, Writer] = {
    "exact": write_exact,
    "one typo": write_typos(1),
    "two typos": write_typos(2),
    "without city": lambda k, *_: [f"{k.street} {k.number}"],
    "word order changed": lambda k, *_: [
        join(f"{k.postcode} {k.city}", f"{k.number} {k.street}"),
        join(k.city, f"{k.street} {k.number}"),
    ],
    "abbreviated": lambda k, *_: [join(f"{abbreviate(k.street)} {k.number}", k.city)],
    "transliterated": write_transliterated,
    "unfinished": write_unfinished,
}
GOALS = {
    "exact": 0.995, "one typo": 0.97, "word order changed": 0.99, "abbreviated": 0.98,
    "transliterated": 0.90,
}  # fmt: skip


class Share(NamedTuple):
    """Counts of questions, right first answers, right answers among five."""

    asked: int
    first: int
    five: int


def read_other_names(geocoder: Geocoder) -> dict[str, list[str]]:
    """Return street → its names in Latin letters that are mapped."""
    g = geocoder.gazetteer
    found: dict[str, set[str]] = defaultdict(set)
    for document in np.flatnonzero((g.kind == 1) & (g.row >= 0)).tolist():
        tags = g.tags(document)
        for key in ("name:en", "int_name"):
            if tags.get("name") and tags.get(key) and is_latin(tags[key]):
                found[tags["name"]].add(tags[key])
    return {name: sorted(names) for name, names in found.items()}


def is_right(
    feature: Feature, twins: list[Known], number: str, ids: frozenset[str] = frozenset()
) -> bool:
    if feature.get("id") in ids:
        return True
    lon, lat = feature["geometry"]["coordinates"]
    given = feature["properties"].get("house_number", "")
    same = bool(set(parse_numbers(given)) & set(parse_numbers(number))) if given else False
    return same and any(float(haversine_m(lon, lat, t.lon, t.lat)) <= NEAR_M for t in twins)


def read_ids(store: Store) -> dict[Known, str]:
    """Return the element of each address."""
    found = {}
    for row in store.rows_with_key("addr:housenumber").tolist():
        tags = store.tags(row)
        box = store.boxes(np.array([row]))[0] / E7
        street = tags.get("addr:street") or tags.get("addr:place")
        if street and box[0] <= box[2]:
            known = Known(
                street, tags["addr:housenumber"], tags.get("addr:city", ""),
                tags.get("addr:postcode", ""), (box[0] + box[2]) / 2, (box[1] + box[3]) / 2,
            )  # fmt: skip
            found[known] = store.name_of(row)
    return found


def measure(
    geocoder: Geocoder, sample: list[Known], known: list[Known], show: int
) -> dict[str, Share]:
    by_street: dict[tuple[str, str], list[Known]] = defaultdict(list)
    for address in known:
        by_street[address.street, address.number].append(address)
    ids = read_ids(geocoder.gazetteer.store)
    names = read_other_names(geocoder)
    shares = {}
    for title, write in WAYS.items():
        chance = random.Random(SEED)
        asked = first = five = 0
        missed: list[str] = []
        for address in sample:
            twins = by_street[address.street, address.number]
            has_city = title not in ("without city", "transliterated", "unfinished")
            if has_city and address.city:
                twins = [t for t in twins if t.city in ("", address.city)]
            for text in write(address, chance, names):
                ask = geocoder.autocomplete if title == "unfinished" else geocoder.forward
                found = ask(text, FIVE)
                known_ids = frozenset(ids[t] for t in twins)
                hits = [is_right(f, twins, address.number, known_ids) for f in found]
                asked += 1
                first += any(hits[:FIRST])
                five += any(hits)
                if not any(hits[:FIRST]):
                    missed.append(text)
        shares[title] = Share(asked, first, five)
        for text in missed[:show]:
            print(f"    missed ({title}): {text}")
    return shares


def is_complete(typed: str, k: Known) -> bool:
    """Return whether the number and the street are typed in full."""
    return k.number in typed and k.street in typed and not typed.endswith(k.number)


def is_of_street(feature: Feature, k: Known) -> bool:
    properties = feature["properties"]
    same = {fold(k.street), name_key(k.street)}
    return any(
        fold(text) in same or name_key(text) in same
        for text in (properties.get("street", ""), properties.get("name", ""))
    )


def measure_keys(
    geocoder: Geocoder, sample: list[Known], show: int
) -> tuple[int, int, list[float]]:
    """Return how many keys lost the right answer, keys at all, and their CPU milliseconds."""
    lost = keys = 0
    times_ms: list[float] = []
    for i, k in enumerate(sample):
        line = f"{k.number} {k.street}" if i % 2 else f"{k.street} {k.number}"
        text = join(line, f"{k.postcode} {k.city}")
        wanted = next(
            (f.get("id") for f in geocoder.forward(text, 1) if is_right(f, [k], k.number)), None
        )
        if wanted is None:
            continue
        seen = False
        for length in range(4, len(text) + 1):
            started_s = time.process_time()
            found = geocoder.autocomplete(text[:length], MAX_LISTED)
            times_ms.append((time.process_time() - started_s) * 1e3)
            keys += 1
            is_there = wanted in [feature.get("id") for feature in found]
            if not is_complete(text[:length], k):
                is_there = is_there or any(is_of_street(feature, k) for feature in found)
            if seen and not is_there:
                lost += 1
                if lost <= show:
                    print(f"    lost: {text[:length]!r} of {text!r}")
            seen = is_there
    return lost, keys, times_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extracts", type=Path, nargs="+")
    parser.add_argument("--sample", type=int, default=500, help="addresses of each extract")
    parser.add_argument("--keys", type=int, default=300, help="typed addresses of each extract")
    parser.add_argument("--show", type=int, default=0, help="misses to print of each kind")
    options = parser.parse_args()
    print(
        f"machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    )
    print("command:", " ".join(sys.argv))
    rows: list[list[str]] = []
    all_ms: list[float] = []
    for extract in options.extracts:
        with tempfile.TemporaryDirectory() as folder:
            for geocoder in open_data(extract, Path(folder)):
                known = read_addresses(geocoder.gazetteer.store)
                if not known:
                    print(f"{extract.name}: no addresses")
                    continue
                chance = random.Random(SEED)
                sample = chance.sample(known, min(options.sample, len(known)))
                shares = measure(geocoder, sample, known, options.show)
                lost, keys, times_ms = measure_keys(geocoder, sample[: options.keys], options.show)
                all_ms += times_ms
                row = [extract.name.partition(".")[0], str(len(sample))]
                for share in shares.values():
                    row.append(
                        f"{share.first / share.asked:.1%} / {share.five / share.asked:.1%}"
                        if share.asked
                        else "–"
                    )
                row += [f"{lost} of {keys}", f"{np.median(times_ms):.2f}" if times_ms else "–"]
                rows.append(row)
                print(" | ".join(row), flush=True)
    print("\n| extract | addresses | " + " | ".join(WAYS) + " | keys that lost it | ms a key |")
    print("|" + "---|" * (len(WAYS) + 4))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    if all_ms:
        print(
            f"\nkeys: {len(all_ms)}, median {np.median(all_ms):.2f} ms, "
            f"p95 {np.percentile(all_ms, 95):.2f} ms"
        )


if __name__ == "__main__":
    main()
