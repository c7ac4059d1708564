"""What a PlazaQL query found: features of all outputs, and values beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from mapyard.library.results.feature import Features, Written
from mapyard.results.pages import ATTRIBUTION

if TYPE_CHECKING:
    from mapyard.plazaql.run.outputs import Outputs


class PlazaFeatures(Features):
    """The features of a query; `members` has numbers and tables beside them."""

    @property
    def result(self) -> Any:
        """Return the value of a query that asks for one, such as .count()."""
        return self.members.get("result")


class PlazaResult(PlazaFeatures):
    """The same from a dataset: elements are found and written when looked at."""

    def __init__(self, outputs: Outputs) -> None:
        self.attribution = " | ".join([ATTRIBUTION, *outputs.attributions])
        super().__init__(members={"attribution": self.attribution, **outputs.members()})
        self.outputs = outputs

    def iter_written(self) -> Iterator[Written]:
        """Yield all features as JSON texts."""
        for chunk in self.outputs.iter_chunks():
            yield from chunk

    def _take(self, start: int, stop: int | None) -> Sequence[Written]:
        if stop is None:
            stop = self._size()
        return self.outputs.take(start, max(0, stop - start))

    def _size(self) -> int:
        return self.outputs.count()

    def stream(self, *, as_lines: bool = False) -> Iterator[bytes]:
        """Yield the whole in portions: one collection, or a feature a line."""
        chunks = self.outputs.iter_chunks()
        if as_lines:
            yield from (b"".join(feature + b"\n" for feature in chunk) for chunk in chunks)
            return
        yield orjson.dumps({"type": "FeatureCollection", **self.members})[:-1] + b',"features":['
        comma = b""
        for chunk in chunks:
            yield comma + b",".join(chunk)
            comma = b","
        yield b"]}"
