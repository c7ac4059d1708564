"""Virtual predicates over the store: how each is read forward, backward and whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.sparql.run.table import expand, join_indexes
from mapyard.sparql.sources.source import Context, Matches, Position
from mapyard.sparql.terms.ids import PAYLOAD, SHIFT, Ids, make_ids, spaces

Rows = NDArray[Any]
Pairs = tuple[NDArray[np.int64], Ids]  # (index into what was asked, id on the other side)

#: Rows of the first chunk and of the later ones.
_FIRST_CHUNK: Final = 4096
_CHUNK: Final = 131_072
#: Pairs given at once, but for a single row that has more.
_PAIRS: Final = 1_000_000


def chunks(length: int) -> Iterator[slice]:
    """Yield ranges that cover a length: a small one first, for LIMIT."""
    start, size = 0, _FIRST_CHUNK
    while start < length:
        yield slice(start, start + size)
        start, size = start + size, _CHUNK


class Predicate:
    """A predicate of the store. Subclasses say how pairs are found; ids of 0 are no object."""

    #: About the number of triples.
    total: int = 0
    #: Average number of objects of a subject that may have some, and the reverse; for planning.
    per_subject: float = 1.0
    per_object: float = 1.0
    #: Whether a subject has at most one object, and an object at most one subject.
    forward_is_single = False
    backward_is_single = False
    #: Whether every subject is a listed element: way, relation or tagged node.
    is_listed = False

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield (subjects, objects) of all triples in chunks."""
        raise NotImplementedError

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return (index into subjects, object) of all triples with these subjects."""
        raise NotImplementedError

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return (index into objects, subject) of all triples with these objects."""
        found: list[Pairs] = []
        unique, inverse = np.unique(objects, return_inverse=True)
        for subjects, values in self.scan(context):
            context.deadline.check()
            counts, start, order = join_indexes([unique], [values], len(unique), len(values))
            index, place = expand(counts, start)
            found.append((index, subjects[order[place]]))
        index, subjects = concat_pairs(found)
        return spread(inverse, index, subjects, len(unique))

    def subjects_of(self, term_id: int, context: Context) -> Iterator[Ids] | None:
        """Return the subjects of one object in chunks; None where `backward` finds them."""
        return None

    def count(self, context: Context) -> int:
        """Return the number of triples, counted."""
        return sum(len(subjects) for subjects, _ in self.scan(context))

    def count_subject(self, term_id: int, context: Context) -> float:
        """Return about how many triples have one subject; for planning."""
        return self.per_subject

    def count_object(self, term_id: int, context: Context) -> float:
        """Return about how many triples have one object; for planning."""
        return self.per_object

    def match(self, s: Position, o: Position, context: Context) -> Iterator[Matches]:
        """Yield the triples of this predicate, as Source.match does."""
        if s is None and o is None:
            for subjects, objects in self.scan(context):
                yield Matches(len(subjects), None, subject=subjects, object=objects)
            return
        if s is None and isinstance(o, int):
            streamed = self.subjects_of(o, context)
            if streamed is not None:
                for subjects in streamed:
                    yield Matches(len(subjects), None, subject=subjects)
                return
        # With both ends given, the end that has but one other end is asked.
        is_backward = s is None or (o is not None and self.backward_is_single)
        asked, other = (o, s) if is_backward else (s, o)
        assert asked is not None
        is_array = isinstance(s, np.ndarray) or isinstance(o, np.ndarray)
        length = len(s) if isinstance(s, np.ndarray) else len(o) if isinstance(o, np.ndarray) else 1
        ids = asked if isinstance(asked, np.ndarray) else np.full(length, asked, np.int64)
        for index, found in self._look(ids, is_backward, context):
            rows = index
            if other is not None:
                wanted = other[rows] if isinstance(other, np.ndarray) else other
                keep = found == wanted
                rows, found = rows[keep], found[keep]
            yield Matches(
                len(rows),
                rows if is_array else None,
                subject=found if s is None else None,
                object=found if o is None else None,
            )

    def _look(self, ids: Ids, is_backward: bool, context: Context) -> Iterator[Pairs]:
        """Yield (index into ids, other end) in portions whose size is bounded."""
        look = self.backward if is_backward else self.forward
        is_single = self.backward_is_single if is_backward else self.forward_is_single
        for part in chunks(len(ids)):
            context.deadline.check()
            if is_single or len(ids) == 1:
                index, found = look(ids[part], context)
                yield index + part.start, found
                continue
            # One end may have many others: each distinct one is asked once, then spread.
            unique, inverse = np.unique(ids[part], return_inverse=True)
            index, found = look(unique, context)
            found = found[np.argsort(index, kind="stable")]
            counts = np.bincount(index, minlength=len(unique))
            first = (np.cumsum(counts) - counts)[inverse]
            per_row = counts[inverse]
            ends = np.cumsum(per_row)
            start = 0
            while start < len(inverse):
                context.deadline.check()
                done = int(ends[start - 1]) if start else 0
                stop = max(start + 1, int(np.searchsorted(ends, done + _PAIRS, side="right")))
                rows, place = expand(per_row[start:stop], first[start:stop])
                yield rows + (start + part.start), found[place]
                start = stop


class ColumnPredicate(Predicate):
    """At most one object per subject, and that a function of its row."""

    forward_is_single = True

    def __init__(
        self,
        rows: Callable[[], Rows | range],
        values: Callable[[Rows, Context], Ids],
        *,
        subject_space: int,
        total: int | None = None,
        per_object: float = 1.0,
        find: Callable[[Ids, Context], tuple[NDArray[np.int64], Rows]] | None = None,
        is_listed: bool = False,
        is_total: bool = True,
        count: Callable[[], int] | None = None,
    ) -> None:
        """Make the predicate.

        Args:
            rows: the sorted rows that may have it, or a range of rows.
            values: ids of the objects of rows, 0 for none.
            subject_space: of the subjects' ids.
            total: number of triples when fewer than the rows.
            per_object: average number of subjects of an object.
            find: (index into objects, row) for objects; None where only a scan finds them.
            is_listed: every subject is listed.
            is_total: every row of `rows` has a value.
            count: the exact number of triples where that is cheaper than to look at all.
        """
        self._rows = rows
        self._values = values
        self._subject_space = subject_space
        self._total = total
        self.per_object = per_object
        self._find = find
        self.is_listed = is_listed
        self._is_total = is_total
        self._count = count

    @property
    def total(self) -> int:  # type: ignore[override] # counted when asked
        """Number of triples, at most."""
        return len(self._rows()) if self._total is None else self._total

    def count(self, context: Context) -> int:
        """Return the number of triples, counted."""
        return super().count(context) if self._count is None else self._count()

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield all triples."""
        rows = self._rows()
        for part in chunks(len(rows)):
            context.deadline.check()
            chosen = rows[part]
            if isinstance(chosen, range):
                chosen = np.arange(chosen.start, chosen.stop)
            objects = self._values(chosen, context)
            subjects = make_ids(self._subject_space, chosen)
            if not self._is_total:
                keep = objects != 0
                subjects, objects = subjects[keep], objects[keep]
            yield subjects, objects

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return the objects of subjects."""
        index = np.flatnonzero(spaces(subjects) == self._subject_space)
        rows = subjects[index] & PAYLOAD
        known = self._rows()
        if not len(known) or not len(index):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if isinstance(known, range):
            keep = (rows >= known.start) & (rows < known.stop)
        else:
            place = np.searchsorted(known, rows.astype(known.dtype))
            place[place == len(known)] = 0
            keep = known[place] == rows
        if not keep.all():
            index, rows = index[keep], rows[keep]
        objects = self._values(rows, context)
        if not self._is_total:
            keep = objects != 0
            index, objects = index[keep], objects[keep]
        return index, objects

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return the subjects of objects."""
        if self._find is None:
            return super().backward(objects, context)
        index, rows = self._find(objects, context)
        return index, make_ids(self._subject_space, rows)


def concat_pairs(pairs: list[Pairs]) -> Pairs:
    """Return all pairs in one."""
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if len(pairs) == 1:
        return pairs[0]
    return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])


def spread(inverse: NDArray[np.int64], index: NDArray[np.int64], ids: Ids, count: int) -> Pairs:
    """Return pairs found for `count` distinct terms as pairs for the terms they stand for."""
    counts = np.bincount(index, minlength=count)
    order = np.argsort(index, kind="stable")
    start = np.cumsum(counts) - counts
    rows, place = expand(counts[inverse], start[inverse])
    return rows, ids[order[place]]


def of_space(ids: Ids, space: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where ids are of a space, and their payloads there."""
    index = np.flatnonzero(ids >> SHIFT == space)
    return index, ids[index] & PAYLOAD
