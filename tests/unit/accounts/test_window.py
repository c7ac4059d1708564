"""The ring against a naive list of all admissions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mapyard.accounts import window

WINDOW_NS = 100


def new_ring(capacity: int) -> memoryview:
    words = memoryview(bytearray(8 * window.words_needed(capacity))).cast("q")
    words[window.CAPACITY] = capacity
    return words


def admit(words: memoryview, now_ns: int, limit: int) -> bool:
    if window.count_recent(words, now_ns, WINDOW_NS) >= limit:
        return False
    window.push(words, now_ns)
    return True


steps = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 32), st.booleans()), min_size=1, max_size=300
)


@given(steps)
def test_as_a_naive_model_with_changing_limits_and_growth(
    script: list[tuple[int, int, bool]],
) -> None:
    capacity = 4
    words = new_ring(capacity)
    admitted: list[int] = []
    now_ns = 1_000
    for wait_ns, limit, _ in script:
        now_ns += wait_ns
        if limit > capacity:
            while capacity < limit:
                capacity *= 2
            larger = new_ring(capacity)
            larger[: len(words)] = words
            larger[window.CAPACITY] = words[window.CAPACITY]
            window.grow(larger, capacity)
            words = larger
        recent = [at for at in admitted if at > now_ns - WINDOW_NS]
        assert window.count_recent(words, now_ns, WINDOW_NS) == len(recent)
        if recent:
            assert window.oldest_ns(words) == recent[0]
        if len(recent) >= limit:
            assert window.free_at_ns(words, WINDOW_NS, limit) == recent[-limit] + WINDOW_NS
        assert admit(words, now_ns, limit) == (len(recent) < limit)
        if len(recent) < limit:
            admitted.append(now_ns)


@given(st.lists(st.integers(0, 30), min_size=10, max_size=200), st.integers(1, 8))
def test_no_window_holds_more_than_the_limit(waits_ns: list[int], limit: int) -> None:
    words = new_ring(8)
    now_ns, admitted = 0, []
    for wait_ns in waits_ns:
        now_ns += wait_ns
        if admit(words, now_ns, limit):
            admitted.append(now_ns)
    for start in admitted:
        assert sum(start <= at < start + WINDOW_NS for at in admitted) <= limit


def test_a_reboot_counts_the_former_admissions_as_made_at_its_start() -> None:
    words = new_ring(4)
    for now_ns in (1_000_000, 1_000_001, 1_000_002):
        assert admit(words, now_ns, 3)
    # The monotonic clock began anew.
    assert not admit(words, WINDOW_NS - 1, 3)
    assert admit(words, WINDOW_NS, 3)
    assert window.count_recent(words, WINDOW_NS, WINDOW_NS) == 1


def test_waiting_long_empties_the_window_at_once() -> None:
    words = new_ring(64)
    for now_ns in range(64):
        assert admit(words, now_ns, 64)
    assert not admit(words, 64, 64)
    assert window.count_recent(words, 10_000, WINDOW_NS) == 0
