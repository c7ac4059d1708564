"""An exact sliding window: the times of admissions in a ring of 64-bit words.

`words` is a writable memoryview of int64 laid out as head, tail, capacity, then one slot per
admission: number `i` lies in slot `i % capacity`. `head` admissions were ever made, `tail` is the
first that may still be inside the window. Times are nanoseconds of the machine's monotonic clock,
which all processes share and which no change of the wall clock moves. The callers hold a lock.
"""

from __future__ import annotations

from typing import Final

HEAD: Final = 0
TAIL: Final = 1
CAPACITY: Final = 2
STAMPS: Final = 3

Words = memoryview


def words_needed(capacity: int) -> int:
    """Return the length of a ring of this capacity."""
    return STAMPS + capacity


def count_recent(words: Words, now_ns: int, window_ns: int) -> int:
    """Return how many admissions are younger than the window; moves the tail past the others."""
    head, tail, capacity = words[HEAD], words[TAIL], words[CAPACITY]
    if head == tail:
        return 0
    if words[STAMPS + (head - 1) % capacity] > now_ns:
        _survive_reboot(words, now_ns)
    horizon_ns = now_ns - window_ns
    if words[STAMPS + tail % capacity] > horizon_ns:
        return int(head - tail)
    low, high = tail + 1, head  # the stamps rise: search the first inside the window
    while low < high:
        middle = (low + high) // 2
        if words[STAMPS + middle % capacity] > horizon_ns:
            high = middle
        else:
            low = middle + 1
    words[TAIL] = low
    return int(head - low)


def push(words: Words, now_ns: int) -> None:
    """Note one admission. The slot is written before the head: a crash between adds nothing."""
    head = words[HEAD]
    words[STAMPS + head % words[CAPACITY]] = now_ns
    words[HEAD] = head + 1


def pop(words: Words) -> None:
    """Forget the newest admission inside the window, if there is one."""
    if words[HEAD] > words[TAIL]:
        words[HEAD] -= 1


def free_at_ns(words: Words, window_ns: int, limit: int) -> int:
    """Return when a full window (count ≥ limit) will admit the next one."""
    return int(words[STAMPS + (words[HEAD] - limit) % words[CAPACITY]] + window_ns)


def oldest_ns(words: Words) -> int:
    """Return the time of the oldest admission inside the window (there must be one)."""
    return int(words[STAMPS + words[TAIL] % words[CAPACITY]])


def grow(words: Words, capacity: int) -> None:
    """Spread a ring over a larger capacity in place; `words` is already long enough.

    The capacity must be the old one times a power of two. Then every admission keeps its slot or
    moves behind the old ring's end, so nothing is overwritten and a crash before the last line
    changes nothing.
    """
    old = words[CAPACITY] or capacity  # a ring of zeros is a new one
    for i in range(words[TAIL], words[HEAD]):
        words[STAMPS + i % capacity] = words[STAMPS + i % old]
    words[CAPACITY] = capacity


def _survive_reboot(words: Words, now_ns: int) -> None:
    # Times ahead of now are of an earlier boot. They count as made when this one began (0), which
    # is never too early: no window admits more than its limit across a restart of the machine.
    capacity = words[CAPACITY]
    for i in range(words[TAIL], words[HEAD]):
        slot = STAMPS + i % capacity
        if words[slot] > now_ns:
            words[slot] = 0
