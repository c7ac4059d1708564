"""Building the geocoder: all documents and the address table, put together.

Documents are numbered places, streets (mapped, then those known from addresses only), rivers,
points of interest, named houses, postcodes. tables.py writes them as columns,
documents.py their terms into the postings; gazetteer.py is what reads both.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from mapyard.geocoding.build.addresses import (
    Assignment,
    assign_parents,
    find_addresses,
    group_orphans,
)
from mapyard.geocoding.build.assembly import Assembly
from mapyard.geocoding.build.chains import Chains
from mapyard.geocoding.build.columns import TagColumn
from mapyard.geocoding.build.importance import read_importance_file
from mapyard.geocoding.build.interpolation import find_interpolations
from mapyard.geocoding.build.memo import Memo
from mapyard.geocoding.build.places import find_places
from mapyard.geocoding.build.pois import find_addresses_of, find_poi_rows, find_streets_of
from mapyard.geocoding.build.postcodes import assign_cities, assign_postcodes
from mapyard.geocoding.build.streets import find_river_rows, find_street_rows, group_lines
from mapyard.geocoding.kinds import NAMES
from mapyard.geocoding.words.regions import assign_states

Report = Callable[[str], None]


def count_documents(made: Assembly) -> dict[str, int]:
    """Return how many there are of each kind."""
    counts = np.bincount(made.kind, minlength=len(NAMES)).tolist()
    return {
        **{f"{name}s": count for name, count in zip(NAMES, counts, strict=True)},
        "addresses": len(made.addresses),
        "interpolations": len(made.interpolations),
    }


def assemble(
    memo: Memo, report: Report = lambda _: None, importance_file: Path | None = None
) -> Assembly:
    """Return everything the geocoder knows, in memory."""
    store = memo.store
    report("places")
    places = find_places(memo)
    chains = Chains(places, memo)
    made = Assembly(memo, places, chains)

    report("streets")
    rows = find_street_rows(store)
    made.add_streets(group_lines(memo, "street", rows, made.municipalities(rows)))

    report("addresses")
    addresses = find_addresses(memo)
    made.addresses = addresses
    made.address_chain = chains.find(addresses.lon, addresses.lat, addresses.names())
    made.address_municipality = made.municipality_of_chain[made.address_chain]
    town = made.written_towns(addresses, made.address_municipality)
    parents, pieces = made.parents(), made.street_pieces()
    assignment = assign_parents(memo, addresses, town, parents, pieces)
    orphans, labels = group_orphans(addresses, assignment, town)
    first = made.add_orphans(orphans, labels)
    parent = np.where(orphans >= 0, orphans + first, assignment.parent)
    parent = made.adopt_by_town(parent, town)
    made.assignment = Assignment(parent, assignment.how)
    made.interpolations = find_interpolations(store, addresses)

    report("points of interest")
    rows = find_river_rows(store)
    made.add_rivers(group_lines(memo, "river", rows, made.municipalities(rows)))
    rows = find_poi_rows(store, made.taken())
    made.add_pois(rows, *find_addresses_of(memo, rows, addresses))
    made.poi_street = find_streets_of(made, parents, pieces)
    made.add_houses()

    report("postcodes")
    assign_postcodes(made)
    made.finish()
    assign_cities(made)
    assign_states(made)
    made.number_chains()
    if importance_file is not None:
        _raise_importance(made, importance_file)
    return made


def _raise_importance(made: Assembly, path: Path) -> None:
    """Take over the importance of what the file knows by its wikidata id."""
    known = np.flatnonzero(made.row >= 0)
    ids = TagColumn(made.store, made.row[known], "wikidata")
    values = read_importance_file(path, frozenset(ids.texts))
    table = np.array([values.get(text, 0.0) for text in ids.texts] + [0.0], np.float32)
    made.importance[known] = np.maximum(made.importance[known], table[ids.codes])
