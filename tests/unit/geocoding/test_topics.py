"""Each of the topics of writing and answering places has its own cases, forty at least."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

LEAST: Final = 40


@pytest.mark.parametrize(
    "topic",
    [
        "countries", "fillers", "numbers", "scripts", "postcodes", "coordinates", "crossings",
        "kinds", "typing", "order", "addresses", "reverse", "answers", "batch",
    ],
)  # fmt: skip
def test_every_topic_has_cases(topics: Counter[str], topic: str) -> None:
    assert topics[topic] >= LEAST
