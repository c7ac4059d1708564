"""The files of the geocoder beside the text index, one per column; gazetteer.py reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.geocoding.build.assembly import Assembly
from mapyard.geocoding.build.columns import Ints, group_offsets, sort_stably
from mapyard.geocoding.kinds import HOUSE_SHIFT
from mapyard.geocoding.words.housenumbers import (
    is_hyphened,
    is_range,
    leading_number,
    parse_numbers,
)
from mapyard.store.columns import offsets_of, write_column, write_heap
from mapyard.store.reader import E7

#: Of the numbers with a hyphen of a street more than one in so many is no range: none is.
_BLOCK_SHARE: Final = 10


def write_tables(made: Assembly, folder: Path) -> None:
    """Write all columns of an assembly into a new folder."""
    folder.mkdir(parents=True)
    _write_documents(made, folder)
    _write_places(made, folder)
    _write_addresses(made, folder)
    _write_numbers(made, folder)
    _write_interpolations(made, folder)


def _to_e7(degrees: NDArray[np.float64]) -> NDArray[np.int32]:
    return np.round(degrees * E7).astype(np.int32)


def _write_documents(made: Assembly, folder: Path) -> None:
    columns: dict[str, NDArray[Any]] = {
        "kind": made.kind,
        "row": made.row,
        "lon": _to_e7(made.lon),
        "lat": _to_e7(made.lat),
        "importance": made.importance,
        "chain": made.chain.astype(np.int32),
        "town": made.town.astype(np.int32),
        "part": made.part.astype(np.int32),
        "country": made.country.astype(np.int16),
        "postcode": made.postcode.astype(np.int32),
        "city": made.city.astype(np.int32),
        "entry": made.entry.astype(np.int32),
        "street": made.street.astype(np.int32),
        "entry_of_building": made.entry_of_building,
        "words": made.words,
        "member_rows": made.member_rows.astype(np.uint32),
        "member_documents": made.member_documents.astype(np.int32),
    }
    for name, values in columns.items():
        write_column(folder, f"document_{name}", values)
    write_heap(folder, "country_text", [str(code).encode() for code in made.country_codes])
    write_heap(folder, "postcode_text", [text.encode() for text in made.postcode_texts])
    if made.state_texts:
        write_column(folder, "document_state", made.state.astype(np.int16))
    write_heap(folder, "state_text", [text.encode() for text in made.state_texts])
    labels = sorted(made.labels)
    write_column(folder, "label_documents", np.array(labels, np.int64))
    write_heap(folder, "label_text", [made.labels[document].encode() for document in labels])


def _write_places(made: Assembly, folder: Path) -> None:
    places = made.places
    write_column(folder, "place_rank", np.array([p.rank for p in places], np.int16))
    write_column(folder, "place_admin_level", np.array([p.admin_level for p in places], np.int16))
    write_column(folder, "place_is_area", np.array([p.is_area for p in places], np.bool_))
    write_heap(folder, "place_type", [p.place.encode() for p in places])
    write_heap(folder, "place_tags", [orjson.dumps(p.tags) for p in places])
    chains = made.chains.chains
    lengths = np.array([len(chain) for chain in chains], np.int64)
    write_column(folder, "chain_offsets", offsets_of(lengths))
    write_column(folder, "chain_places", np.array([p for chain in chains for p in chain], np.int32))


def _write_addresses(made: Assembly, folder: Path) -> None:
    addresses = made.addresses
    columns: dict[str, NDArray[Any]] = {
        "row": addresses.rows.astype(np.uint32),
        "lon": _to_e7(addresses.lon),
        "lat": _to_e7(addresses.lat),
        "parent": made.assignment.parent.astype(np.int32),
        "how": made.assignment.how,
        "number": addresses.numbers.codes.astype(np.int32),
        "postcode": made.address_postcode.astype(np.int32),
        "city": made.address_city.astype(np.int32),
        "chain": made.address_chain.astype(np.int32),
        "town": made.address_town.astype(np.int32),
        "part": made.address_part.astype(np.int32),
    }
    for name, values in columns.items():
        write_column(folder, f"address_{name}", values)
    write_heap(folder, "number_text", [text.encode() for text in addresses.numbers.texts])
    if addresses.areas.texts:
        write_column(folder, "address_areas", addresses.areas.codes.astype(np.int32))
    write_heap(folder, "areas_text", [text.encode() for text in addresses.areas.texts])
    write_heap(folder, "city_text", [text.encode() for text in addresses.city.texts])


def _write_numbers(made: Assembly, folder: Path) -> None:
    """Write, per document, the sorted numbers of its addresses."""
    keys: dict[str, int] = {}
    texts = made.addresses.numbers.texts
    expanded = [[keys.setdefault(key, len(keys)) for key in parse_numbers(text)] for text in texts]
    # Of streets with numbers such as 89-63 the numbers are once more there, each as it is written.
    expanded += [codes[:1] if is_hyphened(t) else codes
                 for t, codes in zip(texts, expanded, strict=True)]  # fmt: skip
    sizes = np.array([len(codes) for codes in expanded] + [0], np.int64)
    flat = np.array([code for codes in expanded for code in codes], np.int64)
    is_first = np.array([not i for codes in expanded for i in range(len(codes))], np.bool_)
    starts = np.cumsum(sizes) - sizes
    codes = made.addresses.numbers.codes
    codes = np.where(_find_blocks(made), codes + len(texts), codes)
    address = np.repeat(np.arange(len(codes)), sizes[codes])
    within = np.arange(len(address)) - np.repeat(
        np.cumsum(sizes[codes]) - sizes[codes], sizes[codes]
    )
    key = flat[starts[codes[address]] + within] if len(address) else flat
    # Of the houses with one number, those that have no other come last: they are found.
    is_first = is_first[starts[codes[address]] + within] if len(address) else is_first
    leading = np.array([leading_number(text) for text in keys] or [0], np.int64)
    number = leading[key] if len(key) else key
    parent = made.assignment.parent[address] if len(address) else address
    known = parent >= 0
    address, key, number, parent = address[known], key[known], number[known], parent[known]
    # And those that say their street, before those that are only the nearest to it.
    addresses = made.addresses
    says_street = (addresses.street.codes[address] >= 0) | (addresses.place.codes[address] >= 0)
    # A key has one number: by number and key is by the rank of the key.
    by_number = np.lexsort((np.arange(len(keys)), leading[: len(keys)]))
    rank = np.empty(len(keys), np.int64)
    rank[by_number] = np.arange(len(keys))
    within = (rank[key] << 2) | (is_first[known].astype(np.int64) << 1) | says_street
    order = sort_stably((parent << (len(keys).bit_length() + 2)) | within)
    write_column(folder, "house_offsets", group_offsets(parent, made.count))
    write_column(folder, "house_order", parent[order] * HOUSE_SHIFT + number[order] + 1)
    write_column(folder, "house_number", number[order].astype(np.int32))
    write_column(folder, "house_key", key[order].astype(np.int32))
    write_column(folder, "house_address", address[order].astype(np.int32))
    write_heap(folder, "key_text", [text.encode() for text in keys])


def _find_blocks(made: Assembly) -> NDArray[np.bool_]:
    """Return which addresses are of streets where 89-63 is a number, not a range.

    There many second parts are smaller than the first.
    """
    texts, codes = made.addresses.numbers.texts, made.addresses.numbers.codes
    hyphened = np.array([is_hyphened(text) for text in texts] + [False], np.bool_)[codes]
    no_range = np.array([is_hyphened(t) and not is_range(t) for t in texts] + [False])[codes]
    parent = np.where(made.assignment.parent >= 0, made.assignment.parent, made.count)
    count = np.bincount(parent[hyphened], minlength=made.count + 1)
    others = np.bincount(parent[no_range], minlength=made.count + 1)
    return (others * _BLOCK_SHARE > count)[parent] & hyphened


def _write_interpolations(made: Assembly, folder: Path) -> None:
    found = made.interpolations
    parent: Ints = made.assignment.parent[found.address] if len(found) else found.address
    order = np.flatnonzero(parent >= 0)
    order = order[np.argsort(parent[order], kind="stable")]
    write_column(folder, "stretch_offsets", group_offsets(parent[order], made.count))
    columns = {
        "way": found.way, "first": found.first, "last": found.last,
        "first_number": found.first_number, "last_number": found.last_number, "step": found.step,
        "address": found.address,
    }  # fmt: skip
    for name, values in columns.items():
        write_column(folder, f"stretch_{name}", values[order].astype(np.int64))
