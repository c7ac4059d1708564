"""Rules that hold at certain hours: do they at the time that is assumed when none is asked for?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.tagging.conditions import ASSUMED
from mapyard.store.distinct import distinct

#: Rows of edge, kind of limit, modes, value.
type Limits = NDArray[np.integer[Any]]

#: Kinds of limits of an edge.
_ALLOWED, _DENIED, _FOR_ENDS = 6, 7, 8


def is_active(
    days: int, begin: tuple[int, int], end: tuple[int, int], first: tuple[int, int],
    last: tuple[int, int],
) -> bool:  # fmt: skip
    """Return whether the hours hold: a mask of days from Sunday, times, and dates (month, day)."""
    if days and not days >> (ASSUMED.isoweekday() % 7) & 1:
        return False
    if first[0] and last[0]:
        begins, ends = (first[0], first[1] or 1), (last[0], last[1] or 31)
        now = (ASSUMED.month, ASSUMED.day)
        if not (begins <= now <= ends if begins <= ends else now >= begins or now <= ends):
            return False
    time = (ASSUMED.hour, ASSUMED.minute)
    if begin == end:
        return True
    return begin <= time <= end if begin < end else time >= begin or time <= end


def _read_hours(value: int) -> bool:
    def take(low: int, width: int) -> int:
        return value >> low & ((1 << width) - 1)

    return is_active(
        take(1, 7),
        (take(8, 5), take(13, 6)),
        (take(31, 5), take(36, 6)),
        (take(19, 4), take(23, 5)),
        (take(42, 4), take(46, 5)),
    )


def find_closed(limits: Limits) -> NDArray[np.int64]:
    """Return the edges that are closed to some mode at the assumed time, and open at others."""
    edge, kind, _, value = limits.T
    timed = np.flatnonzero(np.isin(kind, (_ALLOWED, _DENIED, _FOR_ENDS)))
    active = np.array([_read_hours(hours) for hours in value[timed].tolist()], np.bool_)
    return distinct(edge[timed[active != (kind[timed] == _ALLOWED)]])


def find_ends_only(limits: Limits, count: int, access: int) -> NDArray[np.bool_]:
    """Return which of so many edges serve their ends only, for a mode, at the assumed time."""
    edge, kind, modes, value = limits.T
    timed = np.flatnonzero((modes & access > 0) & (kind == _FOR_ENDS))
    active = np.array([_read_hours(hours) for hours in value[timed].tolist()], np.bool_)
    found = np.zeros(count, np.bool_)
    found[edge[timed[active]]] = True
    return found


def close_at_hours(limits: Limits, usable: NDArray[np.bool_], access: int) -> None:
    """Take out of `usable` the edges that are closed to a mode at the assumed time."""
    edge, kind, modes, value = limits.T
    timed = np.flatnonzero((modes & access > 0) & np.isin(kind, (_ALLOWED, _DENIED)))
    active = np.array([_read_hours(hours) for hours in value[timed].tolist()], np.bool_)
    allows = kind[timed] == _ALLOWED
    usable[edge[timed[active & ~allows]]] = False
    only_then = distinct(edge[timed[allows]])
    usable[np.setdiff1d(only_then, edge[timed[active & allows]])] = False
