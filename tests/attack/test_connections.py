"""Before a key is known: slow, many and huge connections."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from attack.doors import Door, Texts, error_of, open_door, read_all

HEAD = b"POST /api/v1/echo HTTP/1.1\r\nHost: x\r\n"


async def form(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    web = Starlette(routes=[Route("/form", form, methods=["POST"])])
    with open_door(tmp_path, web=web, max_body_bytes=1_000_000) as opened:
        yield opened


def seconds_until_closed(connection: socket.socket) -> float:
    started_s = time.monotonic()
    read_all(connection)
    return time.monotonic() - started_s


def seconds_of_dripping(connection: socket.socket, drop: bytes) -> float:
    """Send a drop ten times a second, until the server takes no more."""
    started_s = time.monotonic()
    while time.monotonic() < started_s + 15:
        try:
            connection.sendall(drop)
        except OSError:
            break
        time.sleep(0.1)
    return time.monotonic() - started_s


def test_a_silent_connection_ends(door: Door) -> None:
    with door.connect() as connection:
        assert seconds_until_closed(connection) < 10


def test_empty_lines_keep_no_connection(door: Door) -> None:
    with door.connect() as connection:
        assert seconds_of_dripping(connection, b"\r\n") < 9


@pytest.mark.parametrize("begun", [b"GET /hea", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: "])
def test_half_a_head_is_answered_408(door: Door, begun: bytes) -> None:
    error = error_of(door.ask(begun))
    assert (error["status"], error["code"]) == (408, "timeout")


def test_a_head_that_drips_is_answered_408(door: Door) -> None:
    with door.connect(b"GET /healthz HTTP/1.1\r\nX-A: ") as connection:
        connection.settimeout(0.1)
        answer, ends_s = b"", time.monotonic() + 6
        while not answer and time.monotonic() < ends_s:
            connection.sendall(b"a")
            try:
                answer = connection.recv(4_096)
            except TimeoutError:
                continue
    assert error_of(answer)["status"] == 408


def test_the_second_head_has_a_limit_too(door: Door) -> None:
    with door.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as connection:
        assert connection.recv(4_096).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /hea")
        assert error_of(read_all(connection))["status"] == 408


@pytest.mark.parametrize("path", [b"/api/v1/echo", b"/form"])
@pytest.mark.parametrize("framing", [b"Content-Length: 100\r\n", b"Transfer-Encoding: chunked\r\n"])
def test_a_body_of_which_nothing_comes_is_answered_408(
    door: Door, path: bytes, framing: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    answer = door.ask(b"POST " + path + b" HTTP/1.1\r\nHost: x\r\n" + framing + b"\r\n")
    error = error_of(answer)
    assert (error["status"], error["code"]) == (408, "timeout")
    assert not [record for record in caplog.records if record.exc_info]


def test_a_body_after_its_answer_has_one_limit_in_all(door: Door) -> None:
    head = b"POST /api/v1/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    with door.connect(head) as connection:
        assert connection.recv(4_096).startswith(b"HTTP/1.1 404")
        assert seconds_of_dripping(connection, b"a") < 9


def test_a_client_that_reads_nothing_is_given_up(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapyard.server.connections.WRITE_S", 1.0)
    text = b"a" * 900_000
    body = HEAD + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 900005\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(door.address)
        for _ in range(6):
            connection.settimeout(2)
            try:
                connection.sendall(body + b"\r\ntext=" + text)
            except OSError:
                break
        ends_s = time.monotonic() + 8
        while door.guard.open and time.monotonic() < ends_s:
            time.sleep(0.1)
        assert not door.guard.open


def test_bodies_of_all_requests_together_are_bounded(tmp_path: Path) -> None:
    head = b"POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with open_door(
        tmp_path, max_body_bytes=100_000, bodies_bytes=300_000, read_s=20
    ) as door, contextlib.ExitStack() as stack:  # fmt: skip
        started = head + b"Content-Length: 90000\r\n\r\n{" + b" " * 80_000
        held = [stack.enter_context(door.connect(started)) for _ in range(3)]
        time.sleep(0.5)
        refused = error_of(door.ask(started))
        assert (refused["status"], refused["code"]) == (503, "overloaded")
        for connection in held:
            connection.sendall(b" " * 9_998 + b"}")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        whole = head + b"Connection: close\r\nContent-Length: 90000\r\n\r\n{" + b" " * 89_998 + b"}"
        for _ in range(5):  # what was answered is not held any more
            assert door.ask(whole).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("length", [True, False])
def test_a_body_too_large_gets_a_readable_413(door: Door, length: bool) -> None:
    size = 20_000_000
    framing = b"Content-Length: %d\r\n" % size if length else b"Transfer-Encoding: chunked\r\n"
    with door.connect(HEAD + framing + b"\r\n") as connection:
        try:
            for _ in range(size // 100_000):
                if not length:
                    connection.sendall(b"186a0\r\n")
                connection.sendall(b"a" * 100_000 + (b"" if length else b"\r\n"))
        except (BrokenPipeError, ConnectionResetError):
            pytest.fail("reset before the answer could be read")
        error = error_of(read_all(connection))
    assert (error["status"], error["code"]) == (413, "too_large")
    assert error["details"]["limit"] == 1_000_000


def test_many_headers_are_answered_431(door: Door) -> None:
    lines = b"".join(b"X-%d: a\r\n" % i for i in range(20_000))
    error = error_of(door.ask(b"GET /healthz HTTP/1.1\r\n" + lines + b"\r\n"))
    assert (error["status"], error["code"]) == (431, "too_large")
    assert "headers" in error["message"] or "head" in error["message"]
    few = b"".join(b"X-%d: a\r\n" % i for i in range(90))
    answer = door.ask(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + few + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("start", [b"GET /healthz HTTP/1.1\r\nX-A: ", b"GET /"])
def test_a_huge_head_is_not_taken_into_memory(door: Door, start: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with door.connect(start) as connection:
        for _ in range(600):
            connection.sendall(b"a" * 100_000)  # 60 MB; the server takes and drops it
        error = error_of(read_all(connection))
    assert (error["status"], error["code"]) == (431, "too_large")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB


def test_a_huge_trailer_is_not_taken_into_memory(door: Door) -> None:
    with door.connect(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-T: ") as connection:
        for _ in range(100):
            connection.sendall(b"a" * 10_000)
        assert error_of(read_all(connection))["status"] == 400


def test_a_space_in_an_address_is_explained(door: Door) -> None:
    error = error_of(door.ask(b"GET /api/v1/geocode?q=Cafe de Paris HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert (error["status"], "%20" in error["message"]) == (400, True)


def test_what_is_no_request_is_answered_400(door: Door) -> None:
    assert error_of(door.ask(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"))["status"] == 400


@pytest.fixture
def door_of_texts(tmp_path: Path) -> Iterator[Door]:
    with open_door(tmp_path) as opened:
        yield opened


RAW = "GET /api/v1/echo?text=Städtle%20東 HTTP/1.1\r\n".encode()
REST = "Host: x\r\nX-Name: ä\r\nConnection: close\r\n\r\n".encode()


def text_of(answer: bytes) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), answer
    text: str = json.loads(body)["text"]
    return text


def test_an_address_may_be_typed_as_it_is_written(door_of_texts: Door) -> None:
    """curl sends what the shell hands it: UTF-8 that nobody percent-encoded."""
    assert text_of(door_of_texts.ask(RAW + REST)) == "Städtle 東"


@pytest.mark.parametrize("cut", [1, 22, 26, 27, 35, len(RAW) - 1, len(RAW), len(RAW) + 20])
def test_an_address_may_come_in_two_parts(door_of_texts: Door, cut: int) -> None:
    with door_of_texts.connect((RAW + REST)[:cut]) as connection:
        time.sleep(0.05)
        connection.sendall((RAW + REST)[cut:])
        assert text_of(read_all(connection)) == "Städtle 東"


def test_only_the_request_line_is_encoded(door_of_texts: Door) -> None:
    body = '{"text": "Städtle"}'.encode()
    head = f"POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    head += "Content-Type: application/json\r\n"
    with door_of_texts.connect(f"{head}\r\n".encode() + body) as connection:
        connection.recv(65_536)
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
        time.sleep(0.05)
        connection.sendall(body)
        assert text_of(read_all(connection)) == "Städtle"


def test_what_no_address_may_hold_is_named(door: Door) -> None:
    error = error_of(door.ask(b"GET /healthz?text=a\x01 HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert (error["status"], error["code"]) == (400, "invalid_request")
    assert "percent-encode" in error["message"]


def test_requests_sent_ahead_are_bounded(door: Door) -> None:
    with door.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 20) as connection:
        answers = b""
        while answers.count(b"HTTP/1.1 200") < 20:
            answers += connection.recv(65_536)
    with (
        door.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 5_000) as connection,
        pytest.raises(ConnectionResetError),
    ):
        read_all(connection)
    assert door.is_well()


def test_one_address_has_so_many_connections(tmp_path: Path) -> None:
    with open_door(tmp_path, per_address=5, read_s=30) as door:
        held = [door.connect() for _ in range(5)]
        time.sleep(0.2)
        error = error_of(door.ask(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))
        assert (error["status"], error["code"]) == (503, "overloaded")
        held.pop().close()
        time.sleep(0.2)
        assert door.is_well()
        for connection in held:
            connection.close()


def test_idle_connections_make_room(tmp_path: Path) -> None:
    with open_door(tmp_path, limit=5, read_s=30) as door:
        held = [door.connect()]
        time.sleep(0.2)
        held += [door.connect() for _ in range(4)]
        time.sleep(0.2)
        for _ in range(10):
            assert door.is_well()
        assert held[0].recv(1) == b""  # the one that waited longest
        for connection in held:
            connection.close()


def test_busy_connections_give_no_room(tmp_path: Path) -> None:
    with open_door(tmp_path, limit=2, read_s=30) as door:
        begun = HEAD + b"Content-Length: 10\r\n\r\n"
        held = [door.connect(begun) for _ in range(2)]
        time.sleep(0.2)
        error = error_of(door.ask(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))
        assert (error["status"], error["code"]) == (503, "overloaded")
        for connection in held:
            connection.close()


def test_no_file_can_be_opened_is_503(tmp_path: Path) -> None:
    import errno

    from mapyard.http.answer import Answer
    from mapyard.http.context import Context
    from mapyard.http.endpoints import endpoint

    @endpoint("/api/v1/open", summary="", tag="T", needs_dataset=False)
    def opens(ctx: Context, params: Texts) -> Answer:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    module = SimpleNamespace(__name__=__name__, opens=opens)
    with open_door(tmp_path, modules=[module]) as door:  # type: ignore[list-item]
        head = b"GET /api/v1/open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        error = error_of(door.ask(head))
    assert (error["status"], error["code"]) == (503, "overloaded")


def test_a_server_checks_how_many_files_it_may_open(tmp_path: Path) -> None:
    command = f"ulimit -n 64; exec {sys.executable} -m mapyard serve --port 1"
    environment = {**os.environ, "MAPYARD_DATA": str(tmp_path)}
    found = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60
    )
    assert found.returncode != 0
    assert "64 files" in found.stdout + found.stderr
    assert "ulimit -n" in found.stdout + found.stderr


def test_a_hundred_thousand_members_are_refused_at_once() -> None:
    import orjson

    from mapyard.errors import TooLarge
    from mapyard.http.body import read_body

    names = {f"k{i}": 1 for i in range(600_000)}
    for body in (names, {"tags": names}, {f"tags[k{i}]": "v" for i in range(300_000)}):
        encoded = orjson.dumps(body)
        started_s = time.thread_time()
        with pytest.raises(TooLarge):
            read_body(encoded, "application/json", {}, ())
        assert time.thread_time() - started_s < 1.5
