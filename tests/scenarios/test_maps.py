"""The maps themselves: how many there are, and that none is another one with other tags."""

from __future__ import annotations

import textwrap
from collections import Counter

import pytest

from scenarios import test_answers, test_areas, test_electric, test_options, test_slopes
from scenarios.ascii_map import Scene
from scenarios.rules import SHEETS
from scenarios.scenes import make_scenes
from scenarios.storybook import Story, read_stories

type Shape = tuple[object, ...]

STORIES = read_stories()


def place_nodes(scene: Scene | Story) -> dict[str, tuple[int, int]]:
    """Return the column and row of every node that a way has.

    They count by their order, so that a stretched map is the same one.
    """
    places: dict[str, tuple[int, int]] = {}
    for row, line in enumerate(textwrap.dedent(scene.drawing).strip("\n").splitlines()):
        places |= {letter: (column, row) for column, letter in enumerate(line) if letter.isalnum()}
    used = {letter for letters in scene.ways for letter in letters}
    columns, rows = (sorted({places[one][axis] for one in used}) for axis in (0, 1))
    return {one: (columns.index(places[one][0]), rows.index(places[one][1])) for one in used}


def shape_of(scene: Scene | Story) -> Shape:
    """Return what is drawn, without names, tags, scale and the direction of ways."""
    at = place_nodes(scene)
    ways = [tuple(at[letter] for letter in letters) for letters in scene.ways]
    return tuple(sorted(min(way, way[::-1]) for way in ways))


def test_no_story_is_another_one_with_other_tags() -> None:
    """That would be a row of a table (rules.py): here each has a map of its own."""
    told: dict[Shape, str] = {}
    twins = []
    for story in STORIES:
        other = told.setdefault(shape_of(story), story.sentence)
        if other is not story.sentence:
            twins.append((other, story.sentence))
    assert not twins


def test_sentences_differ() -> None:
    counts = Counter(story.sentence for story in STORIES)
    assert [sentence for sentence, count in counts.items() if count > 1] == []


def test_there_are_three_hundred_maps() -> None:
    """Of a sheet one counts, whatever its table's length; so do scenes of one drawing elsewhere."""
    scenes: list[Scene | Story] = [
        *STORIES,
        *make_scenes(),
        *test_areas.SCENES,
        *test_options.SCENES,
        *test_answers.make_scenes(),
        *test_electric.make_scenes(),
        test_slopes.make_scene(),
    ]
    sheets = {shape_of(next(sheet.make_scenes())[1]) for sheet in SHEETS}
    assert len({shape_of(scene) for scene in scenes} | sheets) >= 300


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.table)
def test_rows_of_a_table_differ(sheet: object) -> None:
    rows = [row.text for row in sheet.rows]  # type: ignore[attr-defined]
    assert len(rows) == len(set(rows)) > 20
