"""All steps of a build, in order. Engines are imported only when their part is built."""

from __future__ import annotations

import importlib

from mapyard.builder.pipeline import STORE_STEP, Step
from mapyard.errors import InvalidRequest
from mapyard.plugins import list_of

#: Part name → module that has its STEP; an engine adds its line here.
MODULES: dict[str, str] = {
    "text": "mapyard.builder.text",
    "routing": "mapyard.builder.routing",
    "tiles": "mapyard.builder.tiles",
}
PART_NAMES = ("store", *MODULES)


def select_steps(only: list[str] | None = None) -> list[Step]:
    """Return the steps of the named parts, all by default; the store is always built.

    Plugins may add parts of their own.
    """
    of_plugins: dict[str, Step] = {step.name: step for step in list_of("STEPS")}
    known = (*PART_NAMES, *of_plugins)
    unknown = [name for name in only or [] if name not in known]
    if unknown:
        raise InvalidRequest.of(
            "only", f"no part {', '.join(unknown)}; parts are {', '.join(known)}"
        )
    wanted = [name for name in known[1:] if only is None or name in only]
    return [
        STORE_STEP,
        *(of_plugins.get(name) or importlib.import_module(MODULES[name]).STEP for name in wanted),
    ]
