"""Places: what geocoding finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from mapyard.geocoding.answer.batch import Answer
from mapyard.library.results.feature import Feature, Features
from mapyard.results.pages import ATTRIBUTION


class Place(Feature):
    """One address, street, area or point of interest."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Return the whole address or name, as people write it."""
        return str(self.properties["display_name"])

    @property
    def confidence(self) -> float | None:
        """Return how much of the question the place answers, 0 to 1."""
        found: float | None = self.get("confidence")
        return found

    @property
    def distance_m(self) -> float | None:
        """Return the distance to the position asked for, meters; None in forward geocoding."""
        found: float | None = self.get("distance_m")
        return found


class Places(Features):
    """Places, the best first."""

    item = Place

    def __init__(
        self, features: Sequence[dict[str, Any]] = (), members: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(features, {"attribution": ATTRIBUTION, **(members or {})})
        #: The features as the geocoder made them.
        self.features = list(features)

    @overload
    def __getitem__(self, index: int) -> Place: ...
    @overload
    def __getitem__(self, index: slice) -> Features: ...
    def __getitem__(self, index: int | slice) -> Feature | Features:
        return super().__getitem__(index)


def _with_id(collection: dict[str, Any], row: Any) -> dict[str, Any]:
    """Return a collection with the id that its row came with."""
    if isinstance(row, Mapping):
        for name, value in row.items():
            if str(name).strip().lower() == "id" and value not in (None, ""):
                return {**collection, "id": value}
    return collection


def write_row(row: Any, answer: Answer) -> dict[str, Any]:
    """Return the collection that answers a row."""
    found: dict[str, Any] = {"type": "FeatureCollection", "features": answer.features}
    if answer.error:
        found["error"] = {"code": "invalid_request", "message": answer.error}
    return _with_id(found, row)


class PlaceBatch(Sequence[Places]):
    """The places of many rows, in the order of the rows; `error` is in a bad row's members."""

    def __init__(
        self,
        answers: Iterator[Answer],
        rows: Sequence[Any] = (),
        columns: Sequence[str] = (),
        delimiter: str = ",",
    ) -> None:
        self._answers = answers
        self._held: list[Places] | None = None
        #: The rows as they came, and of CSV its columns and delimiter.
        self.rows = rows
        self.columns = list(columns)
        self.delimiter = delimiter

    def iter_answers(self) -> Iterator[Answer]:
        """Yield the answer of each row, once; for who writes them out one by one."""
        return self._answers

    def _load(self) -> list[Places]:
        if self._held is None:
            self._held = []
            for answer in self._answers:
                members: dict[str, Any] = {}
                if answer.error:
                    members["error"] = {"code": "invalid_request", "message": answer.error}
                self._held.append(Places(answer.features, members))
        return self._held

    def __len__(self) -> int:
        return len(self._load())

    @overload
    def __getitem__(self, index: int) -> Places: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Places]: ...
    def __getitem__(self, index: int | slice) -> Places | Sequence[Places]:
        return self._load()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlaceBatch) and self._load() == other._load()

    __hash__ = None  # type: ignore[assignment] # equal by content

    def to_json(self) -> dict[str, Any]:
        """Return count and results, one FeatureCollection per row, as the endpoint answers."""
        results = []
        rows = self.rows or [None] * len(self)
        for places, row in zip(self, rows, strict=True):
            members = {k: v for k, v in places.members.items() if k != "attribution"}
            collection = {"type": "FeatureCollection", "features": places.features, **members}
            results.append(_with_id(collection, row))
        return {"attribution": ATTRIBUTION, "count": len(results), "results": results}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> PlaceBatch:
        """Return the batch that an endpoint answered."""
        answers = (
            Answer(row["features"], (row.get("error") or {}).get("message", ""))
            for row in body["results"]
        )
        return cls(answers)
