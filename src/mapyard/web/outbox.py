"""Work that no visitor waits for: mail, and the look-ups that decide what to mail.

A form that asked whether an account exists and then sent a mail would tell by its time what it
must not tell. So the form only puts the question into this queue, always, and one thread per worker
takes care of it. The queue is bounded: what does not fit is dropped, and the log says so.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Final

from mapyard.http.services import Services

log = logging.getLogger(__name__)

MOST_WAITING: Final = 500
#: How long the end of a worker waits for what is in the queue, seconds.
END_S: Final = 5.0

Work = Callable[[], object]


class Outbox:
    """A bounded queue with one thread, which is started at the first use."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._queue: queue.Queue[Work] = queue.Queue(most_waiting)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, work: Work) -> bool:
        """Have something done soon; False when too much waits already."""
        self._start()
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            log.error("the outbox is full: a mail was not sent")
            return False
        return True

    def wait(self, timeout_s: float = END_S) -> bool:
        """Return when all is done, or after a time: whether all was done."""
        ends_s = time.monotonic() + timeout_s
        while self._queue.unfinished_tasks:
            if time.monotonic() > ends_s:
                return False
            time.sleep(0.01)
        return True

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
                self._thread.start()
                atexit.register(self.wait)

    def _run(self) -> None:
        while True:
            work = self._queue.get()
            try:
                work()
            except Exception:  # one mail's failure must not end the others
                log.exception("work of the outbox failed")
            finally:
                self._queue.task_done()


def get_outbox(services: Services) -> Outbox:
    """Return the outbox of this worker."""
    found: Outbox = services.get("web.outbox", lambda _: Outbox())
    return found
