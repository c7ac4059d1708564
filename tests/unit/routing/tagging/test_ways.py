"""Tags of ways, nodes and turns as the engine gets them; what they do is in tests/scenarios."""

from __future__ import annotations

import pytest

from mapyard.routing.tagging.barriers import tag_node
from mapyard.routing.tagging.speeds import tag_speeds
from mapyard.routing.tagging.turns import split_members, tag_turn
from mapyard.routing.tagging.ways import tag_way


@pytest.mark.parametrize(
    "tags",
    [
        {"highway": "residential", "name": "Gate", "lit": "yes"},
        {"highway": "footway", "footway": "sidewalk"},
        {"highway": "primary", "ref": "B 1", "lanes": "2"},
    ],
)
def test_most_ways_stay_as_they_are(tags: dict[str, str]) -> None:
    assert tag_way(tags) is tags


def test_what_is_no_way_is_left_out() -> None:
    assert tag_way({"building": "yes"}) is None
    assert tag_way({"railway": "rail"}) is None
    assert tag_way({"route": "bus"}) is None


def test_names_and_other_tags_are_kept() -> None:
    changed = tag_way({"highway": "residential", "name": "Weg", "motor_vehicle": "destination"})
    assert changed is not None
    assert changed["name"] == "Weg"
    assert changed["motorcar"] == "private"
    assert "motor_vehicle" not in changed


def test_a_rule_of_hours_is_for_the_engine_where_it_opens_or_closes() -> None:
    changed = tag_way(
        {
            "highway": "residential",
            "motor_vehicle": "no",
            "motor_vehicle:conditional": "yes @ (06:00-10:00); no @ (snow)",
        }
    )
    assert changed is not None
    assert changed["motorcar"] == "yes"
    assert changed["motor_vehicle:conditional"] == "yes @ (06:00-10:00)"
    changed = tag_way({"highway": "residential", "vehicle:conditional": "no @ (Mo-Fr)"})
    assert changed is not None
    assert changed["bicycle:conditional"] == "no @ (Mo-Fr)"
    assert changed["motor_vehicle:conditional"] == "no @ (Mo-Fr)"


def test_directions_are_written_as_seen_along_the_one_way() -> None:
    changed = tag_way({"highway": "residential", "oneway": "-1", "oneway:bicycle": "no"})
    assert changed is not None
    assert changed["oneway"] == "-1"
    assert changed["bicycle:forward"] == changed["bicycle:backward"] == "yes"


def test_speeds_are_numbers_that_the_engine_takes() -> None:
    assert tag_speeds({"highway": "primary", "maxspeed": "20 mph"}) == {"maxspeed": "32"}
    assert tag_speeds({"highway": "primary", "maxspeed": "6"}) == {"maxspeed": "walk"}
    assert tag_speeds({"highway": "primary", "maxspeed": "9"}) == {"maxspeed": "10"}
    assert tag_speeds({"highway": "track", "tracktype": "grade2"})["maxspeed:practical"] == "20"
    both = tag_speeds({"highway": "primary", "maxspeed": "80", "maxspeed:forward": "DE:urban"})
    assert both["maxspeed:forward"] == "50"
    assert both["maxspeed:backward"] == "80"


def test_nodes_without_rules_stay_as_they_are() -> None:
    tags = {"highway": "crossing", "bicycle": "no"}
    assert tag_node(tags) is tags
    assert tag_node({"barrier": "kerb", "kerb": "lowered"}) == {"kerb": "lowered"}
    assert tag_node({"barrier": "lift_gate"}) == {"barrier": "gate"}
    assert tag_node({"barrier": "toll_booth", "name": "A"}) == {
        "barrier": "toll_booth",
        "name": "A",
    }


def test_no_entry_with_several_starts_is_several_restrictions() -> None:
    members = [("w", 1, "from"), ("w", 2, "from"), ("n", 3, "via"), ("w", 4, "to")]
    assert split_members(members) == [
        [("w", 1, "from"), ("n", 3, "via"), ("w", 4, "to")],
        [("w", 2, "from"), ("n", 3, "via"), ("w", 4, "to")],
    ]


def test_turns_of_groups_are_those_of_all_with_exceptions() -> None:
    plain = {"type": "restriction", "restriction": "no_left_turn"}
    assert tag_turn(plain) is plain
    assert tag_turn({"type": "restriction", "restriction:motor_vehicle": "no_left_turn"}) == {
        "type": "restriction",
        "restriction": "no_left_turn",
        "except": "bicycle",
    }
