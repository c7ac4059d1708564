"""Remove from object storage what no generation that stays refers to.

A generation goes in three steps: its manifest is set aside under pruning/, so that nobody opens it;
its files are removed; at last the manifest that was set aside. So a run that is stopped is finished
by the next one. What belongs to no generation at all (of builds that failed, extracts that were
built) goes when it is old: younger ones may be of a build that is running.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from mapyard.fleet.generation import CURRENT_NAME, Generation, Region
from mapyard.fleet.objects import Objects

_MANIFESTS: Final = "generations/"
_ASIDE: Final = "pruning/"
#: How long what belongs to no generation stays, days.
OLD_DAYS: Final = 7.0


class Pruned(NamedTuple):
    """Ids of the generations that stay and that go, and the files that go."""

    kept: list[str]
    gone: list[str]
    #: Of generations that go, and of none.
    files: list[str]


def plan_pruning(objects: Objects, keep: int, old_days: float = OLD_DAYS) -> Pruned:
    """Return what goes when the newest `keep` generations stay.

    The current one stays anyway, and the one before it. A dataset goes when no generation that
    stays has it; with it goes the note that it is built, so that a build of the same data makes it
    again.
    """
    current = objects.get(CURRENT_NAME)
    current_id = msgspec.json.decode(current)["generation"] if current else ""
    generations = _read_all(objects, _MANIFESTS)
    generations.sort(key=lambda generation: (generation.created, generation.id), reverse=True)
    ids = [generation.id for generation in generations]
    at = ids.index(current_id) if current_id in ids else 0
    kept = [
        generation for place, generation in enumerate(generations)
        if place < keep or at <= place <= at + 1
    ]  # fmt: skip
    gone = [generation for generation in generations if generation not in kept]
    gone += _read_all(objects, _ASIDE)
    old = datetime.now(UTC) - timedelta(days=old_days)
    needed = _list_wholes(kept)
    ended = _list_wholes(gone) - needed
    files = []
    aged = set(objects.list("builds/", old))
    for name in objects.list("builds/"):
        text = objects.get(name)
        if text is None:
            continue
        built = msgspec.json.decode(text, type=Region)
        dataset = f"datasets/{built.name}/{built.dataset}"
        if dataset not in needed and (dataset in ended or name in aged):
            files.append(name)
    # A note goes before what it tells of: what has none is made again.
    for folder in ("datasets/", "elevation/", "sources/"):
        aged = set(objects.list(folder, old))
        for name in sorted(objects.list(folder), key=lambda name: (not name.endswith(".ok"), name)):
            whole = _find_whole(name)
            if whole not in needed and (whole in ended or name in aged):
                files.append(name)
    return Pruned([one.id for one in kept], [one.id for one in gone], files)


def prune(objects: Objects, pruned: Pruned) -> None:
    """Remove what a plan names."""
    for name in pruned.gone:
        text = objects.get(f"{_MANIFESTS}{name}.json")
        if text is not None:
            objects.put(f"{_ASIDE}{name}.json", text)
            objects.delete([f"{_MANIFESTS}{name}.json"])
    objects.delete(pruned.files)
    objects.delete([f"{_ASIDE}{name}.json" for name in pruned.gone])


def _read_all(objects: Objects, folder: str) -> list[Generation]:
    texts = [objects.get(name) for name in objects.list(folder)]
    return [msgspec.json.decode(text, type=Generation) for text in texts if text is not None]


def _list_wholes(generations: Sequence[Generation]) -> set[str]:
    """Return the datasets and rasters of generations, by the beginnings of their names."""
    found = {f"datasets/{r.name}/{r.dataset}" for one in generations for r in one.regions}
    return found | {raster.place for one in generations for raster in one.rasters}


def _find_whole(name: str) -> str:
    """Return what a file belongs to: its dataset, or the raster that it is the note of."""
    if name.startswith("datasets/"):
        return "/".join(name.split("/")[:3])
    return name.removesuffix(".ok")
