"""Parts that do not need each other, built side by side.

Each is built in a folder of its own beside the elements, which tells its files from those of
others, and moved to its place when it is whole. It is the same as when it is built alone.
"""

from __future__ import annotations

import selectors
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from mapyard.builder.memory import build_bytes
from mapyard.builder.pipeline import APART, Step, StepContext, describe_part
from mapyard.builder.preflight import available_memory_bytes
from mapyard.builder.step_process import StepProcess, Task
from mapyard.builder.steps import MODULES
from mapyard.dataset.manifest import Part

#: Of so many shares of the memory of a build, one is for what begins before there is a store.
_AHEAD_LANES: Final = 4


def can_run_apart(step: Step) -> bool:
    """Return whether a step is one of ours: those of plugins may need what others made."""
    return step.name in MODULES and step.run.__module__ == MODULES[step.name]


@contextmanager
def begin_ahead(ctx: StepContext, steps: Sequence[Step]) -> Iterator[list[StepProcess]]:
    """Begin in processes what steps can do before there is a store, which the block makes.

    They have a quarter of the memory of the build, and the block has the rest. They go on behind
    the block, but where it fails.
    """
    ahead = [step for step in steps if step.prepare]
    processes = [
        _start(ctx, step.name, lanes=_AHEAD_LANES * len(ahead), prepares=True) for step in ahead
    ]
    whole = ctx.settings
    if ahead:
        rest = build_bytes(whole) * (_AHEAD_LANES - 1) // _AHEAD_LANES
        ctx.settings = msgspec.structs.replace(whole, build_memory=rest)
    try:
        yield processes
    except BaseException:
        for process in processes:
            process.close()
            shutil.rmtree(_folder_of(ctx, process.part), ignore_errors=True)
        raise
    finally:
        ctx.settings = whole


def run_side_by_side(
    ctx: StepContext, steps: Sequence[Step], jobs: int, pbf_bytes: int, ahead: list[StepProcess]
) -> dict[str, Part]:
    """Run steps in up to `jobs` processes, as far as memory suffices; return their parts.

    `ahead` are those that began before: their steps follow when they have ended.
    """
    needs = {step.name: step.estimate(pbf_bytes) for step in steps}
    waiting = sorted((step.name for step in steps), key=lambda name: -needs[name].cpu_s)
    memory_bytes = available_memory_bytes()
    running: dict[str, tuple[StepProcess, float]] = {}
    parts: dict[str, Part] = {}
    with selectors.DefaultSelector() as selector:
        for process in ahead:
            waiting.remove(process.part)
            running[process.part] = process, time.monotonic()
            selector.register(process.fd, selectors.EVENT_READ, process)
        try:
            while waiting or running:
                for name in list(waiting):
                    held = sum(needs[other].memory_bytes for other in running)
                    fits = held + needs[name].memory_bytes <= memory_bytes
                    if len(running) < jobs and (fits or not running):
                        waiting.remove(name)
                        process = _start(ctx, name, lanes=min(jobs, len(needs)))
                        running[name] = process, time.monotonic()
                        selector.register(process.fd, selectors.EVENT_READ, process)
                for key, _ in selector.select():
                    process = key.data
                    said = process.read()
                    if process.prepares:
                        if said is None:
                            selector.unregister(process.fd)
                            process.result()
                            del running[process.part]
                            ctx.progress.lane(_ahead(process.part)).close()
                            waiting.insert(0, process.part)
                        continue
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


def _ahead(name: str) -> str:
    return f"{name} ahead"


def _folder_of(ctx: StepContext, name: str) -> Path:
    return ctx.folder / f"{APART}{name}"


def _start(ctx: StepContext, name: str, *, lanes: int = 1, prepares: bool = False) -> StepProcess:
    """Begin a step, one of so many at a time, which share the memory of the build."""
    folder = _folder_of(ctx, name)
    folder.mkdir(exist_ok=True)
    if not prepares:
        (folder / "elements").symlink_to(Path("..") / "elements")
    lane = _ahead(name) if prepares else name
    ctx.progress.lane(lane).stage(f"{name}: reading the source" if prepares else name)
    folder, source, data = (path.absolute() for path in (folder, ctx.source, ctx.data))
    share = build_bytes(ctx.settings) // lanes
    settings = msgspec.structs.replace(ctx.settings, build_memory=share)
    return StepProcess(
        Task(name, folder, source, data, settings, ctx.header, prepares, ctx.jobs, ctx.threads)
    )
