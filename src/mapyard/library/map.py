"""`mapyard.open("data")`: the datasets of a data folder, asked in this process."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mapyard.deadline import Cancelled, Deadline, no_deadline
from mapyard.errors import MapyardError
from mapyard.library.asker import Asker
from mapyard.library.call import Call
from mapyard.library.inputs import read_values
from mapyard.library.question import find_question
from mapyard.library.resources import Resources
from mapyard.library.results.feature import Features
from mapyard.library.snapshot import NoDataset, Snapshot, Snapshots
from mapyard.plugins import mapping_of
from mapyard.settings import Settings, get_settings


class CallDeadline(Deadline):
    """A deadline that an event of the caller's ends too."""

    __slots__ = ("_cancel",)

    def __init__(self, limit_s: float, cancel: threading.Event) -> None:
        super().__init__(limit_s)
        self._cancel = cancel

    def check(self) -> None:
        """Raise when time is up or the event is set."""
        if self._cancel.is_set():
            raise Cancelled
        super().check()


class Map(Asker):
    """A data folder, open. Safe to use from several threads; several may be open at once.

    Each call is answered from the newest dataset, so an update is picked up by itself; a result
    stays with the dataset that it came from. With `follow=False` that happens at `refresh()` only.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        dataset: str = "",
        follow: bool = True,
        settings: Settings | None = None,
    ) -> None:
        chosen = settings or get_settings()
        if data is not None:
            chosen = chosen.replace(data=Path(data))
        self.settings = chosen
        self._resources = Resources(chosen)
        self._snapshots = Snapshots(chosen)
        self._follow = follow and not dataset
        self._pinned: Snapshot | None = None
        if dataset:
            self._pinned = Snapshot(chosen.data / "datasets" / dataset, chosen).lease()
        elif not follow:
            self._pinned = self._lease_first()
        else:
            self._lease_first().release()  # a folder without a dataset is told at once

    @property
    def dataset(self) -> str:
        """Return the id of the dataset that the next call is answered from."""
        snapshot = self._lease()
        try:
            return snapshot.id
        finally:
            snapshot.release()

    @property
    def timestamp(self) -> str:
        """Return the time of the data, ISO 8601, "" where the extract does not tell."""
        snapshot = self._lease()
        try:
            return snapshot.timestamp
        finally:
            snapshot.release()

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Return west, south, east, north of the data, degrees."""
        snapshot = self._lease()
        try:
            bbox = snapshot.manifest.bbox
            if bbox is None:
                raise ValueError(f"dataset {snapshot.id} holds nothing with a position")
            west, south, east, north = bbox
            return west, south, east, north
        finally:
            snapshot.release()

    def refresh(self) -> str:
        """Take the newest dataset from now on; return its id."""
        if self._pinned is not None and not self._follow:
            new = self._snapshots.lease()
            self._pinned.release()
            self._pinned = new
        return self.dataset

    def close(self) -> None:
        """Let the datasets go; results that are still read keep theirs until they are dropped."""
        if self._pinned is not None:
            self._pinned.release()
            self._pinned = None
        self._snapshots.close()

    def _lease_first(self) -> Snapshot:
        """Return the current dataset, or raise why there is none."""
        try:
            return self._snapshots.lease()
        except NoDataset as error:
            if isinstance(error.__cause__, MapyardError):  # there is one, and it says what is wrong
                raise error.__cause__ from None
            data = self.settings.data
            raise NoDataset(
                f"there is no dataset in {data}; build one: mapyard build SOURCE --data {data}"
            ) from None

    def _lease(self) -> Snapshot:
        return self._pinned.lease() if self._pinned is not None else self._snapshots.lease()

    def _ask(self, name: str, values: dict[str, Any]) -> Any:
        question = find_question(name)
        del values["self"]
        timeout_s = values.pop("timeout", None)
        max_bytes = values.pop("max_bytes", None)
        cancel = values.pop("cancel", None)
        params = question.parser.parse(read_values(question, values))
        snapshot = self._lease()
        try:
            deadline = _make_deadline(timeout_s, cancel)
            call = Call(snapshot, deadline, self._resources, max_bytes)
            result = question.answer(call, params)
            if isinstance(result, Features):
                result.tiles = self._find_tile
            if getattr(result, "call", None) is not None or hasattr(result, "_call"):
                # It is read later, from this dataset.
                weakref.finalize(result, snapshot.lease().release)
            return result
        finally:
            snapshot.release()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method of a question that a plugin adds."""
        if name.startswith("_") or name not in mapping_of("QUESTIONS"):
            raise AttributeError(f"a map has no {name}")

        def ask(*positional: Any, **values: Any) -> Any:
            leading = dict(zip(find_question(name).leading, positional, strict=False))
            return self._ask(name, {"self": self, **leading, **values})

        return ask

    def _find_tile(self, z: int, x: int, y: int) -> bytes:
        return self.tile(z, x, y)

    def __repr__(self) -> str:
        return f"<Map {self.settings.data} {self.dataset}>"


def _make_deadline(timeout_s: float | None, cancel: threading.Event | None) -> Deadline:
    if cancel is not None:
        return CallDeadline(no_deadline().limit_s if timeout_s is None else timeout_s, cancel)
    return no_deadline() if timeout_s is None else Deadline(timeout_s)


def build(
    *sources: str | Path,
    data: str | Path = "data",
    only: list[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Map:
    """Build a dataset out of extracts and open it.

    Args:
        sources: .osm.pbf, .osm, .osm.gz or .osm.bz2 files, or URLs of them.
        data: the data folder; it is made where there is none.
        only: parts to build, such as ["text"]; all by default. The element store is always built.
        progress: called with a line of text as steps begin and end.
    """
    from mapyard.addresses import show_address
    from mapyard.builder.download import download, is_url
    from mapyard.builder.pipeline import build_dataset
    from mapyard.builder.progress import LineReporter, Reporter
    from mapyard.builder.steps import select_steps

    folder = Path(data)
    steps = select_steps(only)
    with Reporter(quiet=True) if progress is None else LineReporter(progress) as reporter:
        names = [str(source) for source in sources]
        files = [
            download(name, folder / "downloads", reporter) if is_url(name) else Path(name)
            for name in names
        ]
        shown = [show_address(name) if is_url(name) else name for name in names]
        build_dataset(files, folder, steps, reporter, names=shown)
    return Map(folder)
