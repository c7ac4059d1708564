"""Work on several cores: tasks in processes, results in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, Final

#: Tasks that wait for each process: so many results are held, not all.
_AHEAD: Final = 3


def map_in_processes[Task, Result](
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    processes: int,
    prepare: Callable[..., None],
    arguments: tuple[Any, ...],
) -> Iterator[Result]:
    """Yield the result of each task, in their order.

    Every process calls `prepare` with the arguments once. `work` and `prepare` are functions of a
    module. The processes end with this one, whatever ends it.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _begin, (prepare, arguments)) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) > _AHEAD * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)  # where nobody takes the rest


def _begin(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
