"""What an Overpass QL query found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import orjson

from mapyard.library.call import Call
from mapyard.library.results.feature import Features, Written
from mapyard.overpass.engine import Result
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.entries import Entries, list_entries
from mapyard.overpass.write.geojson import stream_features, write_page
from mapyard.overpass.write.native import write_native
from mapyard.results.pages import ATTRIBUTION


class OverpassFeatures(Features):
    """The elements as features, in the order of the query's outs."""

    @property
    def counts(self) -> list[dict[str, int]]:
        """Return the answers of `out count`."""
        found = self.members.get("count", [])
        return found if isinstance(found, list) else [found]

    @property
    def warnings(self) -> list[str]:
        """Return what the author of the query should know."""
        return list(self.members.get("warnings", ()))


class OverpassResult(OverpassFeatures):
    """The same, answered by this process: made when looked at."""

    def __init__(self, call: Call, result: Result | None, entries: Entries | None = None) -> None:
        super().__init__()
        self.call = call
        #: The sets that the query named; None where the list was kept from an earlier run.
        self.result = result
        if entries is not None:
            self.entries = entries

    @cached_property
    def entries(self) -> Entries:
        """Return the list of elements: each once."""
        assert self.result is not None
        warnings = self.result.warnings
        if self.result.settings.output == "xml":
            warnings = [*warnings, "[out:xml]: answered as GeoJSON; XML is at /api/interpreter"]
        return list_entries(self.call.store, self.result.outs, warnings, self._budget())

    @property
    def is_csv(self) -> bool:
        """Return whether the query asked for CSV."""
        return self.result is not None and self.result.settings.output == "csv"

    @property
    def counts(self) -> list[dict[str, int]]:
        """Return the answers of `out count`."""
        return [{name: int(text) for name, text in tags.items()} for tags in self.entries.counts]

    @property
    def warnings(self) -> list[str]:
        """Return what the author of the query should know."""
        return self.entries.warnings

    @property
    def members(self) -> dict[str, Any]:
        """Return time of the data, counts and warnings, as the collection has them."""
        counts, warnings = self.counts, self.warnings
        return {
            "attribution": ATTRIBUTION,
            "timestamp": self.call.snapshot.timestamp or None,
            **({"count": counts[0] if len(counts) == 1 else counts} if counts else {}),
            **({"warnings": warnings} if warnings else {}),
        }

    @members.setter
    def members(self, members: dict[str, Any]) -> None:
        """Leave the base's members out: they are derived."""

    def written_members(self) -> list[tuple[str, bytes]]:
        """Return the members but for the attribution, as (name, JSON)."""
        return [
            (name, orjson.dumps(value))
            for name, value in self.members.items()
            if name != "attribution"
        ]

    def page(self, start: int, stop: int) -> list[bytes]:
        """Return features of a range as JSON texts."""
        return write_page(self.call.store, self.entries, start, min(stop, len(self.entries)))

    def stream(self, *, as_lines: bool) -> Iterator[bytes]:
        """Yield all features as one collection, or one per line."""
        return stream_features(
            self.call.store,
            self.entries,
            self.call.deadline,
            as_lines=as_lines,
            members=self.written_members(),
        )

    def native(self, output: str = "") -> bytes | Iterator[bytes]:
        """Return the answer as the original writes it: json, xml or csv; default is its own."""
        assert self.result is not None
        return write_native(
            self.call.store,
            self.result,
            output or self.result.settings.output or "xml",
            self.call.snapshot.timestamp or "",
            self._budget(),
        )

    def _budget(self) -> Budget:
        return Budget(self.call.deadline, self.call.max_bytes)

    def _size(self) -> int:
        return len(self.entries)

    def _take(self, start: int, stop: int) -> Sequence[Written]:
        if start >= len(self.entries):
            return []
        self.call.deadline.check()
        return self.page(start, stop)
