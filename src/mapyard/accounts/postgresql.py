"""Time limits for PostgreSQL: a server or proxy that falls silent holds nobody for long.

The server's own limits end what it works on too long. They do not help when nothing comes through:
so each wait for its answer has a limit on our side too, after which the connection is closed.

A machine that vanishes in the middle of a batch keeps its locks whatever these limits are, since
the server waits for the rest of the batch: only keepalives tell it that nobody is there.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.errors import _WaitTimeout
from sqlalchemy import event
from sqlalchemy.engine import Engine

CONNECT_S: Final = 5
#: A peer that is gone is noticed after 10 + 3 x 5 s.
_KEEPALIVES: Final = (
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
)


def limit_time(engine: Engine, limit_s: float) -> None:
    """Let the engine's connections wait at most `limit_s` for each answer."""
    limit_ms = int(limit_s * 1_000)

    class Limited(psycopg.Connection[Any]):
        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            try:
                return super().wait(gen, interval, limit_s if timeout is None else timeout)
            except _WaitTimeout:
                self.pgconn.finish()
                raise psycopg.OperationalError(f"no answer within {limit_s:g} s") from None

    def connect(_dialect: Any, _record: Any, args: Any, options: dict[str, Any]) -> Any:
        options.setdefault("connect_timeout", CONNECT_S)
        options.setdefault("tcp_user_timeout", limit_ms)
        given = options.get("options", "")
        options["options"] = (
            f"-c statement_timeout={limit_ms} -c lock_timeout={limit_ms} "
            f"-c idle_in_transaction_session_timeout={2 * limit_ms} "
            f"-c tcp_user_timeout={limit_ms} {_KEEPALIVES} {given}"
        ).strip()
        return Limited.connect(*args, **options)

    event.listen(engine, "do_connect", connect)
