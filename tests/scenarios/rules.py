"""The tables: what tags mean for drivers, riders and walkers."""

from __future__ import annotations

from scenarios.sheets import Sheet

ROAD = {"highway": "residential"}

#: A street straight on, and another one around the block.
BLOCK = """
s a m  b t
. |    |
. |    |
. c----d
"""
AROUND = {"sa": ROAD, "acdb": ROAD, "bt": ROAD}

ACCESS = Sheet(
    "a street in between",
    BLOCK,
    "amb",
    "st",
    "access",
    AROUND,
)

BARRIERS = Sheet(
    "something stands in the way",
    BLOCK,
    "amb",
    "st",
    "barriers",
    AROUND,
)

ONE_WAYS = Sheet(
    "a street in one direction",
    BLOCK,
    "amb",
    "st",
    "one_ways",
    AROUND,
)

TURNS = Sheet(
    "a turn that a sign forbids",
    """
    s a b t
      |   |
      |   |
      c---d
    """,
    "ab",
    "st",
    "turns",
    {"sa": ROAD, "ab": ROAD, "ac": ROAD, "cd": ROAD, "dt": ROAD, "bt": ROAD},
    restriction=("sa", "a", "ab"),
)

SPEEDS = Sheet(
    "a road with a limit",
    "s a m b t",
    "amb",
    "st",
    "speeds",
    {"sa": ROAD, "bt": ROAD},
)

SHEETS = (ACCESS, BARRIERS, ONE_WAYS, TURNS, SPEEDS)
