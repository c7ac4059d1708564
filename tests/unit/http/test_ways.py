"""Of questions about ways it is told whether the engine was called."""

from mapyard.http.metrics import WAYS, Requests


def test_ways_are_counted_by_who_answered():
    requests = Requests()
    before = {by: WAYS.labels("/api/v1/route", by)._value.get() for by in ("engine", "prepared")}
    for calls in (0, 0, 3):
        requests.note_ways("/api/v1/route", calls)
    requests.hand_over()
    requests.hand_over()
    after = {by: WAYS.labels("/api/v1/route", by)._value.get() for by in before}
    assert {by: after[by] - before[by] for by in before} == {"engine": 1, "prepared": 2}
