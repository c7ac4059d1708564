"""Routes, roads, areas within reach, matched traces and tours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mapyard.library.results.feature import Feature, Features, Written
from mapyard.results.pages import ATTRIBUTION
from mapyard.routing.nearest import NearestRoad


class WayFeatures(Features):
    """A collection of what an engine of ways found."""

    def __init__(
        self, features: Sequence[dict[str, Any]] = (), members: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(features, {"attribution": ATTRIBUTION, **(members or {})})
        #: The features as they were made; their geometries may be prepared JSON.
        self.features = list(features)


class Route(Feature):
    """A route: a line with its length, time and steps; `alternatives` are other routes."""

    __slots__ = ("_alternatives",)

    def __init__(self, written: Written, alternatives: Sequence[Route] | None = None) -> None:
        super().__init__(written)
        self._alternatives = alternatives

    @property
    def alternatives(self) -> list[Route]:
        """Return the other routes, if they were asked for."""
        return list(self._alternatives or ())

    @property
    def distance_m(self) -> float:
        """Return the length, meters."""
        return float(self.properties["distance_m"])

    @property
    def duration_s(self) -> float:
        """Return the time it takes, seconds."""
        return float(self.properties["duration_s"])

    @property
    def legs(self) -> list[dict[str, Any]]:
        """Return distance and duration between each two positions."""
        return list(self.properties["legs"])

    @property
    def steps(self) -> list[dict[str, Any]]:
        """Return the instructions; empty unless asked for with steps=True."""
        return list(self.properties.get("steps", ()))

    def to_written(self) -> Any:
        """Return the feature, a collection where alternatives were asked for, ready for JSON."""
        if self._alternatives is None:
            return self.written
        return {
            "type": "FeatureCollection",
            "attribution": ATTRIBUTION,
            "features": [self.written, *(other.written for other in self._alternatives)],
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Route:
        """Return the route that an endpoint answered."""
        if body["type"] == "Feature":
            return cls(body)
        first, *others = body["features"]
        return cls(first, [cls(other) for other in others])


class NearestRoads(WayFeatures):
    """Places on roads, nearest first."""

    def __init__(
        self, features: Sequence[dict[str, Any]] = (), roads: Sequence[NearestRoad] = ()
    ) -> None:
        super().__init__(features)
        #: The same as the engine has them; empty where they came over HTTP.
        self.roads = list(roads)


class Area(Feature):
    """An area within reach."""

    __slots__ = ()

    @property
    def area_m2(self) -> float:
        """Return its size, square meters."""
        return float(self.properties["area_m2"])


class Areas(WayFeatures):
    """Areas within reach, in the order asked for."""

    item = Area


class MatchedTrace(Feature):
    """The way that a trace was travelled on."""

    __slots__ = ()

    @property
    def confidence(self) -> float:
        """Return how well the trace fits, 0 to 1."""
        return float(self.properties["confidence"])

    @property
    def distance_m(self) -> float:
        """Return the length of the way, meters."""
        return float(self.properties["distance_m"])

    @property
    def legs(self) -> list[dict[str, Any]]:
        """Return what was travelled between each two points of the trace."""
        return list(self.to_geojson()["legs"])


class Tour(WayFeatures):
    """Stops in the order of visiting; `route` is the line through them."""

    @property
    def order(self) -> list[int]:
        """Return the places of the stops in the question, in the order of visiting."""
        return list(self.members["waypoint_order"])

    @property
    def distance_m(self) -> float:
        """Return the length of the tour, meters."""
        return float(self.members["distance_m"])

    @property
    def duration_s(self) -> float:
        """Return the time on the way, seconds."""
        return float(self.members["duration_s"])

    @property
    def route(self) -> Route:
        """Return the line through the stops, with a leg between each two."""
        return Route(self.members["route"])


@dataclass(frozen=True)
class TourPlan:
    """Tours of several vehicles, in VROOM's form."""

    #: `summary`, `routes` with their `steps`, `unassigned` with reasons.
    solution: dict[str, Any]

    @property
    def routes(self) -> list[dict[str, Any]]:
        """Return a tour per vehicle that is used, each with its steps."""
        return list(self.solution["routes"])

    @property
    def unassigned(self) -> list[dict[str, Any]]:
        """Return the tasks that are in no tour, each with a reason."""
        return list(self.solution["unassigned"])

    @property
    def summary(self) -> dict[str, Any]:
        """Return cost, duration, distance and such of all tours."""
        return dict(self.solution["summary"])

    def to_written(self) -> dict[str, Any]:
        """Return the endpoint's answer, ready for orjson."""
        return self.solution

    def to_json(self) -> dict[str, Any]:
        """Return the endpoint's answer as plain Python values."""
        return self.solution
