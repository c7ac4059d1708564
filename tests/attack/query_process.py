"""A query process with endpoints that do what no query may do."""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator

import numpy as np

from mapyard.errors import TooLarge
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import endpoint
from mapyard.params.parser import Params
from mapyard.server.queries.process import Forker
from mapyard.settings import get_settings


class Seconds(Params):
    s: float = 0.0
    n: int = 0


@endpoint("/api/v1/pid", summary="", tag="T", apart=True)
def pid(ctx: Context, params: Seconds) -> Answer:
    return Answer.json({"pid": os.getpid(), "account": ctx.account_id, "dataset": ctx.snapshot.id})


@endpoint("/api/v1/obedient", methods=("GET", "POST"), summary="", tag="T", apart=True)
def obedient(ctx: Context, params: Seconds) -> Answer:
    ends_s = time.monotonic() + params.s
    while time.monotonic() < ends_s:
        ctx.deadline.check()
        time.sleep(0.005)
    return Answer.json({"pid": os.getpid()})


@endpoint("/api/v1/native", summary="", tag="T", apart=True)
def native(ctx: Context, params: Seconds) -> Answer:
    """Native code that never looks at its deadline, nor at signals."""
    hashlib.pbkdf2_hmac("sha256", b"", b"", 1 << 30)
    return Answer.json({})


@endpoint("/api/v1/memory", summary="", tag="T", apart=True)
def memory(ctx: Context, params: Seconds) -> Answer:
    held = []
    for _ in range(100):
        held.append(np.ones(8 << 20))  # 64 MB
        time.sleep(params.s)
    return Answer.json({"held": len(held)})


@endpoint("/api/v1/crash", summary="", tag="T", apart=True)
def crash(ctx: Context, params: Seconds) -> Answer:
    ctypes.string_at(0)
    return Answer.json({})


@endpoint("/api/v1/fault", summary="", tag="T", apart=True)
def fault(ctx: Context, params: Seconds) -> Answer:
    raise RuntimeError("a fault of our own")


@endpoint("/api/v1/refuse", summary="", tag="T", apart=True)
def refuse(ctx: Context, params: Seconds) -> Answer:
    raise TooLarge("too much", details={"limit": 3}, headers={"X-Why": "because"})


@endpoint("/api/v1/stream", summary="", tag="T", apart=True)
def stream(ctx: Context, params: Seconds) -> Answer:
    def chunks() -> Iterator[bytes]:
        for i in range(params.n):
            yield b"%09d\n" % i * 10_000
        if params.s:
            raise RuntimeError("midway")

    return Answer(chunks(), "application/octet-stream")


@endpoint("/api/v1/whole", summary="", tag="T", apart=True)
def whole(ctx: Context, params: Seconds) -> Answer:
    return Answer(b"a" * params.n, "application/octet-stream")


def main(asked_fd: int) -> None:
    """Fork a child for each socket that comes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    asked = socket.socket(fileno=asked_fd)
    forker = Forker(get_settings(), asked, [sys.modules[__name__]])
    while forker.fork():
        pass


if __name__ == "__main__":
    main(int(sys.argv[1]))
