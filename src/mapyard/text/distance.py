"""How far apart two words are, counted as the index does."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=65_536)
def is_near_word(one: str, other: str, most: int) -> bool:
    """Return whether two words are within `most` changes; a swap of neighbors counts one."""
    if abs(len(one) - len(other)) > most:
        return False
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, against in enumerate(other, start=1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return False
        before, above = above, row
    return above[-1] <= most
