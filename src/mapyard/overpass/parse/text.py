"""The text of a query and places in it, for errors that name line, column and a hint."""

from __future__ import annotations

from bisect import bisect_right

from mapyard.errors import InvalidQuery, Unsupported


class Source:
    """A query text after macro expansion, with the way back to what the user wrote.

    `shifts` are (offset here, offset in `original`) pairs, ascending: where expanded pieces begin.
    """

    def __init__(
        self, text: str, original: str | None = None, shifts: list[tuple[int, int]] | None = None
    ) -> None:
        self.text = text
        self.original = text if original is None else original
        self._shifts = shifts or [(0, 0)]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of an offset, as the user wrote it."""
        index = bisect_right(self._shifts, (offset, len(self.original) + 1)) - 1
        here, there = self._shifts[max(index, 0)]
        end = self._shifts[index + 1][1] if index + 1 < len(self._shifts) else len(self.original)
        place = min(there + max(offset - here, 0), max(end, there), len(self.original))
        line_start = self.original.rfind("\n", 0, place) + 1
        return self.original.count("\n", 0, place) + 1, place - line_start + 1

    def error(self, offset: int, message: str, hint: str = "") -> InvalidQuery:
        """Return the error for an offset."""
        line, column = self.position(offset)
        return InvalidQuery.at(message, line, column, hint)

    def unsupported(self, offset: int, what: str, instead: str) -> Unsupported:
        """Return the refusal of something well-formed, with the way around it."""
        line, column = self.position(offset)
        return Unsupported(
            f"line {line}, column {column}: {what} is not served here; {instead}",
            details={"line": line, "column": column, "statement": what, "hint": instead},
        )
