"""What a question is asked with: the open dataset, a deadline, a memory limit."""

from __future__ import annotations

from typing import Any

from mapyard.deadline import Deadline
from mapyard.library.resources import Resources
from mapyard.library.snapshot import NoDataset, Snapshot
from mapyard.settings import Settings
from mapyard.store.reader import Store


class Call:
    """One question's surroundings; lives in one thread.

    `max_bytes` is what a query language may hold in memory; the setting, unless lowered.
    """

    __slots__ = ("_snapshot", "deadline", "max_bytes", "resources")

    def __init__(
        self,
        snapshot: Snapshot | None,
        deadline: Deadline,
        resources: Resources,
        max_bytes: int | None = None,
    ) -> None:
        self._snapshot = snapshot
        self.deadline = deadline
        self.resources = resources
        self.max_bytes = max_bytes or resources.settings.query_bytes

    @property
    def account_id(self) -> int | None:
        """Return the account that asks; None where the data folder itself is open."""
        return None

    @property
    def reader_id(self) -> int | None:
        """Return the account whose own data may be read; None for everybody's."""
        return self.account_id

    @property
    def snapshot(self) -> Snapshot:
        """Return the dataset that the question is answered from."""
        if self._snapshot is None:
            raise NoDataset("this question was asked without a dataset")
        return self._snapshot

    @property
    def store(self) -> Store:
        """Return the dataset's feature store."""
        if self._snapshot is None:
            raise NoDataset("this question was asked without a dataset")
        return self._snapshot.store

    @property
    def settings(self) -> Settings:
        """Return the settings."""
        return self.resources.settings

    def part(self, name: str) -> Any:
        """Return an open part of the dataset; raise NotInstalled where it was built without."""
        return self.snapshot.part(name)
