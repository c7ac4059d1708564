"""A thread that does small jobs in order; what is too much for its queue is dropped, counted."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

log = logging.getLogger(__name__)

Job = Callable[[], object]


class BoundedThread:
    """Takes jobs from any thread without ever waiting."""

    def __init__(self, name: str, most: int) -> None:
        self._most = most
        self._jobs: deque[Job] = deque()
        self._wake = threading.Event()
        self._is_closing = False
        #: Jobs that found the queue full.
        self.dropped = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> bool:
        """Queue a job; return False when there is no room."""
        if len(self._jobs) >= self._most:
            self.dropped += 1
            return False
        self._jobs.append(job)
        self._wake.set()
        return True

    def close(self, wait_s: float) -> None:
        """Do what is queued, for at most `wait_s`; then nothing more."""
        self._is_closing = True
        self._wake.set()
        self._thread.join(wait_s)

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._jobs:
                try:
                    self._jobs.popleft()()
                except Exception:  # one job's failure must not end the others
                    log.exception("a job of %s failed", self._thread.name)
            if self._is_closing:
                return
