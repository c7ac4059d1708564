"""What maps of this process and of a server have in common beyond the questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mapyard.library.methods import Questions


class Asker(Questions):
    """The questions, and what is made of their answers."""

    def export(
        self,
        target: str | Path,
        *,
        format: str | None = None,
        progress: Callable[[int], None] | None = None,
        timeout: float | None = None,
        **filters: Any,
    ) -> int:
        """Write elements to a file; return how many there are.

        Args:
            target: file to write; its name tells the format unless `format` does: geoparquet,
                flatgeobuf, gpkg, geojson, ndjson, csv or osm.
            format: one of these.
            progress: called with the number of elements written so far.
            timeout: seconds, after which `Timeout` is raised and nothing is left of the file.
            filters: as of `features`: tags, bbox, near, within, type, …
        """
        from mapyard.library.export import export_elements

        found = self.features(timeout=timeout, **filters)
        return export_elements(found, Path(target), format, progress)

    def close(self) -> None:
        """Let everything go."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
