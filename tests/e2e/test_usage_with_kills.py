"""10,000 requests over eight workers, some killed: the ledger is what was answered."""

from __future__ import annotations

import http.client
import random
import threading
import time
from pathlib import Path

import psutil
import pytest
from sqlalchemy import func, select

from mapyard.accounts.database import open_database
from mapyard.accounts.models import UsageDay
from servers import running

REQUESTS, WORKERS, KILLS, THREADS = 10_000, 8, 6, 4


class Clients:
    """Threads that ask as fast as they are answered; a broken connection is opened anew."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._headers = {"X-API-Key": key}
        self._lock = threading.Lock()
        self._left = REQUESTS
        #: Answers that arrived whole, and requests whose connection broke before.
        self.answered = self.broken = 0

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while self._take():
            try:
                connection.request("GET", "/api/v1/features/node/1", headers=self._headers)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.broken += 1
                connection.close()
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
                continue
            assert answer.status == 404
            with self._lock:
                self.answered += 1
            if self.answered % 50 == 0:
                connection.close()  # another worker's turn
        connection.close()

    def _take(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_usage_is_what_was_answered(monaco_copy: Path) -> None:
    log = monaco_copy.parent / "kills.log"
    with running(monaco_copy, log, workers=WORKERS) as server:
        clients = Clients(server.port, server.key)
        threads = [threading.Thread(target=clients.run) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for i in range(KILLS):
            while clients.answered < (i + 1) * REQUESTS // (KILLS + 2):
                time.sleep(0.01)
            with_name: list[psutil.Process] = server.workers()
            random.choice(with_name).kill()
        for thread in threads:
            thread.join(200)
    # The server has stopped: all journals are entered.
    database = open_database(monaco_copy)
    with database.read() as session:
        noted, units = session.execute(
            select(func.sum(UsageDay.requests), func.sum(UsageDay.units))
        ).one()
    database.close()
    assert clients.answered + clients.broken == REQUESTS
    assert clients.broken > 0
    # A killed worker leaves at most one request in doubt per connection that it served.
    assert abs(noted - clients.answered) <= clients.broken
    assert units == noted
    assert list((monaco_copy / "usage").glob("*.journal")) == []
