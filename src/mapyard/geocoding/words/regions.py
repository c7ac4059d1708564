"""States, provinces, districts: what addresses say of the areas around them, and ISO 3166-2.

Extracts seldom hold the outline of a state. What addresses and streets say (addr:state,
tiger:county) then stands for their town, or, where nearly all agree, for the country's part in it.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np

from mapyard.geocoding.build.columns import Ints, TagColumn, count_pairs, join_keys, number_values
from mapyard.geocoding.build.places import COUNTRY, STATE
from mapyard.store.reader import Store
from mapyard.text.analysis import name_key
from mapyard.text.names import iter_names

if TYPE_CHECKING:
    from mapyard.geocoding.build.assembly import Assembly

#: What addresses say of areas besides the town, the larger first.
AREA_KEYS: Final = (
    "addr:state", "addr:province", "addr:region", "addr:county", "addr:municipality",
    "addr:district", "addr:subdistrict", "addr:suburb", "addr:quarter", "addr:hamlet",
    "addr:neighbourhood",
)  # fmt: skip
_STATE_KEYS: Final = ("addr:state", "addr:province")
_SEPARATOR: Final = "\n"
#: Languages whose names of areas are context of what lies in them, when there are many.
CONTEXT_LANGS: Final = frozenset(
    ("", "en", "de", "fr", "it", "es", "pt", "nl", "ca", "ja", "zh", "ar", "ru", "dv", "gsw", "rm")
)
_MANY: Final = 16
_OLD: Final = frozenset(("old_name", "uic_name"))
#: Of the votes in a country, more than this share decides for what lies in no town.
_MAJORITY: Final = 0.8
_FEWEST_VOTES: Final = 10


@lru_cache(maxsize=1)
def _subdivisions() -> dict[str, dict[str, tuple[str, tuple[str, ...]]]]:
    """Return country → key of a name or lower-case code → (code, names)."""
    packed = resources.files("mapyard.geocoding").joinpath("data/subdivisions.txt.xz").read_bytes()
    found: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {}
    for line in lzma.decompress(packed).decode().splitlines():
        country, code, names = line.split("\t")
        entry = code, tuple(names.split("|"))
        table = found.setdefault(country, {})
        table[code.lower()] = entry
        for name in entry[1]:
            table.setdefault(name_key(name), entry)
    return found


@lru_cache(maxsize=4_096)
def find_subdivision(country: str, text: str) -> tuple[str, tuple[str, ...]] | None:
    """Return (code, names) of a state or province by its name or code, or None."""
    table = _subdivisions().get(country, {})
    return table.get(text.strip().lower()) or table.get(name_key(text))


def expand_areas(country: str, text: str) -> list[str]:
    """Return the areas that a line of them names, states by name and by code."""
    found: dict[str, None] = {}
    for part in text.split(_SEPARATOR):
        state = find_subdivision(country, part)
        found |= dict.fromkeys((part, *((state[0], *state[1]) if state else ())))
    # A number alone tells nothing: neighborhoods of Taiwan have some.
    return [part for part in found if any(map(str.isalpha, part))]


def list_context(tags: dict[str, str]) -> list[str]:
    """Return the names of a place that are context of what lies in it, codes of states too."""
    names = list(iter_names(tags))
    if len(names) > _MANY:
        names = [n for n in names if n[1] in CONTEXT_LANGS]
    return [name for base, _, name in names if base not in _OLD] + list_codes(tags)


def list_codes(tags: dict[str, str]) -> list[str]:
    """Return what the ISO 3166-2 code of a place says: US-NY → usny, NY, New York."""
    code = tags.get("ISO3166-2", "")
    country, _, part = code.partition("-")
    if not part:
        return []
    state = find_subdivision(country, part)
    found = [(country + part).lower(), *(state[1] if state else ())]
    return [*found, part] if part.isalpha() and len(part) > 1 else found


def read_areas(store: Store, rows: Ints) -> TagColumn:
    """Return what addresses say of the areas around them, all in one text."""
    columns = [TagColumn(store, rows, key) for key in AREA_KEYS]
    columns = [column for column in columns if column.texts]
    if not columns:
        return TagColumn.of([], np.full(len(rows), -1, np.int64))
    codes = join_keys(*(column.codes for column in columns))
    example = np.empty(int(codes.max(initial=-1)) + 1, np.int64)
    example[codes] = np.arange(len(codes))  # any row that says so
    texts = [
        _SEPARATOR.join(dict.fromkeys(text for column in columns if (text := column.get(index))))
        for index in example.tolist()
    ]
    is_said = np.array([text != "" for text in texts], np.bool_)
    return TagColumn.of(texts, np.where(is_said[codes], codes, -1))


def assign_states(made: Assembly) -> None:
    """Give a state to each document in whose areas there is none."""
    store, addresses = made.store, made.addresses
    votes: list[tuple[int, int, str, int]] = []
    country_of_address = made.country[np.maximum(made.assignment.parent, 0)]
    for key in _STATE_KEYS:
        column = TagColumn(store, addresses.rows, key)
        votes += _count_votes(column, made.address_town, country_of_address)
    first = made.first_street
    streets = np.flatnonzero(made.row[first:] >= 0) + first
    streets = streets[streets < first + len(made.street_names())]
    column = TagColumn(store, made.row[streets], "tiger:county")
    column.texts = [text.partition(":")[0].rpartition(", ")[2] for text in column.texts]
    votes += _count_votes(column, made.town[streets], made.country[streets])
    texts: dict[str, int] = {}
    of_town: dict[tuple[int, int], dict[int, int]] = {}
    of_country: dict[int, dict[int, int]] = {}
    codes = [str(code) for code in made.country_codes]
    for town, country, text, count in votes:
        state = find_subdivision(codes[country], text)
        number = texts.setdefault(state[1][0] if state else text, len(texts))
        for counts in (of_town.setdefault((town, country), {}), of_country.setdefault(country, {})):
            counts[number] = counts.get(number, 0) + count
    made.state_texts = list(texts)
    made.state = np.full(made.count, -1, np.int64)
    if not texts:
        return
    has_state = np.array([_has_state(made, chain) for chain in made.chains.chains])[made.chain]
    majority = {country: _find_majority(counts) for country, counts in of_country.items()}
    chosen = {key: max(sorted(counts), key=counts.__getitem__) for key, counts in of_town.items()}
    open_ = np.flatnonzero(~has_state & (made.kind >= 0))
    # Each town and country once, as a few of them have all documents.
    pairs, place = number_values((made.town[open_] + 1) * len(codes) + made.country[open_])
    of_pair = [
        chosen.get((pair // len(codes) - 1, pair % len(codes)), majority.get(pair % len(codes), -1))
        for pair in pairs.tolist()
    ]
    made.state[open_] = np.array(of_pair, np.int64)[place]


def _count_votes(
    column: TagColumn, town: Ints, country: Ints
) -> Iterable[tuple[int, int, str, int]]:
    known = np.flatnonzero(column.codes >= 0)
    if not len(known):
        return []
    places = (town[known] + 1) * 1_000 + country[known]
    pairs, codes, counts = count_pairs(places, column.codes[known])
    return [
        (pair // 1_000 - 1, pair % 1_000, column.texts[code], count)
        for pair, code, count in zip(pairs.tolist(), codes.tolist(), counts.tolist(), strict=True)
    ]


def _has_state(made: Assembly, chain: tuple[int, ...]) -> bool:
    return any(COUNTRY < made.places[place].rank <= STATE for place in chain)


def _find_majority(counts: dict[int, int]) -> int:
    best = max(sorted(counts), key=counts.__getitem__)
    total = sum(counts.values())
    return best if total >= _FEWEST_VOTES and counts[best] >= _MAJORITY * total else -1
