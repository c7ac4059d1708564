"""The build step of the part `text`: name search and geocoding, in one index.

In an update the documents that changed are written to the index of the dataset before. It is
written anew when too many are newer than the last full one; the tables of the geocoder always are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.builder.pipeline import Step, StepContext
from mapyard.builder.preflight import Estimate
from mapyard.features import search
from mapyard.geocoding import documents
from mapyard.geocoding.build import assemble, count_documents
from mapyard.geocoding.changes import plan_documents, remember_plan
from mapyard.geocoding.memo import Memo, Previous
from mapyard.geocoding.tables import write_tables
from mapyard.store.distinct import distinct
from mapyard.store.reader import open_store
from mapyard.text.index import IndexWriter

#: More fresh or deleted documents than this share slow down searches and later updates.
MAX_FRESH: Final = 0.03
_FRESH_NAMES: Final = "name_fresh_eids"


def _run(ctx: StepContext) -> Mapping[str, Any]:
    store = ctx.store
    folder = ctx.folder / "text"

    def report(stage: str) -> None:
        ctx.progress.stage(f"text: {stage}")

    memo = Memo(store, folder / "state", _find_previous(ctx))
    made = assemble(memo, report, ctx.settings.importance_file)
    report("changed documents")
    plan = plan_documents(made)
    names = _plan_names(memo)
    count = len(names.searchable) + made.count
    fresh = len(names.fresh) + int(plan.is_fresh.sum())
    deleted = int(plan.numbers.max(initial=-1)) + 1 - made.count
    is_patch = memo.previous is not None and fresh + deleted <= MAX_FRESH * count
    if is_patch:
        assert memo.previous is not None
        writer = IndexWriter(folder / "index", memo.previous.folder.parent / "index")
        writer.delete("eid", names.dropped.tolist())
        writer.delete("document", plan.dropped.tolist())
        rows, chosen = names.fresh, np.flatnonzero(plan.is_fresh)
        made.numbers, is_fresh = plan.numbers, plan.is_fresh
    else:
        writer = IndexWriter(folder / "index")
        rows, chosen = names.searchable, np.arange(made.count)
        made.numbers, is_fresh = chosen, np.zeros(made.count, np.bool_)
    report(f"writing {len(rows) + len(chosen):,} of {count:,} documents")
    search.add_documents(writer, store, rows)
    documents.add_documents(writer, made, chosen)
    write_tables(made, folder / "documents")
    memo.put(_FRESH_NAMES, store.eids(rows if is_patch else rows[:0]))
    remember_plan(made, is_fresh)
    memo.close()
    report("index")
    writer.close()
    return {"index_documents": count, "written_documents": writer.count, **count_documents(made)}


def _find_previous(ctx: StepContext) -> Previous | None:
    """Return what an update starts from; None for a build, or where nothing is remembered."""
    if ctx.previous is None or ctx.patched is None:
        return None
    state: Path = ctx.previous / "text" / "state"
    if not state.is_dir():
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
    removed = np.flatnonzero(previous.row_map < 0)
    dropped = np.concatenate([previous.store.eids(removed), store.eids(previous.touched)])
    before = store.find_eid_rows(memo.get(_FRESH_NAMES))
    changed = distinct(previous.touched, before[before >= 0])
    return _Names(searchable, np.intersect1d(searchable, changed).astype(np.uint32), dropped)


#: Measured in docs/geocoding.md.
STEP = Step("text", _run, lambda pbf: Estimate(300_000_000 + 16 * pbf, 2 * pbf))
