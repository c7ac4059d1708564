"""Parts with a schedule of their own: left as they are until they are due.

Building the roads is most of an update's work, and few people need those of yesterday.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from mapyard.builder.pipeline import Step, StepContext, share_file
from mapyard.dataset.manifest import Manifest, Part
from mapyard.routing.contraction.tables import find_missing, is_outdated
from mapyard.routing.meta import GraphMeta, name_engine
from mapyard.settings import Settings

#: How old the roads may get.
_ROADS_AGE: Final = {"daily": timedelta(days=1), "weekly": timedelta(days=7)}
#: A source's days are some minutes longer or shorter than a day.
_SLACK: Final = timedelta(hours=1)


def choose_kept(
    steps: list[Step], folder: Path, manifest: Manifest, timestamp: str, settings: Settings
) -> list[str]:
    """Return the parts of these steps that an update to data of a time takes over as they are."""
    age = _ROADS_AGE.get(settings.update_routing)
    part = manifest.parts.get("routing")
    if age is None or part is None or all(step.name != "routing" for step in steps):
        return []
    known = manifest.find_data_time("routing")
    if not known or not timestamp:
        return []
    if datetime.fromisoformat(timestamp) - datetime.fromisoformat(known) >= age - _SLACK:
        return []
    if find_missing(folder / "routing", settings.prepared_profiles):
        return []
    return ["routing"] if _is_whole(folder, part) and _is_of_this_engine(folder) else []


def _is_whole(folder: Path, part: Part) -> bool:
    try:
        sizes = [(folder / name).stat().st_size for name in part.files]
    except OSError:
        return False
    return bool(sizes) and sizes == [file.bytes for file in part.files.values()]


def _is_of_this_engine(folder: Path) -> bool:
    try:
        engine = GraphMeta.read(folder / "routing").engine
    except (FileNotFoundError, ValueError, KeyError):
        return False
    return engine == name_engine() and not is_outdated(folder / "routing")


def keep_part(ctx: StepContext, manifest: Manifest, name: str) -> Part:
    """Take a part over from the dataset before; its files stay the same on disk."""
    part = manifest.parts[name]
    for file in part.files:
        share_file(ctx, file)
    return msgspec.structs.replace(part, osm_timestamp=manifest.find_data_time(name))
