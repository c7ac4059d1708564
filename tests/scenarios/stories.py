"""Maps with a sentence each: what a mode does there, as `mode stops: nodes passed` or `none`."""

from __future__ import annotations

from dataclasses import dataclass, field

from scenarios.ascii_map import LEFT_HAND, RIGHT_HAND, Scene

type Tags = dict[str, str]

ROAD = {"highway": "residential"}
MAIN = {"highway": "primary", "maxspeed": "70"}
SLOW = {"highway": "residential", "maxspeed": "10"}
PATH = {"highway": "footway"}
STEPS = {"highway": "steps"}
MOTORWAY = {"highway": "motorway", "oneway": "yes"}


def one_way(tags: Tags) -> Tags:
    return tags | {"oneway": "yes"}


@dataclass(frozen=True, slots=True)
class Story:
    """A sentence, its map, and what to ask: `auto st: sabt`."""

    sentence: str
    drawing: str
    ways: dict[str, Tags]
    asks: tuple[str, ...]
    nodes: dict[str, Tags] = field(default_factory=dict)
    restrictions: tuple[tuple[str, str, str, Tags], ...] = ()
    corner: tuple[float, float] = RIGHT_HAND

    def make_scene(self) -> Scene:
        return Scene(
            self.sentence, self.drawing, self.ways, self.nodes, list(self.restrictions), self.corner
        )


STORIES = (
    Story(
        "to the other carriageway one drives to the next gap",
        """
        a--b--c--d
        |  |  |  |
        e--f--g--h
        """,
        {"dcba": one_way(MAIN), "efgh": one_way(MAIN), "ae": ROAD, "dh": ROAD,
         "bf": {"highway": "footway"}, "cg": {"highway": "service", "access": "no"}},
        ("auto fb: fghdcb", "foot fb: fb"),
    ),
    Story(
        "a bridge over a road is no crossing",
        """
        . . a . .
        s b c d t
        . . e . .
        . . f . .
        """,
        {"sbdt": MAIN, "aef": ROAD | {"bridge": "yes", "layer": "1"}, "tf": ROAD},
        ("auto sa: sbdtfea",),
    ),
    Story(
        "two roads that share a node cross",
        """
        . . a . .
        s b c d t
        . . e . .
        """,
        {"sbcdt": MAIN, "ace": ROAD},
        ("auto sa: sbca", "auto te: tdce"),
    ),
    Story(
        "a by-pass with lights is quicker than the village street",
        """
        s a . . . . b t
        . c . . . . d
        """,
        {"sa": MAIN, "ab": SLOW, "bt": MAIN, "acdb": MAIN},
        ("auto st: sacdbt", "foot st: sabt"),
    ),
    Story(
        "a dead end is driven into only by who lives there",
        """
        s a b t
        . c . .
        . d . .
        """,
        {"sabt": ROAD, "acd": ROAD},
        ("auto st: sabt", "auto sd: sacd", "auto ds: dcas"),
    ),
    Story(
        "a street is closed to cars by bollards in the middle, and open at both ends",
        """
        s a b c t
        . d . e .
        """,
        {"sabct": ROAD, "adec": ROAD},
        ("auto st: sadect", "bicycle st: sabct", "foot st: sabct", "auto sb: sab"),
        nodes={"b": {"barrier": "bollard"}},
    ),
    Story(
        "a track is a short cut for bicycles, not for cars",
        """
        s a . . . b t
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . c . . .
        """,
        {"sa": ROAD, "ab": {"highway": "track", "tracktype": "grade2"}, "acb": ROAD, "bt": ROAD},
        ("auto st: sacbt", "bicycle st: sabt"),
    ),
    Story(
        "stairs join two streets on a slope for walkers",
        """
        s-----a
        .     |
        t-----b
        """,
        {"sa": ROAD, "ab": ROAD, "bt": ROAD, "st": STEPS},
        ("foot st: st", "auto st: sabt", "bicycle st: sabt", "wheelchair st: sabt"),
    ),
    Story(
        "a passenger ferry takes walkers, a car ferry cars too",
        """
        s a . . b t
        . .     .
        . c . . d
        """,
        {"sa": ROAD, "bt": ROAD, "ac": ROAD, "bd": ROAD,
         "ab": {"route": "ferry", "foot": "yes", "bicycle": "no", "motor_vehicle": "no",
                "duration": "00:03"},
         "cd": {"route": "ferry", "foot": "yes", "bicycle": "yes", "motor_vehicle": "yes",
                "duration": "00:03"}},
        ("auto st: sacdbt", "bicycle st: sacdbt", "foot st: sabt"),
    ),
    Story(
        "a tunnel is closed to bicycles, which go over the hill",
        """
        . . c . .
        s a . b t
        """,
        {"sa": MAIN, "ab": MAIN | {"tunnel": "yes", "bicycle": "no", "foot": "no"}, "bt": MAIN,
         "acb": ROAD},
        ("auto st: sabt", "bicycle st: sacbt", "foot st: sacbt"),
    ),
    Story(
        "buses and taxis have a gate of their own",
        """
        s a b t
        . c d .
        """,
        {"sa": ROAD, "ab": ROAD | {"motor_vehicle": "no", "psv": "yes"}, "bt": ROAD, "acdb": ROAD},
        ("auto st: sacdbt", "bus st: sabt", "taxi st: sabt", "truck st: sacdbt"),
    ),
    Story(
        "a motorway is entered and left by its ramps only",
        """
        a . . . b
        m-n---o-p
        . c   d .
        . s---t .
        """,
        {"mnop": MOTORWAY | {"maxspeed": "120"}, "ab": ROAD,
         "sc": ROAD, "td": ROAD, "st": SLOW,
         "cn": {"highway": "motorway_link", "oneway": "yes"},
         "od": {"highway": "motorway_link", "oneway": "yes"}},
        ("auto st: scnodt", "auto ts: ts", "bicycle st: st", "auto sa: none"),
    ),
    Story(
        "no left turn: three right turns lead there as well",
        """
        . t . .
        s a b .
        . d c .
        """,
        {"sa": ROAD, "at": ROAD, "ab": one_way(ROAD), "bc": one_way(ROAD), "cd": one_way(ROAD),
         "da": one_way(ROAD)},
        ("auto st: sabcdat", "foot st: sat"),
        restrictions=(("sa", "a", "at", {"restriction": "no_left_turn"}),),
    ),
    Story(
        "only straight on keeps from both side streets",
        """
        . l . . .
        s a b c .
        . r . d .
        """,
        {"sa": ROAD, "al": ROAD, "ar": ROAD, "ab": ROAD, "bcdr": ROAD},
        ("auto sr: sabcdr", "bicycle sr: sar"),
        restrictions=(("sa", "a", "ab", {"restriction": "only_straight_on", "except": "bicycle"}),),
    ),
    Story(
        "a pass road is closed in winter, and noon in June is meant",
        """
        s a . b t
        . . c . .
        . . . . .
        . . d . .
        """,
        {"sa": MAIN, "acb": MAIN | {"motor_vehicle:conditional": "no @ (Nov-Apr)"}, "bt": MAIN,
         "adb": MAIN},
        ("auto st: sacbt",),
    ),
    Story(
        "in a living street everybody goes at walking pace",
        """
        s a . . . b t
        . c . . . d .
        """,
        {"sa": ROAD, "ab": {"highway": "living_street"}, "bt": ROAD, "acdb": ROAD},
        ("auto st: sacdbt", "foot st: sabt", "bicycle st: sabt"),
    ),
    Story(
        "a cattle grid stops nobody, a stile all wheels",
        """
        s a b t
        . c . .
        """,
        {"sabt": ROAD, "scb": {"highway": "track", "tracktype": "grade1"}},
        ("auto st: sabt", "foot st: sabt"),
        nodes={"a": {"barrier": "cattle_grid"}, "c": {"barrier": "stile"}},
    ),
    Story(
        "who lives behind a private gate gets in, and nobody through",
        """
        s a x g b t
        . c . . d .
        . . . e . .
        """,
        {"sa": ROAD, "axgb": ROAD | {"access": "private"}, "bt": ROAD, "aceb": ROAD, "bd": ROAD},
        ("auto st: sacebt", "foot st: sacebt", "auto sx: sax"),
        nodes={"g": {"barrier": "gate", "access": "private"}},
    ),
    Story(
        "a roundabout on the left side is driven clockwise",
        """
        . . c . .
        . . h . .
        a j . k e
        . . m . .
        . . g . .
        """,
        {"aj": ROAD, "ch": ROAD, "ke": ROAD, "mg": ROAD,
         "jhkmj": MAIN | {"junction": "roundabout"}},
        ("auto ac: ajhc", "auto ag: ajhkmg", "auto ae: ajhke"),
        corner=LEFT_HAND,
    ),
    Story(
        "a level crossing joins both sides of the line",
        """
        . r .
        s x t
        . q .
        """,
        {"sxt": ROAD, "rxq": {"railway": "rail"}},
        ("auto st: sxt", "foot st: sxt", "bicycle st: sxt"),
        nodes={"x": {"railway": "level_crossing", "crossing:barrier": "full"}},
    ),
    Story(
        "an alley behind the houses is no short cut for cars",
        """
        s a . . b t
        . . c d . .
        """,
        {"sa": ROAD, "bt": ROAD, "ab": {"highway": "service", "service": "parking_aisle"},
         "acdb": MAIN},
        ("auto st: sacdbt", "foot st: sabt"),
    ),
    Story(
        "walkers on the road take the pavement that is mapped beside it",
        """
        s a . . b t
        . c . . d .
        """,
        {"sa": ROAD, "ab": ROAD | {"foot": "use_sidepath"}, "bt": ROAD,
         "ac": PATH | {"footway": "crossing"}, "cd": PATH | {"footway": "sidewalk"},
         "db": PATH | {"footway": "crossing"}},
        ("foot st: sacdbt", "auto st: sabt"),
    ),
    Story(
        "a bicycle takes the cycleway beside the trunk road",
        """
        s a . . b t
        . c . . d .
        """,
        {"sa": ROAD, "ab": {"highway": "trunk", "maxspeed": "100"}, "bt": ROAD,
         "acdb": {"highway": "cycleway"}},
        ("bicycle st: sacdbt", "auto st: sabt"),
    ),
    Story(
        "nobody climbs to the alpine path but hikers",
        """
        . . h . .
        s a . b t
        . . . . .
        . c . d .
        . . . . .
        . . . . .
        . . e . .
        """,
        {"sa": PATH, "bt": PATH, "aceb": PATH, "bd": PATH,
         "ahb": {"highway": "path", "sac_scale": "mountain_hiking"}},
        ("hike st: sahbt", "foot st: sacebt"),
    ),
    Story(
        "a lift takes wheelchairs where stairs take walkers",
        """
        s a b t
        . e f .
        """,
        {"sa": PATH, "ab": STEPS, "bt": PATH, "ae": PATH, "ef": {"highway": "elevator"},
         "fb": PATH},
        ("wheelchair st: saefbt", "foot st: sabt"),
    ),
    Story(
        "a ford wets the feet and stops nobody",
        """
        s a t
        """,
        {"sat": ROAD},
        ("auto st: sat", "foot st: sat"),
        nodes={"a": {"ford": "yes"}},
    ),
    Story(
        "a river without a bridge parts the town",
        """
        s a
        . .
        t b
        """,
        {"sa": ROAD, "tb": ROAD},
        ("auto st: none", "foot st: none"),
    ),
    Story(
        "a footbridge joins what cars have to drive around",
        """
        s-a-------b
        . |       |
        . f       |
        . |       |
        t-c-------d
        """,
        {"sab": ROAD, "bd": ROAD, "dct": ROAD, "afc": PATH | {"bridge": "yes", "layer": "1"}},
        ("foot st: safct", "auto st: sabdct", "bicycle st: sabdct"),
    ),
    Story(
        "humps and a playground street make the way around the quicker one",
        """
        s a . . . . b t
        . c . . . . d .
        """,
        {"sa": ROAD, "ab": ROAD | {"traffic_calming": "hump"}, "bt": ROAD,
         "acdb": {"highway": "secondary", "maxspeed": "50"}},
        ("auto st: sacdbt", "foot st: sabt"),
    ),
    Story(
        "out of a one-way loop one gets where it begins",
        """
        s a b
        . d c
        """,
        {"sa": ROAD, "abcda": one_way(ROAD)},
        ("auto sd: sabcd", "auto ds: das", "foot sd: sad"),
    ),
    Story(
        "through a pedestrian zone riders push, and cars do not come",
        """
        s a . b t
        . c . d .
        . . e . .
        . . f . .
        """,
        {"sa": ROAD, "ab": {"highway": "pedestrian"}, "bt": ROAD, "ac": ROAD, "cf": ROAD,
         "fd": ROAD, "db": ROAD},
        ("foot st: sabt", "auto st: sacfdbt"),
    ),
    Story(
        "no entry from two streets, and free the other way",
        """
        a . b
        . x .
        . y .
        . t .
        """,
        {"ax": ROAD, "bx": ROAD, "xy": ROAD, "yt": ROAD},
        ("auto at: none", "auto ta: tyxa", "auto ab: axb"),
        restrictions=(
            ("ax", "x", "xy", {"restriction": "no_straight_on"}),
            ("bx", "x", "xy", {"restriction": "no_straight_on"}),
        ),
    ),
    Story(
        "a turning lane of a through road does not lead back",
        """
        s--a--b--t
        .  |  |
        .  c--d
        """,
        {"sa": one_way(MAIN), "ab": one_way(MAIN), "bt": one_way(MAIN), "bd": one_way(ROAD),
         "dc": one_way(ROAD), "ca": one_way(ROAD)},
        ("auto bc: bdc", "auto cb: cab", "auto ac: abdc"),
    ),
    Story(
        "a farm track serves farmers; the lane beside it everybody",
        """
        s a . b t
        . c . d .
        """,
        {"sa": ROAD, "ab": {"highway": "track", "tracktype": "grade1",
                            "motor_vehicle": "agricultural"}, "bt": ROAD, "acdb": ROAD},
        ("auto st: sacdbt", "bicycle st: sabt", "foot st: sabt"),
    ),
    Story(
        "customers find the shop, others do not cross its yard",
        """
        s a p b t
        . c . d .
        . . . . .
        """,
        {"sa": ROAD, "apb": {"highway": "service", "access": "customers"}, "bt": ROAD,
         "acdb": ROAD},
        ("auto st: sacdbt", "auto sp: sap"),
    ),
    Story(
        "a platform is reached over its stairs and its ramp",
        """
        p---q
        |   .
        a   b
        s---t
        """,
        {"st": ROAD, "sa": PATH, "tb": PATH, "ap": STEPS, "bq": PATH | {"wheelchair": "yes"},
         "pq": {"railway": "platform"}},
        ("foot sp: sap", "wheelchair sp: stbqp"),
    ),
    Story(
        "who is on the wrong side of a divided road turns at the roundabout",
        """
        . . . . n . . .
        a - b . j k . .
        c - d . m l . .
        . . . . o . . .
        """,
        {"kb": one_way(MAIN), "ba": one_way(MAIN), "cd": one_way(MAIN), "dm": one_way(MAIN),
         "mlkjm": MAIN | {"junction": "roundabout"}, "nj": ROAD, "mo": ROAD},
        ("auto ca: cdmlkba", "auto da: dmlkba"),
    ),
    Story(
        "a spiral ramp leads bicycles up where stairs lead walkers",
        """
        s-a---u-t
        . |   |
        . b---c
        . e---d
        . f---g
        """,
        {"sa": PATH | {"bicycle": "yes"}, "au": STEPS, "ut": PATH | {"bicycle": "yes"},
         "abcdefgu": {"highway": "cycleway", "foot": "yes"}},
        ("foot st: saut", "bicycle st: sabcdefgut"),
    ),
    Story(
        "a forest road with a barrier is ridden around it",
        """
        s--a--b--c--t
        .  |     |
        .  d-----e
        .
        """,
        {"sa": ROAD, "abc": {"highway": "track", "tracktype": "grade1"}, "ct": ROAD,
         "ad": ROAD, "de": ROAD, "ec": ROAD},
        ("auto st: sadect", "bicycle st: sabct"),
        nodes={"b": {"barrier": "gate", "motor_vehicle": "no"}},
    ),
    Story(
        "the last house of a one-way street is reached around the block",
        """
        d-----c
        |     |
        s     b
        |     |
        e--h--a
        """,
        {"sd": ROAD, "dc": ROAD, "cb": ROAD, "ba": ROAD, "ahe": one_way(ROAD), "es": ROAD},
        ("auto sh: sdcbah", "auto hs: hes", "foot sh: seh"),
    ),
    Story(
        "a toll road is taken, and left out when it is not wanted",
        """
        s a-------b t
        . |       |
        . c       d
        . e-------f
        """,
        {"sa": MAIN, "ab": MAIN | {"toll": "yes"}, "bt": MAIN, "ac": ROAD, "ce": ROAD, "ef": ROAD,
         "fd": ROAD, "db": ROAD},
        ("auto st: sabt", "bicycle st: sabt"),
    ),
    Story(
        "five ways meet, and the sharp one is forbidden",
        """
        a . b . c
        . . . . .
        d . x . e
        """,
        {"ax": ROAD, "bx": ROAD, "cx": ROAD, "dx": ROAD, "ex": ROAD, "ab": ROAD, "ad": ROAD},
        ("auto da: da", "auto eb: exb", "auto bc: bxc", "auto ec: exdaxc"),
        restrictions=(("ex", "x", "cx", {"restriction": "no_right_turn"}),),
    ),
    Story(
        "motor scooters keep off the motor road, cars take it",
        """
        s a . . . b t
        . |       |
        . c . . . d
        """,
        {"sa": ROAD, "ab": {"highway": "trunk", "motorroad": "yes", "maxspeed": "100"},
         "bt": ROAD, "ac": ROAD, "cd": ROAD, "db": ROAD},
        ("auto st: sabt", "motorcycle st: sabt", "motor_scooter st: sacdbt",
         "foot st: sacdbt"),
    ),
    Story(
        "a low gate of a car park keeps vans out, its way in is one-way",
        """
        s--i--p--o--t
        .  |     |
        .  q-----r
        """,
        {"si": ROAD, "ot": ROAD, "iq": ROAD, "qr": ROAD, "ro": ROAD,
         "ip": one_way({"highway": "service", "service": "parking_aisle", "maxheight": "2"}),
         "po": one_way({"highway": "service", "service": "parking_aisle"})},
        ("truck st: siqrot", "auto sp: sip", "auto ps: porqis", "auto tp: torqip"),
    ),
    Story(
        "across the railway walkers take the underpass and cars the bridge farther on",
        """
        s-a-----b
        . u     |
        . . . . x
        . v     |
        t-c-----d
        """,
        {"sab": ROAD, "bx": ROAD, "xd": ROAD, "dct": ROAD, "au": PATH,
         "uv": PATH | {"tunnel": "yes", "layer": "-1"}, "vc": PATH},
        ("foot st: sauvct", "auto st: sabxdct"),
    ),
    Story(
        "a hospital is behind a barrier that only its visitors pass",
        """
        s a . b t
        . g . . .
        . h . k .
        . . . . .
        """,
        {"sabt": ROAD, "agh": ROAD | {"motor_vehicle": "destination"}, "hk": ROAD | {
            "motor_vehicle": "destination"}, "kb": ROAD | {"motor_vehicle": "destination"}},
        ("auto st: sabt", "auto sh: sagh", "auto sk: sabk"),
        nodes={"g": {"barrier": "lift_gate"}},
    ),
)  # fmt: skip
