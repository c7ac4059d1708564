"""Conditional tags and opening hours, at noon of a working day in June unless said otherwise."""

from __future__ import annotations

from datetime import datetime

import pytest

from mapyard.routing.tagging.conditions import (
    choose_value,
    is_about_time,
    is_open,
    split_conditional,
)


@pytest.mark.parametrize(
    ("hours", "open_"),
    [
        ("24/7", True),
        ("08:00-18:00", True),
        ("18:00-08:00", False),
        ("06:00-12:00", False),
        ("12:00-13:00", True),
        ("Mo-Fr 08:00-18:00", True),
        ("Sa,Su 08:00-18:00", False),
        ("Fr-We 10:00-14:00", True),
        ("Mo-Fr 07:00-09:00,16:00-18:00", False),
        ("Mo-Fr 07:00-17:00; Sa 07:00-12:00", True),
        ("Mo-Su 08:00-18:00; We off", False),
        ("Mo-Su 08:00-18:00; PH off", True),
        ("Jun-Sep", True),
        ("Nov-Apr", False),
        ("Oct-Jul 08:00-20:00", True),
        ("May 15-Jun 16", False),
        ("Jun 1-Jun 30", True),
        ("Dec 1-Jun 17", True),
        ("We", True),
        ("We 13:00-14:00", False),
    ],
)
def test_hours_hold_or_not(hours: str, open_: bool) -> None:
    assert is_open(hours) is open_


def test_hours_hold_at_another_time() -> None:
    saturday_night = datetime(2026, 11, 28, 23, 30)
    assert is_open("Sa 22:00-06:00", saturday_night)
    assert not is_open("Mo-Fr 22:00-06:00", saturday_night)
    assert is_open("Nov-Apr", saturday_night)


@pytest.mark.parametrize(
    ("condition", "about_time"),
    [
        ("Mo-Fr 07:00-19:00", True),
        ("Nov 15-Apr 15", True),
        ("24/7", True),
        ("PH", True),
        ("weight>7.5", False),
        ("wet", False),
        ("destination", False),
        ("Mo-Fr 07:00-19:00 AND weight>3.5", False),
        ("sunrise-sunset", False),
        ("", False),
    ],
)
def test_conditions_of_times_are_told_from_others(condition: str, about_time: bool) -> None:
    assert is_about_time(condition) is about_time


def test_clauses_are_split_outside_of_brackets() -> None:
    assert split_conditional("no @ (Mo-Fr 07:00-17:00; Sa 07:00-12:00); yes @ (Su)") == [
        ("no", "Mo-Fr 07:00-17:00; Sa 07:00-12:00"),
        ("yes", "Su"),
    ]
    assert split_conditional("no @ Mo-Fr 07:00-17:00; Sa 07:00-12:00") == [
        ("no", "Mo-Fr 07:00-17:00; Sa 07:00-12:00")
    ]
    assert split_conditional("no") == []


def test_the_last_clause_that_holds_wins() -> None:
    assert choose_value("yes @ (06:00-14:00); -1 @ (14:00-06:00)") == "yes"
    assert choose_value("30 @ (00:00-24:00); 20 @ (Mo-Fr 11:00-13:00)") == "20"
    assert choose_value("no @ (weight>7.5)") is None
