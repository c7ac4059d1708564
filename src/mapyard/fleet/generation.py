"""A generation: all regions of the same data time, in one manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from mapyard.dataset.manifest import FilePart
from mapyard.errors import MapyardError, NotFound
from mapyard.fleet.objects import Objects

FORMAT: Final = 1
SPLIT_NAME: Final = "split.json"
#: The extract of a region, and, beside the regions, that of the whole map.
SOURCE_NAME: Final = "source.osm.pbf"
#: Kinds of datasets besides regions: of the whole map, and of roads, for some kinds of requests.
WHOLE: Final = "whole"
OF_ROADS: Final = "roads"


class RegionUpdate(msgspec.Struct):
    """How a region came of the one before, by `mapyard regions update`."""

    #: The files before, by which the dataset before is found.
    before: dict[str, FilePart]
    #: What is new or another one, and the ids of what left.
    files: dict[str, FilePart]


class RegionFile(msgspec.Struct):
    """What a region has of the source."""

    name: str
    #: GeoJSON of its own area.
    area: dict[str, Any]
    #: west, south, east, north of the area with its margin, degrees.
    grown: tuple[float, float, float, float]
    #: nodes, ways, relations; guests of each.
    counts: dict[str, int]
    guests: dict[str, int]
    files: dict[str, FilePart]
    #: "" for a region; else what it is, and the only parts that are built of it.
    kind: str = ""
    parts: list[str] = []
    #: The own area where it is a box that was computed, in 1e-7 degree, half open.
    box: list[int] = []
    update: RegionUpdate | None = None


class Split(msgspec.Struct):
    """The split.json of `mapyard regions split`."""

    format: int
    osm_timestamp: str
    margin_m: float
    sources: list[dict[str, Any]]
    regions: list[RegionFile]
    #: Of the whole map, see wholes.py.
    wholes: list[RegionFile] = []
    #: Larger regions of roads only; where there are some, regions have no part `routing`.
    roads: list[RegionFile] = []
    roads_margin_m: float = 0.0
    #: Elements that lie in no region (where polygons were given).
    left_out: dict[str, int] = {}
    owner_rule: str = (
        "a node is owned by the region it lies in, a way by that of its first node, a relation by "
        "that of its first member that has one; what has none so, by the first that holds it"
    )

    #: Where the extracts lie, beside split.json; updates make another one.
    folder: str = ""

    def list_of(self, kind: str) -> list[RegionFile]:
        """Return the extracts of a kind, to be added to."""
        return {"": self.regions, WHOLE: self.wholes, OF_ROADS: self.roads}[kind]

    @property
    def extracts(self) -> list[RegionFile]:
        """Return all that datasets are built of."""
        return [*self.regions, *self.wholes, *self.roads]


class Region(msgspec.Struct, frozen=True):
    """A region as it is served."""

    name: str
    area: dict[str, Any]
    grown: tuple[float, float, float, float]
    #: Its dataset, in datasets/NAME/ID.
    dataset: str
    #: Bytes on a node's disk.
    bytes: int
    #: "" for a region; else it answers some kinds of requests only.
    kind: str = ""


class Raster(msgspec.Struct, frozen=True):
    """A file of heights, or one that such a file needs."""

    name: str
    file: FilePart
    #: west, south, east, north in degrees; None where the file by itself is no raster.
    box: tuple[float, float, float, float] | None = None

    @property
    def place(self) -> str:
        """Return its name in object storage."""
        return f"elevation/{self.file.checksum}/{self.name}"


class Generation(msgspec.Struct, frozen=True):
    """Datasets of all regions, of the same data time: generations/ID.json."""

    format: int
    id: str
    created: str
    osm_timestamp: str
    margin_m: float
    regions: list[Region]
    roads_margin_m: float = 0.0
    #: What nodes have to tell heights by.
    rasters: list[Raster] = []

    def get_region(self, name: str) -> Region:
        """Return a region by name; raise for other names."""
        for region in self.regions:
            if region.name == name:
                return region
        known = ", ".join(region.name for region in self.regions[:20])
        raise NotFound(f"there is no region {name[:60]}; there are {known}")


#: File that names the newest generation.
CURRENT_NAME: Final = "current.json"


def read_generation(objects: Objects, generation_id: str = "") -> Generation:
    """Return a generation, the newest by default; raise where there is none."""
    if not generation_id:
        text = objects.get(CURRENT_NAME)
        if text is None:
            raise MapyardError(
                f"{objects.url} has no generation; make one: mapyard fleet build SPLIT "
                f"--to {objects.url}"
            )
        generation_id = msgspec.json.decode(text)["generation"]
    text = objects.get(f"generations/{generation_id}.json")
    if text is None:
        raise MapyardError(f"{objects.url} has no generation {generation_id}")
    found = msgspec.json.decode(text, type=Generation)
    if found.format != FORMAT:
        raise MapyardError(
            f"generation {generation_id} has format {found.format}, this Mapyard reads {FORMAT}"
        )
    return found


def write_json(path: Path, value: msgspec.Struct) -> None:
    """Write a struct, whole or not at all."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1))
    fresh.replace(path)


def read_split(folder: Path) -> Split:
    """Return the split in a folder; raise where there is none."""
    try:
        return msgspec.json.decode((folder / SPLIT_NAME).read_bytes(), type=Split)
    except FileNotFoundError:
        raise MapyardError(
            f"{folder} has no {SPLIT_NAME}; make it with: mapyard regions split SOURCE --regions N "
            f"--out {folder}"
        ) from None
    except msgspec.DecodeError as error:
        raise MapyardError(f"{folder / SPLIT_NAME} is broken: {error}") from None
