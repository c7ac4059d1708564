"""All steps of a build, in order. Engines are imported only when their part is built."""

from __future__ import annotations

import importlib

from mapyard.build.pipeline import STORE_STEP, Step
from mapyard.errors import InvalidRequest

#: Part name → module that has its STEP; an engine adds its line here.
MODULES: dict[str, str] = {
    "text": "mapyard.build.text",
    "routing": "mapyard.build.routing",
    "tiles": "mapyard.build.tiles",
}
PART_NAMES = ("store", *MODULES)


def select_steps(only: list[str] | None = None) -> list[Step]:
    """Return the steps of the named parts, all by default; the store is always built."""
    unknown = [name for name in only or [] if name not in PART_NAMES]
    if unknown:
        raise InvalidRequest.of(
            "only", f"no part {', '.join(unknown)}; parts are {', '.join(PART_NAMES)}"
        )
    wanted = [name for name in MODULES if only is None or name in only]
    return [STORE_STEP, *(importlib.import_module(MODULES[name]).STEP for name in wanted)]
