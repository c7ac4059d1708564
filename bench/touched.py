"""Which share of the rows' blocks daily diffs touch: what an update could share with before.

    python -m bench.touched DATA DIFF.osc.gz [DIFF...]

DATA is a dataset of the extract that the diffs apply to; each is looked at by itself. A new element
touches the block where it is put in. A column of four bytes has 1,024 rows in a page of 4 kB.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store, open_store
from mapyard.updates.changes import read_changes
from mapyard.updates.select import select_newer

#: Rows of a block of 4, 64 and 256 kB.
SIZES = (1 << 10, 1 << 14, 1 << 16)


def find_touched(store: Store, diff: Path) -> NDArray[np.int64]:
    """Return the sorted rows that changed or are gone, and those before which new ones come."""
    with tempfile.TemporaryDirectory() as folder:
        changes = select_newer(store, read_changes([diff], Path(folder) / "changed.osm.pbf"))
        found = [np.empty(0, np.int64)]
        for block in changes.blocks:
            rows = store.find_rows(block.type, block.ids)
            places = store.ids.seek(block.ids, *store.type_range(block.type))
            found.append(np.where(rows >= 0, rows, places))
    for kind in (NODE, WAY, RELATION):
        rows = store.find_rows(kind, changes.deleted[kind])
        found.append(rows[rows >= 0])
    return distinct(*found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("diffs", type=Path, nargs="+")
    arguments = parser.parse_args()
    store = open_store(arguments.data / "current" / "elements")
    print(f"{store.row_count:,} rows; blocks of {', '.join(f'{size:,}' for size in SIZES)} rows")
    for diff in arguments.diffs:
        rows = find_touched(store, diff)
        shares = []
        for size in SIZES:
            touched, count = len(np.unique(rows // size)), -(-store.row_count // size)
            shares.append(f"{touched} of {count} ({touched / count:.0%})")
        print(f"{diff.name}: {len(rows)} rows touch {', '.join(shares)}")


if __name__ == "__main__":
    main()
