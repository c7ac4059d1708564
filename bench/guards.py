"""Instructions of one request by id, from its bytes to its answer's, without kernel and network.

Run: `python bench/guards.py`. It runs itself under valgrind (cachegrind) twice, with few and many
requests, and divides the difference: the same code gives the same count within 0.1 %, whatever else
the machine does. `--tree FOLDER` measures another checkout, with its own environment, against it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FEW, MANY = 200, 1_200


class Transport(asyncio.Transport):
    """Takes what is written; the peer is on loopback."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def get_extra_info(self, name: str, default: object = None) -> object:
        return {"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 80)}.get(name, default)

    def write(self, data: bytes) -> None:
        self.written += data.startswith(b"HTTP/1.1 200")

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        raise SystemExit("closed")

    abort = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


async def answer(data: Path, key: str, count: int) -> None:
    """Answer as many requests as told."""
    from uvicorn.server import ServerState

    from mapyard.server import worker
    from mapyard.server.assembly import build_application, build_services
    from mapyard.settings import Settings

    settings = Settings(data=data, access_log="")
    services = build_services(settings)
    application = build_application(services)
    extra = []
    try:
        from mapyard.server.connections import Connections

        extra = [Connections.of(settings)]
    except ImportError:
        pass  # an older tree
    config = worker.make_config(application, settings, *extra)
    config.load()
    protocol = config.http_protocol_class(
        config=config, server_state=ServerState(), app_state={}, _loop=asyncio.get_running_loop()
    )
    transport = Transport()
    protocol.connection_made(transport)
    request = (
        "GET /api/v1/features/way/94399684 HTTP/1.1\r\nHost: localhost\r\n"
        f"X-API-Key: {key}\r\nAccept: application/json\r\nUser-Agent: bench\r\n\r\n"
    ).encode()
    services.accounts.authenticate(key)
    # What happens by the clock would be counted by how slow this runs.
    services.accounts._lookup._next_poll_s = float("inf")
    for done in range(1, count + 1):
        protocol.data_received(request)
        while transport.written < done:
            await asyncio.sleep(0)
    application.close()
    services.accounts.close()


PREPARE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from bench.serving import prepare
print(prepare(Path(sys.argv[2]))[0])
"""


def count(python: str, data: Path, key: str, requests: int) -> int:
    """Return the instructions of a whole run."""
    command = [
        "valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
        python, __file__, "--answer", str(requests), "--data", str(data), "--key", key,
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "0"}
    )
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1].replace(",", ""))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--answer", type=int)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--key", default="")
    parser.add_argument("--tree", type=Path)
    chosen = parser.parse_args()
    if chosen.answer:
        asyncio.run(answer(chosen.data, chosen.key, chosen.answer))
        return
    if shutil.which("valgrind") is None:
        raise SystemExit("this needs valgrind")
    trees = {"this tree": (sys.executable, ROOT)}
    if chosen.tree is not None:
        trees[str(chosen.tree)] = (str(chosen.tree / ".venv/bin/python"), chosen.tree)
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name, (python, root) in trees.items():
            data = Path(folder) / str(len(found))
            data.mkdir(mode=0o700)
            prepared = subprocess.run(
                [python, "-c", PREPARE, str(root), str(data)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            key = prepared.stdout.split()[-1]
            count(python, data, key, 1)  # compiles what was never imported
            few, many = (count(python, data, key, n) for n in (FEW, MANY))
            found[name] = (many - few) / (MANY - FEW)
            print(f"{name}: {found[name]:,.0f} instructions for each request")
        first, *others = found.values()
        for other in others:
            print(f"this tree / that one: {first / other:.3f}")


if __name__ == "__main__":
    main()
