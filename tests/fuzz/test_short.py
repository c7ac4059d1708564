"""Fuzzing in its short form, and what it found before: `make fuzz` runs it for long."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz.targets import TARGETS, check, mutate, use

#: Inputs that once broke a reader: they are refused or read, but break nothing.
FOUND = {
    "geojson": [b'{"type":"Feature","geometry":{"tpe":"Point","coordinates":[7.4,43.7]}}'],
    "csv": [b"q,note\rRue Grimaldi 5,a\r", b'lat;lo\x00n\r"x', b'q\n"' + b"a" * 200_000],
    "geocode": ["d'東京 rue d' 5".encode(), "l'練馬区".encode(), b"' '", b"d'"],
    "pbf": [b"\x00\x00\x00\x0d\x0a\x09OSMHeader\x18\x02\x18\x01"],
    "block": [b"\x12\x02\x08\x01", b"\x0a\x00\x12\x03\x1a\x01\xff", b"\x08\x01\x10\x02"],
}


@pytest.fixture(scope="module", autouse=True)
def _over_monaco(monaco: Path) -> None:
    use(monaco)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_breaks_a_reader(name: str) -> None:
    target = TARGETS[name]
    for seed in target.seeds:
        check(target, seed)
    for data in FOUND.get(name, ()):
        check(target, data)
    rng = random.Random(f"{name} 1")
    taken = sum(check(target, mutate(rng, target)) for _ in range(300))
    assert taken < 300 or name in ("query", "geocode", "wkt")


def test_a_fault_is_noticed() -> None:
    def broken(data: bytes) -> None:
        raise KeyError(data)

    with pytest.raises(KeyError):
        check(TARGETS["gpx"]._replace(run=broken), b"x")
