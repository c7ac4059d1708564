"""What was freed goes back to the system."""

from __future__ import annotations

import asyncio

import pytest

from mapyard.server import memory


def test_trimming_is_asked_for_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(memory, "find_trim", lambda: lambda: asked.append(1))

    async def main() -> None:
        task = asyncio.ensure_future(memory.keep_trimmed(0.005))
        while len(asked) < 3:
            await asyncio.sleep(0.005)
        task.cancel()

    asyncio.run(asyncio.wait_for(main(), 10))
    assert len(asked) >= 3


def test_the_c_library_of_this_machine_can() -> None:
    trim = memory.find_trim()
    assert trim is None or trim() in (0, 1)
