"""A dataset that another version of Mapyard made, built anew out of its own source."""

from __future__ import annotations

from pathlib import Path

from mapyard.builder.pipeline import BuildReport, build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import PART_NAMES, select_steps
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import (
    FORMAT_VERSION,
    Origin,
    is_as_written,
    name_sources,
    read_origin,
)
from mapyard.errors import MapyardError
from mapyard.osm.waiting import WHOLE_NAME, require_files, write_whole
from mapyard.routing.contraction.tables import find_missing, is_outdated
from mapyard.settings import Settings


def find_origin(data: Path, dataset_id: str) -> tuple[Path, Origin]:
    """Return folder and origin of a dataset of any format; "current" is the one to be served."""
    catalog = Catalog(data)
    if dataset_id == "current":
        dataset_id = catalog.find_current() or next(reversed(catalog.ids()), "current")
    folder = catalog.path(dataset_id)
    return folder, read_origin(folder)


def upgrade_dataset(
    data: Path, dataset_id: str, progress: Reporter, settings: Settings
) -> BuildReport | None:
    """Build a dataset of an older format, or with older or fewer prepared ways, anew; switch to it.

    It gets the parts that it had. Updates go on where they were: the source's header says where.
    Returns None when nothing needs it.
    """
    folder, origin = find_origin(data, dataset_id)
    routing = folder / "routing"
    missing = find_missing(routing, settings.prepared_profiles) if routing.is_dir() else []
    if origin.format == FORMAT_VERSION and not is_outdated(routing) and not missing:
        return None
    if origin.format > FORMAT_VERSION:
        raise MapyardError(
            f"{folder.name} has format {origin.format}, this Mapyard makes {FORMAT_VERSION}: "
            "a newer Mapyard made it; upgrade the program instead"
        )
    names = name_sources(origin.sources)
    files = require_files(folder, names)
    for file in files:
        known = origin.find_file(file)
        if known is not None and not is_as_written(folder / file, known):
            raise MapyardError(
                f"{file} of {folder.name} has changed since it was built, so nothing is made of "
                f"it; build it again with: mapyard build {names}"
            )
    # Parts of plugins are steps of theirs; those whose plugin is gone are an error that names them.
    parts = [name for name in origin.parts if name not in ("source", *PART_NAMES[:1])]
    source = folder / WHOLE_NAME
    # Under a name that the next upgrade takes again, should this one be killed.
    made = data / "upgrade.osm.pbf"
    try:
        if files != [WHOLE_NAME]:
            progress.stage("source: joining changes")
            with Catalog(data).lock():
                write_whole(folder, made)
            source = made
        return build_dataset(
            [source],
            data,
            select_steps(parts),
            progress,
            settings=settings,
            sources=origin.sources,
            same_data=folder,
        )
    finally:
        made.unlink(missing_ok=True)
