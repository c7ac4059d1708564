"""Remove generations that nobody will open any more from object storage."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from mapyard.fleet.generation import CURRENT_NAME, Generation, Region
from mapyard.fleet.objects import Objects


class Pruned(NamedTuple):
    """Ids of the generations that stay and that go, and the files that go with them."""

    kept: list[str]
    gone: list[str]
    files: list[str]


def plan_pruning(objects: Objects, keep: int) -> Pruned:
    """Return what goes when the newest `keep` generations stay, and the one that is current.

    A dataset goes when no generation that stays has it; with it goes the note that it is built, so
    that a build of the same data makes it again. Uploaded sources stay.
    """
    current = objects.get(CURRENT_NAME)
    current_id = msgspec.json.decode(current)["generation"] if current else ""
    generations = []
    for name in objects.list("generations/"):
        text = objects.get(name)
        if text is not None:
            generations.append(msgspec.json.decode(text, type=Generation))
    generations.sort(key=lambda generation: (generation.created, generation.id), reverse=True)
    kept = [
        generation for place, generation in enumerate(generations)
        if place < keep or generation.id == current_id
    ]  # fmt: skip
    gone = [generation for generation in generations if generation not in kept]
    needed = {(region.name, region.dataset) for one in kept for region in one.regions}
    unneeded = {(region.name, region.dataset) for one in gone for region in one.regions} - needed
    files = [
        name for region, dataset in sorted(unneeded)
        for name in objects.list(f"datasets/{region}/{dataset}/")
    ]  # fmt: skip
    for name in objects.list("builds/"):
        text = objects.get(name)
        if text is not None:
            built = msgspec.json.decode(text, type=Region)
            if (built.name, built.dataset) in unneeded:
                files.append(name)
    files += [f"generations/{generation.id}.json" for generation in gone]
    return Pruned([one.id for one in kept], [one.id for one in gone], files)


def prune(objects: Objects, pruned: Pruned) -> None:
    """Remove what a plan names: the generations' manifests first, so that nobody opens them."""
    manifests = [f"generations/{name}.json" for name in pruned.gone]
    objects.delete(manifests)
    objects.delete([name for name in pruned.files if name not in manifests])
