"""A map with `await`: `mapyard.aopen` and `mapyard.aconnect`."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Any, Self

from mapyard.library.asker import Asker
from mapyard.library.methods import AsyncQuestions


class AsyncMap(AsyncQuestions):
    """The same with `await`: calls run in threads, so the event loop never waits."""

    def __init__(self, source: Asker) -> None:
        #: The map that answers.
        self.source = source

    async def _ask(self, name: str, values: dict[str, Any]) -> Any:
        cancel = values.get("cancel") or threading.Event()
        values["cancel"] = cancel
        try:
            return await asyncio.to_thread(self.source._ask, name, values)
        except asyncio.CancelledError:
            cancel.set()
            raise

    async def close(self) -> None:
        """Let everything go."""
        await asyncio.to_thread(self.source.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
