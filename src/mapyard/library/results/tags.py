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
    """How many elements have a key (value None), or a key with a value.

    `history` holds (date, count) of the days after which the count was another one, oldest first;
    None where it was not asked for.
    """

    key: str
    value: str | None
    count: int
    history: tuple[tuple[str, int], ...] | None = None


class TagCounts(Sequence[TagCount]):
    """Keys or values with their counts, the most frequent first."""

    def __init__(
        self,
        rows: Sequence[TagCount],
        total: int,
        elements: int | None = None,
        history: tuple[tuple[str, int], ...] | None = None,
    ) -> None:
        self._rows = list(rows)
        #: Of the values of a key: (date, count) of the key itself, where it was asked for.
        self.history = history
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
        counted = {} if self.elements is None else {"elements": self.elements}
        history = {} if self.history is None else {"history": _days_json(self.history)}
        rows = [_row_json(row) for row in self._rows]
        return {"total": self.total, **counted, **history, "tags": rows}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> TagCounts:
        """Return the counts that an endpoint answered."""
        return cls(
            [_row_of(row) for row in body["tags"]],
            body["total"],
            body.get("elements"),
            _days_of(body),
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame: key, value, count, and history where it was asked for."""
        columns = ["key", "value", "count"]
        if any(row.history is not None for row in self._rows):
            columns.append("history")
        return need("pandas").DataFrame([asdict(row) for row in self._rows], columns=columns)

    def _repr_html_(self) -> str:
        from mapyard.library.results.notebook import draw_table

        return draw_table(["key", "value", "count"], [asdict(row) for row in self._rows])


def _row_json(row: TagCount) -> dict[str, Any]:
    body: dict[str, Any] = {"key": row.key}
    if row.value is not None:
        body["value"] = row.value
    body["count"] = row.count
    if row.history is not None:
        body["history"] = _days_json(row.history)
    return body


def _days_json(days: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    return [{"date": date, "count": count} for date, count in days]


def _days_of(body: Mapping[str, Any]) -> tuple[tuple[str, int], ...] | None:
    days = body.get("history")
    return None if days is None else tuple((day["date"], day["count"]) for day in days)


def _row_of(body: Mapping[str, Any]) -> TagCount:
    return TagCount(body["key"], body.get("value"), body["count"], _days_of(body))
