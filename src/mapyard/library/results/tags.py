"""Counts of tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

from mapyard.library.results.tables import need

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class TagCount:
    """How many elements have a key (value None), or a key with a value."""

    key: str
    value: str | None
    count: int


class TagCounts(Sequence[TagCount]):
    """Keys or values with their counts, the most frequent first."""

    def __init__(self, rows: Sequence[TagCount], total: int, elements: int | None = None) -> None:
        self._rows = list(rows)
        #: Of combinations: in how many elements they were counted.
        self.elements = elements
        #: How many keys or values there are, listed or not.
        self.total = total

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> TagCount: ...
    @overload
    def __getitem__(self, index: slice) -> list[TagCount]: ...
    def __getitem__(self, index: int | slice) -> TagCount | list[TagCount]:
        return self._rows[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TagCounts) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment] # equal by content

    def __repr__(self) -> str:
        shown = ", ".join(f"{row.value or row.key} {row.count:,}" for row in self._rows[:5])
        return f"<TagCounts: {self.total} found: {shown}{', …' if self.total > 5 else ''}>"

    def to_json(self) -> dict[str, Any]:
        """Return the endpoint's answer."""
        rows = [
            {"key": row.key, "count": row.count}
            if row.value is None
            else {"key": row.key, "value": row.value, "count": row.count}
            for row in self._rows
        ]
        counted = {} if self.elements is None else {"elements": self.elements}
        return {"total": self.total, **counted, "tags": rows}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> TagCounts:
        """Return the counts that an endpoint answered."""
        rows = [TagCount(row["key"], row.get("value"), row["count"]) for row in body["tags"]]
        return cls(rows, body["total"], body.get("elements"))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame: key, value, count."""
        return need("pandas").DataFrame(
            [asdict(row) for row in self._rows], columns=["key", "value", "count"]
        )

    def _repr_html_(self) -> str:
        from mapyard.library.results.notebook import draw_table

        return draw_table(["key", "value", "count"], [asdict(row) for row in self._rows])
