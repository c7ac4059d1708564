"""The build step of the part `text`: name search and geocoding, in one index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mapyard.build.pipeline import Step, StepContext
from mapyard.build.preflight import Estimate
from mapyard.features.search import add_documents, find_searchable_rows
from mapyard.geocoding.build import build_geocoder
from mapyard.text.index import IndexWriter


def _run(ctx: StepContext) -> Mapping[str, Any]:
    store = ctx.store
    folder = ctx.folder / "text"
    writer = IndexWriter(folder / "index")
    ctx.progress.stage("text: names")
    add_documents(writer, store, find_searchable_rows(store))
    figures = build_geocoder(
        store,
        folder,
        writer,
        lambda stage: ctx.progress.stage(f"text: {stage}"),
        ctx.settings.importance_file,
    )
    ctx.progress.stage("text: index")
    writer.close()
    return {"index_documents": writer.count, **figures}


#: Measured in docs/geocoding.md.
STEP = Step("text", _run, lambda pbf: Estimate(300_000_000 + 16 * pbf, 2 * pbf))
