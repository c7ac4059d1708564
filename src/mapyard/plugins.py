"""Plugins: packages that add endpoints, questions, build steps and commands.

A package names a module under the entry point group `mapyard`:

    [project.entry-points.mapyard]
    census = "mapyard_census"

The module may have any of these, and needs none:

- `ENDPOINTS`: modules with functions declared by `@endpoint`
- `QUESTIONS`: name → module with a function declared by `@question`: a method of every map
- `STEPS`: build steps, `mapyard.builder.pipeline.Step`
- `COMMANDS`: name → `mapyard.cli.commands.Command`

See docs/develop/plugins.md and examples/plugin.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, Final

from mapyard.errors import MapyardError

GROUP: Final = "mapyard"

log = logging.getLogger(__name__)


class PluginFailed(MapyardError):  # noqa: N818
    """A plugin cannot be imported."""

    status, code = 500, "internal_error"


@lru_cache(maxsize=1)
def load_plugins() -> dict[str, Any]:
    """Return the modules of all installed plugins by name; raise PluginFailed naming the plugin."""
    modules = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            modules[entry.name] = entry.load()
        except Exception as error:  # a plugin may fail in any way; which one must be said
            raise PluginFailed(
                f"the plugin {entry.name} ({entry.value}) cannot be loaded: {error!r}; "
                "mend it, or uninstall its package"
            ) from error
        log.info("plugin %s is loaded", entry.name)
    return modules


def list_of(attribute: str) -> list[Any]:
    """Return the items of an attribute of all plugins, one after the other."""
    found: list[Any] = []
    for module in load_plugins().values():
        items: Iterable[Any] = getattr(module, attribute, ())
        found.extend(items)
    return found


def mapping_of(attribute: str) -> dict[str, Any]:
    """Return the names of an attribute of all plugins; two of one name are refused."""
    found: dict[str, Any] = {}
    for plugin, module in load_plugins().items():
        for name, value in getattr(module, attribute, {}).items():
            if name in found:
                raise PluginFailed(f"the plugin {plugin} adds {name}, which another one has")
            found[name] = value
    return found
