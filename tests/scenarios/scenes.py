"""The drawings that the scenario tests ask for ways through."""

from __future__ import annotations

from scenarios.ascii_map import LEFT_HAND, Scene

ROAD = {"highway": "residential"}
MAIN = {"highway": "primary"}


def make_scenes() -> list[Scene]:
    """Return all scenes."""
    return [
        Scene(
            "oneway",
            """
            a b c
            d e f
            """,
            {"abc": ROAD | {"oneway": "-1"}, "ad": ROAD, "def": ROAD, "cf": ROAD},
        ),
        Scene(
            "turn",
            """
              c
            a b d
            e f g
            """,
            {"ab": ROAD, "bc": ROAD, "bd": ROAD, "bf": ROAD, "ae": ROAD, "efg": ROAD, "gd": ROAD},
            restrictions=[("ab", "b", "bc", {"restriction": "no_left_turn"})],
        ),
        Scene(
            "only",
            """
              c
            a b d
              e
            """,
            {"ab": ROAD, "bc": ROAD, "bd": ROAD, "be": ROAD, "cd": ROAD, "de": ROAD},
            restrictions=[("ab", "b", "bd", {"restriction": "only_straight_on"})],
        ),
        Scene(
            "viaway",
            """
            a b c
              d e
              f g
            """,
            {"ab": ROAD, "bc": ROAD, "bd": ROAD, "de": ROAD, "ce": ROAD, "df": ROAD, "fg": ROAD,
             "ge": ROAD},
            restrictions=[("ab", "bd", "de", {"restriction": "no_left_turn"})],
        ),
        Scene(
            "conditional",
            """
              c
            a b d
            """,
            {"ab": ROAD, "bc": ROAD, "bd": ROAD, "dc": ROAD},
            restrictions=[
                ("ab", "b", "bc", {"restriction:conditional": "no_left_turn @ (Mo-Su 07:00-19:00)"})
            ],
        ),
        Scene(
            "right",
            """
              c
            a b d
              e
            """,
            {"ab": MAIN, "bc": MAIN, "bd": MAIN, "be": MAIN},
        ),
        Scene(
            "left",
            """
              c
            a b d
              e
            """,
            {"ab": MAIN, "bc": MAIN, "bd": MAIN, "be": MAIN},
            corner=LEFT_HAND,
        ),
        Scene(
            "barrier",
            """
            a b c
            d   e
            """,
            {"abc": ROAD, "ad": ROAD, "de": ROAD, "ec": ROAD},
            nodes={"b": {"barrier": "bollard"}},
        ),
        Scene(
            "private",
            """
            a b c d
            e     f
            """,
            {"ab": ROAD, "bc": ROAD | {"access": "private"}, "cd": ROAD, "ae": ROAD, "ef": ROAD,
             "fd": ROAD},
        ),
        Scene(
            "roundabout",
            """
                c
               ghi
            a bj kd
               lmn
                e
            """,
            {
                "ab": MAIN, "ch": MAIN, "kd": MAIN, "me": MAIN,
                # against the clock, as traffic on the right goes
                "bjlmnkihgb": MAIN | {"junction": "roundabout"},
            },
        ),
        Scene(
            "ferry",
            """
            a b          c d
            """,
            {"ab": ROAD, "cd": ROAD, "bc": {"route": "ferry", "foot": "yes", "motor_vehicle": "yes",
                                            "duration": "00:20"}},
        ),
        Scene(
            "toll",
            """
            a b c f
              d e
            """,
            {"ab": ROAD, "bc": MAIN | {"toll": "yes"}, "bd": ROAD, "de": ROAD, "ec": ROAD,
             "cf": ROAD},
        ),
        Scene(
            "motorway",
            """
            a b c d
            e     f
            """,
            {"bc": {"highway": "motorway", "oneway": "no"}, "ab": ROAD, "cd": ROAD, "ae": ROAD,
             "ef": {"highway": "unclassified", "maxspeed": "10"}, "fd": ROAD},
        ),
        Scene(
            "steps",
            """
            a b
            c d
            e f
            """,
            {"ab": {"highway": "steps"}, "ac": ROAD, "ce": ROAD, "ef": ROAD, "fd": ROAD,
             "db": ROAD},
        ),
        Scene(
            "contraflow",
            """
            a b c
            d e f
            """,
            {"abc": ROAD | {"oneway": "yes", "oneway:bicycle": "no"}, "ad": ROAD, "def": ROAD,
             "fc": ROAD},
        ),
        Scene("islands", "a b    c d", {"ab": ROAD, "cd": ROAD}),
        Scene(
            "exclude",
            """
            a b c d e f m
            g h i j k l
            """,
            {
                "ab": ROAD, "bc": MAIN | {"tunnel": "yes"}, "cd": ROAD,
                "de": MAIN | {"bridge": "yes", "layer": "1"}, "ef": MAIN | {"surface": "gravel"},
                "fm": ROAD, "ag": ROAD, "gh": ROAD, "hi": ROAD, "ij": ROAD, "jk": ROAD, "kl": ROAD,
                "lf": ROAD,
                "ci": ROAD, "dj": ROAD, "ek": ROAD,
            },
        ),
    ]  # fmt: skip
