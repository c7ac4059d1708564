"""Which dataset of a fleet answers a row of bulk work, and its answers put back in order.

The same rules as for requests (front.py): places are asked of the dataset of all places, roads of
the region of roads that holds all positions, elements of a region that holds all that a row looks
at, or of all that this meets. A process fetches the datasets that its rows ask for, verified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from mapyard.bulk.blocks import ERROR, Answers, Block, BulkFailed
from mapyard.bulk.joins import Enriching
from mapyard.bulk.read import read_properties
from mapyard.bulk.tasks import Task, ask
from mapyard.deadline import no_deadline
from mapyard.errors import MapyardError, Unsupported
from mapyard.fleet.extent import find_extent
from mapyard.fleet.generation import Generation, Region, read_generation
from mapyard.fleet.heights import fetch_rasters
from mapyard.fleet.map import RegionMap
from mapyard.fleet.objects import Objects
from mapyard.fleet.pull import pull_region
from mapyard.fleet.wholes import PLACES
from mapyard.library.call import Call
from mapyard.library.question import find_question
from mapyard.library.resources import Resources
from mapyard.library.snapshot import Snapshot
from mapyard.settings import get_settings
from mapyard.store.reader import Store

#: Regions that a process holds open.
_OPEN: Final = 16
_MANIFESTS: Final = "/generations/"


class Regions(NamedTuple):
    """A generation in object storage, as what bulk work asks."""

    url: str
    generation: Generation
    #: Where they are fetched to; None: the data folder of the node.
    data: Path | None = None

    @property
    def name(self) -> str:
        """Return the generation's id."""
        return self.generation.id

    def check(self, task: Task) -> None:
        """Raise where no dataset can answer any row."""
        known = RegionMap(self.generation)
        if task.part == "geocoder" and PLACES not in known.wholes and len(known.regions) > 1:
            raise BulkFailed(
                f"generation {self.name} has no dataset {PLACES!r}, which answers this; build it "
                "with the part text"
            )

    def open(self, task: Task) -> Callable[[Block], Answers]:
        """Return what answers a block."""
        find_question(task.question)  # it says how the parts that it asks are opened
        data = self.data or get_settings().data
        return partial(_answer, task, Chooser(task, self.generation), Holding(self, task, data))


def find_regions(url: str, data: Path | None = None) -> Regions:
    """Return the newest generation below a URL, or the one whose manifest it names."""
    if _MANIFESTS in url and url.endswith(".json"):
        url, _, name = url.removesuffix(".json").partition(_MANIFESTS)
    else:
        name = ""
    if "://" not in url:
        url = str(Path(url).resolve())
    objects = Objects(url)
    return Regions(objects.url, read_generation(objects, name), data)


class Chooser:
    """Finds the datasets that answer a row."""

    def __init__(self, task: Task, generation: Generation) -> None:
        self._task = task
        self._map = RegionMap(generation)
        is_of_places = task.part == "geocoder" or task.question == "elevation"
        self._is_of_places = is_of_places and PLACES in self._map.wholes
        self._is_of_roads = task.part == "routing" and bool(self._map.roads)

    def choose(self, rows: Sequence[Mapping[str, Any]]) -> tuple[Region, ...]:
        """Return one dataset that answers a unit of rows, or several that do together.

        Raises Unsupported where none does.
        """
        if self._is_of_places:
            return (self._map.wholes[PLACES],)
        try:
            box = find_extent(self._task.locate(rows))
        except MapyardError:  # it has no position, and is told so anywhere
            return ((self._map.roads if self._is_of_roads else self._map.regions)[0],)
        if self._is_of_roads:
            roads = self._map.find_roads(box) if box is not None else self._map.roads[0]
            if roads is None:
                raise Unsupported("no region of roads holds all positions of the row")
            return (roads,)
        whole = self._map.find_whole(box)
        if whole:
            return (whole[0],)
        if not isinstance(self._task, Enriching):
            raise Unsupported("no region holds all positions of the row")
        return tuple(self._map.find_meeting(box))


class FetchedCall(Call):
    """A call whose dataset is fetched and opened when something is asked of it."""

    def __init__(self, open_it: Callable[[], Snapshot], resources: Resources) -> None:
        super().__init__(None, no_deadline(), resources)
        self._open_it = open_it

    @property
    def snapshot(self) -> Snapshot:
        """Return the dataset."""
        if self._snapshot is None:
            self._snapshot = self._open_it()
        return self._snapshot

    @property
    def store(self) -> Store:
        """Return its feature store."""
        return self.snapshot.store

    def close(self) -> None:
        """Let the dataset go."""
        if self._snapshot is not None:
            self._snapshot.retire()


class Holding:
    """The regions that a process has open; those asked last stay."""

    def __init__(self, regions: Regions, task: Task, data: Path) -> None:
        self._objects = Objects(regions.url)
        self._generation, self._task, self._data = regions.generation, task, data
        self._settings = get_settings().replace(data=data)
        self._resources = Resources(self._settings)
        #: The one asked last comes last.
        self._calls: dict[str, FetchedCall] = {}
        if task.question == "elevation":
            fetch_rasters(self._objects, regions.generation.rasters, data)
        if not task.part:  # it asks for nothing of a dataset that may lack
            task.check(Call(None, no_deadline(), self._resources))

    def get_calls(self, names: Sequence[str]) -> list[Call]:
        """Return the calls that ask some regions."""
        for name in [name for name in self._calls if name not in names]:
            if len(self._calls) + len(names) <= _OPEN:
                break
            self._calls.pop(name).close()
        return [self._get_call(name) for name in names]

    def _get_call(self, name: str) -> Call:
        call = self._calls.pop(name, None)
        if call is None:
            region = self._generation.get_region(name)
            call = FetchedCall(partial(self._open, region), self._resources)
            if self._task.part:
                self._task.check(call)
        self._calls[name] = call
        return call

    def _open(self, region: Region) -> Snapshot:
        snapshot = Snapshot(pull_region(self._objects, region, self._data), self._settings)
        snapshot.part("store")  # now: another generation may take the files away
        return snapshot


def _answer(task: Task, chooser: Chooser, holding: Holding, block: Block) -> Answers:
    """Return the answers of a block, of each row by its datasets."""
    rows = [read_properties(row) for row in block.get_rows(task.needed())]
    by_regions: dict[tuple[str, ...], list[int]] = {}
    refused: dict[int, str] = {}
    for places in task.iter_units(rows):
        readable = [rows[place] for place in places if place not in block.problems]
        try:
            chosen = chooser.choose(readable or [rows[places[0]]])
        except MapyardError as error:
            refused |= dict.fromkeys(places, error.message)
            continue
        by_regions.setdefault(tuple(region.name for region in chosen), []).extend(places)
    parts = [_refuse(task, refused, block.problems)] if refused else []
    for names, of_regions in by_regions.items():
        some = [rows[place] for place in of_regions]
        problems = {
            at: block.problems[place] for at, place in enumerate(of_regions)
            if place in block.problems
        }  # fmt: skip
        calls = holding.get_calls(names)
        if len(calls) == 1:
            answers = task.answer(calls[0], some, problems)
        else:
            answers = _answer_together(task, calls, some, problems)
        own = answers.places if answers.places is not None else range(len(some))
        parts.append(([of_regions[at] for at in own], answers))
    return _put_together(task, parts, len(rows))


type _Part = tuple[list[int], Answers]


def _refuse(task: Task, refused: dict[int, str], problems: dict[int, str]) -> _Part:
    values: dict[str, list[Any]] = {column.name: [None] * len(refused) for column in task.added}
    values[ERROR] = [problems.get(place, why) for place, why in refused.items()]
    return list(refused), Answers(values)


def _answer_together(
    task: Task, calls: Sequence[Call], rows: Sequence[Mapping[str, Any]], problems: dict[int, str]
) -> Answers:
    """Return the answers of rows whose surroundings several regions have."""
    assert isinstance(task, Enriching)
    values: dict[str, list[Any]] = {column.name: [] for column in task.added}
    for place, row in enumerate(rows):
        told: dict[str, Any] = {ERROR: problems.get(place)}
        if place not in problems:
            told = ask(partial(_join, task, calls, row), calls[0])
        for name, column in values.items():
            column.append(told.get(name))
    return Answers(values)


def _join(task: Enriching, calls: Sequence[Call], row: Mapping[str, Any]) -> dict[str, Any]:
    for call in calls:
        call.deadline = calls[0].deadline
    return task.join(calls, row)


def _put_together(task: Task, parts: Sequence[_Part], count: int) -> Answers:
    """Return all answers in the order of rows; those of a row stay in theirs."""
    places = [place for part, _ in parts for place in part]
    order = np.argsort(np.array(places, np.int64), kind="stable").tolist()
    values = {}
    for column in task.added:
        told = [value for _, answers in parts for value in answers.values[column.name]]
        values[column.name] = [told[at] for at in order]
    in_order = [places[at] for at in order]
    return Answers(values, None if in_order == list(range(count)) else in_order)
