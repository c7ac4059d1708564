"""What a PlazaQL query found: features of all outputs, and values beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mapyard.library.results.feature import Features, Written
from mapyard.plazaql.run.outputs import Outputs
from mapyard.results.pages import ATTRIBUTION


class PlazaFeatures(Features):
    """The features of a query, found when looked at; `members` has numbers and tables."""

    def __init__(self, outputs: Outputs) -> None:
        super().__init__(members={"attribution": ATTRIBUTION, **outputs.members()})
        self.outputs = outputs

    @property
    def result(self) -> Any:
        """Return the value of a query that asks for one, such as .count()."""
        return self.members.get("result")

    def _take(self, start: int, stop: int | None) -> Sequence[Written]:
        if stop is None:
            stop = self._size()
        return self.outputs.take(start, max(0, stop - start))

    def _size(self) -> int:
        return self.outputs.count()
