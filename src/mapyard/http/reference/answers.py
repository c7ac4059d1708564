"""Answers to the examples, recorded and shortened by `make answers`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import orjson

FILE: Final = Path(__file__).with_name("answers.json")


@lru_cache(maxsize=1)
def read_answers() -> dict[str, Any]:
    """Return the recorded answers by operation id."""
    found: dict[str, Any] = orjson.loads(FILE.read_bytes())
    return found
