"""The build step: a file of its own in each new dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mapyard.builder.pipeline import Step, StepContext
from mapyard.builder.preflight import Estimate


def run(ctx: StepContext) -> Mapping[str, Any]:
    """Write how many elements have each key."""
    counts = {key: ctx.store.key_count(key) for key in ctx.store.keys}
    (ctx.folder / "census").mkdir()
    (ctx.folder / "census" / "keys.json").write_text(json.dumps(counts))
    return {"keys": len(counts)}


STEP = Step("census", run, lambda pbf_bytes: Estimate(1_000_000, 1_000_000))
