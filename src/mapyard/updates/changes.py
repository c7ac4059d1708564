"""Changes out of diffs: the newest state of every changed element, as arrays.

Several diffs become one set of changes: of an element that occurs more than once the newest
version counts, whatever the order of the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import osmium
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.osm.pbf import Block, iter_blocks
from mapyard.updates.source import BadDiff

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Changes:
    """Elements as they are now (blocks sorted by type and id), and ids of deleted ones by type.

    `deleted_versions` are the versions of the deletions, 0 where unknown.
    """

    blocks: list[Block]
    deleted: list[Ints]
    deleted_versions: list[Ints]

    @property
    def changed(self) -> list[Ints]:
        """Return the ids of the elements in the blocks, by type."""
        return [
            np.concatenate([np.empty(0, np.int64), *(b.ids for b in self.blocks if b.type == kind)])
            for kind in (NODE, WAY, RELATION)
        ]

    @property
    def counts(self) -> tuple[int, int]:
        """Return how many elements changed and how many were deleted."""
        return sum(map(len, self.changed)), sum(map(len, self.deleted))


def read_changes(diffs: list[Path], changed: Path) -> Changes:
    """Read .osc or .osc.gz files; raises BadDiff for what is none.

    The elements that are not deleted are written to the sorted file `changed`.
    """
    merged = osmium.MergeInputReader()
    for path in diffs:
        try:
            merged.add_file(str(path))
        except MemoryError:
            raise
        except Exception as error:  # osmium has classes of its own, for wrong coordinates too
            path.unlink()  # the source may have mended it by the next run
            raise BadDiff(f"{path.name} is not a diff: {error}; nothing was applied") from None
    splitter = _Splitter(changed)
    merged.apply(splitter, simplify=True)
    splitter.writer.close()
    blocks = [block for block in iter_blocks(changed) if len(block.ids)]
    deleted, versions = [], []
    for pairs in splitter.deleted:
        pairs.sort()
        array = np.array(pairs, np.int64).reshape(-1, 2)
        deleted.append(array[:, 0])
        versions.append(array[:, 1])
    return Changes(blocks, deleted, versions)


class _Splitter(osmium.SimpleHandler):
    """Writes what is there to a PBF and notes what was deleted."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.writer = osmium.SimpleWriter(str(path))
        self.deleted: list[list[tuple[int, int]]] = [[], [], []]

    def node(self, item: Any) -> None:
        """Take a node."""
        if item.deleted:
            self.deleted[0].append((item.id, item.version))
        else:
            self.writer.add_node(item)

    def way(self, item: Any) -> None:
        """Take a way."""
        if item.deleted:
            self.deleted[1].append((item.id, item.version))
        else:
            self.writer.add_way(item)

    def relation(self, item: Any) -> None:
        """Take a relation."""
        if item.deleted:
            self.deleted[2].append((item.id, item.version))
        else:
            self.writer.add_relation(item)
