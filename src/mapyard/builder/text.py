"""The build step of the part `text`: the index of name search, postings and tables of the geocoder.

In an update the names that changed are written to the index of the dataset before, and beside the
names by place. Both are written anew when too many are newer than the last full ones. Postings and
tables are always written whole; what did not change in the postings is taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.builder.memory import array_bytes, sort_bytes
from mapyard.builder.pipeline import Step, StepContext
from mapyard.builder.preflight import Estimate
from mapyard.features import search
from mapyard.features.by_place import PlacedWriter
from mapyard.geocoding.build import documents
from mapyard.geocoding.build.assemble import assemble, count_documents
from mapyard.geocoding.build.assembly import Assembly
from mapyard.geocoding.build.changes import Plan, plan_documents, remember_words
from mapyard.geocoding.build.memo import Memo, Previous
from mapyard.geocoding.build.tables import write_tables
from mapyard.geocoding.search.postings import PostingsWriter, open_postings
from mapyard.settings import get_settings
from mapyard.store.distinct import distinct
from mapyard.store.reader import open_store
from mapyard.store.sorted import find_sorted
from mapyard.store.spill import give_back_freed, spill_arrays
from mapyard.text.index import IndexWriter

#: More fresh or deleted documents than this share slow down searches and later updates.
MAX_FRESH: Final = 0.03
#: Sorting is given so much less than arrays: those of the assembly are held meanwhile.
_SHARE_OF_SORTS: Final = 8
_FRESH_NAMES: Final = "name_fresh_eids"


def _run(ctx: StepContext) -> Mapping[str, Any]:
    folder = ctx.folder / "text"
    folder.mkdir(exist_ok=True)
    with spill_arrays(folder, array_bytes(ctx.settings)):
        return _build(ctx, folder)


def _build(ctx: StepContext, folder: Path) -> Mapping[str, Any]:
    store = ctx.store

    def report(stage: str) -> None:
        if ctx.previous is None:  # in an update little is made
            give_back_freed()
        ctx.progress.stage(f"text: {stage}")

    memo = Memo(store, folder / "state", _find_previous(ctx))
    made = assemble(memo, report, ctx.settings.importance_file)
    report("changed documents")
    plan = plan_documents(made)
    names = _plan_names(memo)
    report(f"reading {len(plan.fresh):,} of {made.count:,} documents")
    memory_bytes = sort_bytes(ctx.settings) // _SHARE_OF_SORTS
    linked = _write_postings(made, plan, folder, memory_bytes)
    write_tables(made, folder / "documents")
    remember_words(made)
    figures, documents, fresh = count_documents(made), made.count, len(plan.fresh)
    del made, plan  # what names need is in the store
    is_patch = memo.previous is not None and len(names.fresh) <= MAX_FRESH * len(names.searchable)
    rows = names.fresh if is_patch else names.searchable
    report(f"writing {len(rows):,} of {len(names.searchable):,} names")
    if is_patch:
        assert memo.previous is not None
        before = memo.previous.folder.parent
        writer = IndexWriter(folder / "index", before / "index")
        placed = PlacedWriter(folder / "placed", before / "placed", names.dropped)
        writer.delete("eid", names.dropped.tolist())
    else:
        writer, placed = IndexWriter(folder / "index"), PlacedWriter(folder / "placed")
    search.add_documents(writer, placed, store, rows)
    memo.put(_FRESH_NAMES, store.eids(rows if is_patch else rows[:0]))
    memo.close()
    report("index")
    writer.close()
    placed.close()
    linked += [*writer.linked, *placed.linked]
    ctx.shared |= {str(path.relative_to(ctx.folder)) for path in linked}
    count, written = len(names.searchable) + documents, writer.count + fresh
    return {"index_documents": count, "written_documents": written, **figures}


def _write_postings(made: Assembly, plan: Plan, folder: Path, memory_bytes: int) -> list[Path]:
    """Write the postings; return the files that are those of the dataset before."""
    writer = PostingsWriter(folder / "postings", memory_bytes)
    if made.memo.previous is not None:
        before = open_postings(made.memo.previous.folder.parent)
        writer.take_over(before, plan.kept)
    documents.add_documents(writer, made, plan.fresh)
    return writer.close()


def _find_previous(ctx: StepContext) -> Previous | None:
    """Return what an update starts from; None for a build, or where nothing is remembered."""
    if ctx.previous is None or ctx.patched is None:
        return None
    state: Path = ctx.previous / "text" / "state"
    if not state.is_dir() or not (state.parent / "postings").is_dir():
        return None
    old = open_store(ctx.previous / "elements")
    return Previous(state, old, ctx.patched.row_map, ctx.patched.touched)


class _Names(NamedTuple):
    """Rows that can be searched by name, those of them to be written again, eids to be deleted."""

    searchable: NDArray[np.uint32]
    fresh: NDArray[np.uint32]
    dropped: NDArray[np.int64]


def _plan_names(memo: Memo) -> _Names:
    searchable = search.find_searchable_rows(memo.store)
    if memo.previous is None:
        return _Names(searchable, searchable[:0], np.empty(0, np.int64))
    previous, store = memo.previous, memo.store
    removed = previous.row_map.gone
    dropped = np.concatenate([previous.store.eids(removed), store.eids(previous.touched)])
    before = store.find_eid_rows(memo.get(_FRESH_NAMES))
    changed = distinct(previous.touched, before[before >= 0]).astype(np.uint32)
    fresh = changed[find_sorted(searchable, changed) >= 0]
    return _Names(searchable, fresh, dropped)


def _estimate(pbf: int) -> Estimate:
    """Measured in docs/sizing.md. Arrays are bounded, names and places are held."""
    bounded = 100_000_000 + round(0.8 * pbf) + array_bytes(get_settings())
    return Estimate(min(150_000_000 + 4 * pbf, bounded), 3 * pbf, 0.4 + 0.27e-6 * pbf)


STEP = Step("text", _run, _estimate)
