"""The build step of the part `text`: documents of name search, in one index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mapyard.build.pipeline import Step, StepContext
from mapyard.build.preflight import Estimate
from mapyard.features.search import add_documents, find_searchable_rows
from mapyard.text.index import IndexWriter


def _run(ctx: StepContext) -> Mapping[str, Any]:
    store = ctx.store
    folder = ctx.folder / "text"
    writer = IndexWriter(folder / "index")
    ctx.progress.stage("text: names")
    add_documents(writer, store, find_searchable_rows(store))
    ctx.progress.stage("text: index")
    writer.close()
    return {"documents": writer.count}


STEP = Step("text", _run, lambda pbf: Estimate(400_000_000 + 8 * pbf, pbf))
