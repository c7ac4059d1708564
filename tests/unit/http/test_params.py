from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.http.body import merge, read_body, read_query
from mapyard.params.parser import Bbox, Geometry, Params, Parser, Position, Positions, Tags, spelled


class Shape(msgspec.Struct, frozen=True):
    fields: list[str] | None = None
    precision: Annotated[int, Meta(ge=1, le=15)] = 7


class Exact(msgspec.Struct):
    refuses_unknown: ClassVar[bool] = True
    height_m: float | None = None


class Many(Params):
    at: Annotated[Position | None, spelled("where", "near", "geometry", pair=True)] = None
    line: Annotated[Positions | None, spelled("line", "trace", max_points=4)] = None
    spots: Annotated[Positions | None, spelled("lng first", lng_first=True)] = None
    area: Annotated[Geometry | None, spelled("area", max_points=20)] = None
    bbox: Bbox | None = None
    tags: Tags = Tags()
    limit: Annotated[int | None, Meta(ge=1, le=100, description="most")] = None
    radius: Annotated[float, Meta(gt=0, le=5000)] = 500.0
    roundtrip: bool = True
    mode: Literal["auto", "foot", "bicycle"] = "auto"
    times: Annotated[tuple[Annotated[int, Meta(ge=1, le=7200)], ...], Meta(max_length=3)] = ()
    words: Annotated[list[str] | None, spelled("words", split=False)] = None
    q: Annotated[str, Meta(max_length=10)] = ""
    output: Shape = Shape()
    options: dict[str, Any] | None = None


PARSER = Parser(Many)


def parse(query: str = "", **body: Any) -> Many:
    encoded = msgspec.json.encode(body) if body else b""
    raw = merge(
        read_query(query.encode()), read_body(encoded, "application/json", {}, PARSER.names)
    )
    parsed: Many = PARSER.parse(raw)
    return parsed


def problems(query: str = "", **body: Any) -> dict[str, list[str]]:
    with pytest.raises(InvalidRequest) as caught:
        parse(query, **body)
    assert caught.value.details is not None
    return caught.value.details


@pytest.mark.parametrize("text", ["5", "5.0", "5.000000", " 5 ", "05", "5e0", "+5"])
def test_numbers_in_every_spelling(text: str) -> None:
    assert parse(f"limit={text.replace('+', '%2B')}").limit == 5
    assert parse(limit=text).limit == 5


def test_numbers_of_json() -> None:
    assert parse(limit=5).limit == 5
    assert parse(limit=5.0).limit == 5
    assert type(parse(limit=5.0).limit) is int


@pytest.mark.parametrize("bad", ["5.5", "x", "1_0", "0x5", "nan", "inf", "٣", "--5", "5 5"])
def test_bad_numbers_name_the_parameter(bad: str) -> None:
    assert list(problems(limit=bad)) == ["limit"]


@pytest.mark.parametrize("bad", [True, [], {}, 1e300, 2**60])
def test_bad_json_numbers(bad: Any) -> None:
    assert list(problems(limit=bad)) == ["limit"]


def test_huge_integer() -> None:
    with pytest.raises(InvalidRequest, match="limit"):
        PARSER.parse({"limit": 10**400})


def test_bounds() -> None:
    assert "at least 1" in problems("limit=0")["limit"][0]
    assert "at most 100" in problems("limit=101")["limit"][0]
    assert "more than 0" in problems("radius=0")["radius"][0]


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=0.001, max_value=5000))
def test_any_number_survives_query_and_body(number: float) -> None:
    assert parse(f"radius={number!r}").radius == number
    assert parse(radius=number).radius == number
    assert parse(radius=repr(number)).radius == number


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("TRUE", True), ("1", True), ("false", False), ("0", False), ("False", False)],
)
def test_booleans(text: str, value: bool) -> None:
    assert parse(f"roundtrip={text}").roundtrip is value
    assert parse(roundtrip=value).roundtrip is value
    assert parse(roundtrip=int(value)).roundtrip is value


def test_bad_boolean() -> None:
    assert "true or false" in problems("roundtrip=yes")["roundtrip"][0]
    assert list(problems(roundtrip=2)) == ["roundtrip"]


def test_absent_values() -> None:
    assert parse("limit=&mode=", q=None, tags=None).limit is None
    assert parse("limit=7", limit=None).limit == 7
    assert parse("limit=7", limit="").limit == 7


def test_body_wins() -> None:
    assert parse("limit=7&radius=3", limit=8).limit == 8
    assert parse("limit=7&radius=3", limit=8).radius == 3
    assert parse("output[precision]=3", output={"fields": ["a"]}).output == Shape(["a"], 3)


def test_unknown_parameters_are_ignored() -> None:
    assert parse("nonsense=1&nonsense[a]=2", more={"a": 1}).limit is None


def test_choices() -> None:
    assert parse("mode=FOOT").mode == "foot"
    assert "auto, bicycle, foot" in problems("mode=car")["mode"][0]


def test_lists() -> None:
    assert parse("times=1,2,3").times == (1, 2, 3)
    assert parse("times=1&times=2").times == (1, 2)
    assert parse("times=[1,2]").times == (1, 2)
    assert parse("words=[a").words == ["[a"]
    assert parse(times=[1, "2", 3.0]).times == (1, 2, 3)
    assert parse(times=60).times == (60,)
    assert parse("words=a,b&words=c").words == ["a,b", "c"]
    assert "item 1 (counted from 0)" in problems("times=1,x")["times"][0]


def test_items_may_be_left_open_where_null_is_one_of_them() -> None:
    class Open(Params):
        headings: tuple[Annotated[float, Meta(ge=0)] | None, ...] = ()

    parser = Parser(Open)
    assert parser.parse({"headings": [90, None]}).headings == (90.0, None)
    assert parser.parse({"headings": "90,null"}).headings == (90.0, None)
    with pytest.raises(InvalidRequest):
        parser.parse({"headings": [-1, None]})


def test_a_nested_struct_may_refuse_what_it_does_not_know() -> None:
    class Outer(Params):
        costing: Exact | None = None

    parser = Parser(Outer)
    assert parser.parse({"costing": {"height_m": 4}}).costing == Exact(4.0)
    with pytest.raises(InvalidRequest) as caught:
        parser.parse({"costing": {"heigth_m": 4}})
    assert list(caught.value.details) == ["costing[heigth_m]"]


def test_too_long_list_is_413_with_limit_and_count() -> None:
    with pytest.raises(TooLarge) as caught:
        parse("times=1,2,3,4")
    assert caught.value.status == 413
    assert caught.value.details == {"parameter": "times", "limit": 3, "count": 4}


def test_brackets() -> None:
    assert parse("output[fields]=a,b&output%5Bprecision%5D=5").output == Shape(["a", "b"], 5)
    assert parse(**{"output[precision]": 4}).output.precision == 4
    assert problems("output[precision]=99") == {"output[precision]": ["must be at most 15, got 99"]}
    assert list(problems("output=x")) == ["output"]


def test_tags() -> None:
    tags = parse("tags[amenity]=cafe&tags[addr:city]=Vaduz&tags[amenity]=bar&tags=shop").tags
    assert tags.pairs == (("amenity", "cafe"), ("amenity", "bar"), ("addr:city", "Vaduz"))
    assert tags.texts == ("shop",)
    assert parse("tags=a=b&tags=c").tags == Tags((), ("a=b", "c"))
    assert parse("tags=c&tags[a]=b").tags == Tags((("a", "b"),), ("c",))
    both = parse("tags[a]=1", tags={"b": ["x|y", "z"], "c": True, "d": False, "e": 5, "f": None})
    assert both.tags.pairs == (("a", "1"), ("b", r"x\|y|z"), ("c", "*"), ("d", "!"), ("e", "5"))
    assert parse(tags="a=b").tags.texts == ("a=b",)
    assert list(problems(tags={"a": {"b": 1}})) == ["tags"]


def test_all_problems_are_reported_at_once() -> None:
    found = problems("limit=0&radius=-1&mode=car&bbox=1,2,3&lat=91&lng=0")
    assert set(found) == {"limit", "radius", "mode", "bbox", "lat"}


def test_refused_parameters_are_422_by_name() -> None:
    with pytest.raises(Unsupported) as caught:
        PARSER.parse({"ev": {"battery": 1}, "limit": 1}, {"ev": "not served", "depart_at": "no"})
    assert caught.value.status == 422
    assert caught.value.details == {"ev": ["not served"]}


def test_required_pair() -> None:
    class Needs(Params):
        at: Annotated[Position, spelled("where", "near", pair=True)]

    parser = Parser(Needs)
    assert parser.parse({"lat": "1", "lon": 2}).at == Position(2.0, 1.0)
    for raw, missing in (({}, {"lat", "lng"}), ({"lat": 1}, {"lng"}), ({"lon": 1}, {"lat"})):
        with pytest.raises(InvalidRequest) as caught:
            parser.parse(raw)
        assert set(caught.value.details or ()) == missing
    assert "lng" in problems("lat=1")


def test_post_init_is_a_check() -> None:
    class Checked(Params):
        a: int = 0

        def __post_init__(self) -> None:
            if self.a == 1:
                raise InvalidRequest.of("a", "is one")

    with pytest.raises(InvalidRequest, match="a: is one"):
        Parser(Checked).parse({"a": 1})


@given(
    st.dictionaries(
        st.sampled_from(sorted(PARSER.names)),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
            lambda inner: (
                st.lists(inner, max_size=5)
                | st.dictionaries(
                    st.sampled_from(["type", "coordinates", "lat", "lng", "fields", "a"]), inner
                )
            ),
            max_leaves=12,
        ),
    )
)
def test_nothing_but_reported_errors(raw: dict[str, Any]) -> None:
    try:
        PARSER.parse(merge({}, raw))
    except (InvalidRequest, TooLarge) as error:
        assert error.details  # noqa: PT017 - the point is that nothing else is raised


@given(st.text(max_size=200))
def test_any_query_string(text: str) -> None:
    try:
        PARSER.parse(read_query(text.encode("utf-8", "surrogatepass")))
    except (InvalidRequest, TooLarge) as error:
        assert error.message  # noqa: PT017
