"""Parts that do not need each other, built side by side.

Each is built in a folder of its own beside the elements, which tells its files from those of
others, and moved to its place when it is whole. It is the same as when it is built alone.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mapyard.builder.pipeline import Step, StepContext, describe_part
from mapyard.builder.preflight import available_memory_bytes
from mapyard.builder.step_process import StepProcess, Task
from mapyard.builder.steps import MODULES
from mapyard.dataset.manifest import Part

_FOLDER: Final = ".part-"


def can_run_apart(step: Step) -> bool:
    """Return whether a step is one of ours: those of plugins may need what others made."""
    return step.name in MODULES and step.run.__module__ == MODULES[step.name]


def run_side_by_side(
    ctx: StepContext, steps: Sequence[Step], jobs: int, pbf_bytes: int
) -> dict[str, Part]:
    """Run steps in up to `jobs` processes, as far as memory suffices; return their parts."""
    needs = {step.name: step.estimate(pbf_bytes) for step in steps}
    waiting = sorted((step.name for step in steps), key=lambda name: -needs[name].cpu_s)
    memory_bytes = available_memory_bytes()
    running: dict[str, tuple[StepProcess, float]] = {}
    parts: dict[str, Part] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                for name in list(waiting):
                    held = sum(needs[other].memory_bytes for other in running)
                    fits = held + needs[name].memory_bytes <= memory_bytes
                    if len(running) < jobs and (fits or not running):
                        waiting.remove(name)
                        process = _start(ctx, name)
                        running[name] = process, time.monotonic()
                        selector.register(process.fd, selectors.EVENT_READ, process)
                for key, _ in selector.select():
                    process = key.data
                    said = process.read()
                    lane = ctx.progress.lane(process.part)
                    for word in said or ():
                        if "stage" in word:
                            lane.stage(word["stage"], word["total"], word["unit"])
                        elif "done" in word:
                            lane.advance(word["done"])
                    if said is None:
                        selector.unregister(process.fd)
                        _, begun_s = running.pop(process.part)
                        lane.close()
                        figures = process.result()
                        seconds = time.monotonic() - begun_s
                        folder = _folder_of(ctx, process.part)
                        (folder / "elements").unlink()
                        parts[process.part] = describe_part(folder, set(), seconds, figures)
                        for path in folder.iterdir():
                            path.rename(ctx.folder / path.name)
                        folder.rmdir()
        finally:
            for process, _ in running.values():
                process.close()
    return {step.name: parts[step.name] for step in steps}


def _folder_of(ctx: StepContext, name: str) -> Path:
    return ctx.folder / f"{_FOLDER}{name}"


def _start(ctx: StepContext, name: str) -> StepProcess:
    folder = _folder_of(ctx, name)
    folder.mkdir()
    (folder / "elements").symlink_to(Path("..") / "elements")
    ctx.progress.lane(name).stage(name)
    folder, source, data = (path.absolute() for path in (folder, ctx.source, ctx.data))
    return StepProcess(Task(name, folder, source, data, ctx.settings, ctx.header))
