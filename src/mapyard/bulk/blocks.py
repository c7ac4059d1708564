"""What readers, tasks and writers hand on: some rows of a file, and what was answered for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from mapyard.errors import MapyardError

#: Values of a column. A shape is WKT in CSV, GeoJSON in NDJSON, WKB in Parquet.
type Kind = Literal["truth", "integer", "number", "text", "json", "shape"]

#: The column that says what is wrong with a row; empty where nothing is.
ERROR: Final = "error"


class BulkFailed(MapyardError):  # noqa: N818 - as in errors.py, named after what it means
    """A job that cannot be run, or cannot go on; the message says what to do."""

    status, code = 422, "validation_failed"


class Column(NamedTuple):
    """A column that a task adds."""

    name: str
    kind: Kind


@dataclass
class Block:
    """Consecutive rows of the input."""

    number: int
    #: Values by column, as the file has them; None where they are in `table`.
    rows: list[dict[str, Any]] | None
    #: Place in the block → why this row cannot be read.
    problems: dict[int, str] = field(default_factory=dict)
    #: The rows as an Arrow table, where they came so.
    table: Any = None

    def __len__(self) -> int:
        return self.table.num_rows if self.rows is None else len(self.rows)

    def get_rows(self, columns: Sequence[str] | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the rows as mappings; of a table only these columns, all by default."""
        if self.rows is not None:
            return self.rows
        table = self.table if columns is None else self.table.select(list(columns))
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows


@dataclass
class Answers:
    """The values of the added columns, a list for each; `error` is one of them."""

    values: dict[str, list[Any]]
    #: Per answer the place of its row in the block; None: one for each, in order.
    places: list[int] | None = None

    @property
    def failed(self) -> int:
        """Return how many answers are errors."""
        return sum(1 for text in self.values[ERROR] if text)
