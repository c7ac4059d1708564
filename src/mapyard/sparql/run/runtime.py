"""What one running query has: source, terms, deadline, memory budget, and the time it began."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from mapyard.caches import call_weakly
from mapyard.deadline import Deadline
from mapyard.errors import TooLarge
from mapyard.results.plan import Recorder
from mapyard.sparql.run.term_pool import TermPool
from mapyard.sparql.sources.source import Source
from mapyard.sparql.terms.ids import Ids
from mapyard.sparql.terms.terms import XSD_DATETIME, Literal, Term

#: Rows that steps hand on at once: large enough for numpy, small enough for LIMIT and deadlines.
CHUNK_ROWS: Final = 65_536
#: Terms decoded between two looks at the deadline; geometries take longest.
_DECODED_AT_ONCE: Final = 8_192


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may hold in memory at once, and answer."""

    max_bytes: int = 1_000_000_000
    max_rows: int = 5_000_000


class Runtime:
    """State of one execution; lives in one thread."""

    def __init__(self, source: Source, deadline: Deadline, limits: Limits | None = None) -> None:
        self.source = source
        self.deadline = deadline
        self.limits = limits or Limits()
        self.pool = TermPool(source, call_weakly(self._spend_on_term))
        self.graph: int | None = None
        #: Asks other services: (pattern, seed, this) → tables.
        self.ask_remote: Callable[[Any, Any, Runtime], Iterator[Any]] | None = None
        #: Notes the steps, where somebody wants to see them.
        self.recorder: Recorder | None = None
        #: Blank nodes that BNODE made, and shapes parsed from WKT, by what they came from.
        self.made: dict[Any, Any] = {}
        self._held_bytes = 0

    @cached_property
    def now(self) -> Literal:
        """What NOW() gives throughout the query."""
        return Literal(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), XSD_DATETIME)

    def encode(self, term: Term) -> int:
        """Return the id of a term."""
        return self.pool.encode(term)

    def decode(self, ids: Ids) -> Sequence[Term | None]:
        """Return the terms of ids; the deadline is looked at in between."""
        if len(ids) <= _DECODED_AT_ONCE:
            return self.pool.decode(ids)
        terms: list[Term | None] = []
        for start in range(0, len(ids), _DECODED_AT_ONCE):
            self.deadline.check()
            terms += self.pool.decode(ids[start : start + _DECODED_AT_ONCE])
        return terms

    def room(self, nbytes: int, what: str) -> None:
        """Raise TooLarge if memory that is about to be taken is over the limit, or time is up."""
        self.deadline.check()
        if self._held_bytes + nbytes > self.limits.max_bytes:
            raise TooLarge(
                f"{what} needs {nbytes / 1e6:,.0f} MB, more than is left of the query's "
                f"{self.limits.max_bytes / 1e6:g} MB; bind more of the pattern, filter earlier, "
                "or add LIMIT",
                details={"limit_bytes": self.limits.max_bytes},
            )

    def _spend_on_term(self, nbytes: int) -> None:
        """Count what the pool keeps until the query ends."""
        self._held_bytes += nbytes
        self.room(0, "the text that the query makes")

    def hold(self, nbytes: int, rows: int, what: str) -> None:
        """Count memory that stays until a step ends; raises TooLarge over the limits."""
        self._held_bytes += nbytes
        if rows > self.limits.max_rows:
            raise TooLarge(
                f"{what} has more than {self.limits.max_rows} rows; "
                "bind more of the pattern, filter earlier, or add LIMIT",
                details={"limit": self.limits.max_rows, "count": rows},
            )
        if self._held_bytes > self.limits.max_bytes:
            raise TooLarge(
                f"{what} needs more than {self.limits.max_bytes / 1e6:g} MB; "
                "bind more of the pattern, filter earlier, or add LIMIT",
                details={"limit_bytes": self.limits.max_bytes},
            )

    def release(self, nbytes: int) -> None:
        """Give back what `hold` counted."""
        self._held_bytes -= nbytes
