"""`output[…]`: how features look in an answer; never which ones are in it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mapyard.geo.geojson import DEFAULT_PRECISION

MAX_BUFFER_M = 100_000.0


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """Output options; the defaults are a feature with all tags and its whole geometry."""

    fields: Annotated[
        list[Annotated[str, Meta(max_length=255)]] | None,
        Meta(
            description="only these tags in properties (@type and @id stay)",
            examples=["name,amenity"],
            max_length=100,
        ),
    ] = None
    include: Annotated[
        tuple[Literal["bbox", "center", "distance", "meta"], ...],
        Meta(
            description="more per feature: bbox (member bbox), center of the box (@center), "
            "distance (distance_m, in proximity queries always there), meta (@version, "
            "@timestamp, @changeset, @user, @uid)"
        ),
    ] = ()
    lang: Annotated[
        tuple[Annotated[str, Meta(max_length=35)], ...],
        Meta(
            max_length=10,
            description="languages, the preferred first: the property @name is the name in the "
            "first that has one, else the local one; over HTTP those of Accept-Language",
            examples=["fr,en"],
        ),
    ] = ()
    precision: Annotated[int, Meta(ge=1, le=15, description="decimals of coordinates")] = (
        DEFAULT_PRECISION
    )
    geometry: Annotated[bool, Meta(description="false: geometry is null")] = True
    centroid: Annotated[bool, Meta(description="the centroid instead of the geometry")] = False
    simplify: Annotated[
        float | None,
        Meta(ge=0, le=100_000, description="simplify lines and areas by this tolerance in meters"),
    ] = None
    buffer: Annotated[
        float | None,
        Meta(ge=0, le=MAX_BUFFER_M, description="widen geometries by this many meters"),
    ] = None
    sort: Annotated[
        Literal["osm_id", "name", "distance"],
        Meta(description="order; name and distance page by offset, not by cursor"),
    ] = "osm_id"

    def __post_init__(self) -> None:
        """Take 0 as absent: client libraries send it so."""
        for name in ("simplify", "buffer"):
            if getattr(self, name) == 0:
                msgspec.structs.force_setattr(self, name, None)


DEFAULT_OUTPUT = Output()
