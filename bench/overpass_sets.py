"""What the test queries find, against plain Python over pyosmium, on any extract.

    python bench/overpass_sets.py EXTRACT liechtenstein|monaco

The cases are those of tests/unit/overpass/cases.py; `make test` runs them on Monaco. The places of
the queries are set in that file. Prints every case that differs, and how many agree.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "unit" / "overpass"))

from cases import CASES, LIECHTENSTEIN, MONACO, Extract
from oracle import World

from mapyard.overpass.engine import run_text
from mapyard.overpass.osm.places import find_place
from mapyard.overpass.parse.macros import Surroundings
from mapyard.store.reader import open_store
from mapyard.store.writer import write_store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extract", type=Path)
    parser.add_argument("places", choices=("liechtenstein", "monaco"))
    arguments = parser.parse_args()
    places = LIECHTENSTEIN if arguments.places == "liechtenstein" else MONACO
    extract = Extract(World(arguments.extract), places)
    with tempfile.TemporaryDirectory() as folder:
        write_store(Path(folder) / "elements", arguments.extract)
        store = open_store(Path(folder) / "elements")
        surroundings = Surroundings(geocode=lambda name, area: find_place(store, name, area))
        agree = 0
        for name, (query, expected) in CASES.items():
            start = time.process_time()
            wanted = expected(extract)
            result = run_text(store, places.fill(query), surroundings=surroundings)
            names = [store.name_of(row) for _, e in result.outs for row in e.rows.tolist()]
            found = {(kind, int(number)) for kind, _, number in (n.partition("/") for n in names)}
            if found == wanted:
                agree += 1
            else:
                print(f"{name}: missing {len(wanted - found)}, too many {len(found - wanted)}")
                print("  ", sorted(wanted - found)[:5], sorted(found - wanted)[:5])
            if time.process_time() - start > 30:
                print(f"{name}: {time.process_time() - start:.0f} s CPU")
        print(f"{agree} of {len(CASES)} cases agree on {arguments.extract.name}")


if __name__ == "__main__":
    main()
