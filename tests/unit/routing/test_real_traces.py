"""Recorded traces, each with its small map, against the streets they were recorded on."""

import pytest

from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.routing import match_trace, open_routing
from mapyard.routing.gpx import read_gpx
from osm_files import TEST_DATA

TRACES = TEST_DATA / "traces"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    data = tmp_path_factory.mktemp("traces")
    maps = sorted(TRACES.glob("*.osm.gz"))
    build_dataset(maps, data, select_steps(["routing"]), Reporter(quiet=True))
    return open_routing(data / "current" / "routing")


@pytest.mark.parametrize(
    ("name", "streets", "ways", "length_m"),
    [
        (
            "issue-70-novisad",
            ["Милана Видака", "Бранка Радичевића", "Здравка Челара"],
            [263190269, 115389243, 190958702],
            894,
        ),
        ("issue-13-istanbul", [], [339724492, 85641655], 240),
        (
            "andorra_for_map_matching",
            ["Carretera General 3", "Carretera de Sorteny"],
            [177526454, 23857247],
            672,
        ),
    ],
)
def test_a_recorded_trace_lies_on_its_streets(engine, name, streets, ways, length_m):
    lonlat, seconds = read_gpx((TRACES / f"{name}.gpx").read_text())
    for options in ({}, {"timestamps_s": seconds}) if seconds is not None else ({},):
        match = match_trace(engine, lonlat, "auto", **options)
        names = list(dict.fromkeys(street for leg in match.legs for street in leg.names))
        assert names == streets
        assert match.matchings[0].way_ids == ways
        assert len(match.matchings) == 1
        assert match.distance_m == pytest.approx(length_m, rel=0.02)
        assert match.confidence > 0.85
