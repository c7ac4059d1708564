from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from mapyard.results.features import write_features
from mapyard.store.reader import Store, open_store
from mapyard.userdata.importing import Imported, import_file
from mapyard.userdata.rows import Options
from mapyard.userdata.write import Limits

LIMITS = Limits(100_000, 1 << 30)


class Made(NamedTuple):
    """What an import said, its store, and all of its features in order."""

    said: Imported
    store: Store
    features: list[dict[str, Any]]


Import = Callable[..., Made]


@pytest.fixture
def make(tmp_path: Path) -> Import:
    """Import a file or its contents; options by name."""

    def make(source: Path | bytes | str, **options: Any) -> Made:
        limits = options.pop("limits", LIMITS)
        geocode = options.pop("geocode", None)
        if not isinstance(source, Path):
            data = source.encode() if isinstance(source, str) else source
            source = tmp_path / "source"
            source.write_bytes(data)
        folder = tmp_path / f"store{len(list(tmp_path.glob('store*')))}"
        said = import_file(source, folder, Options(**options), limits, geocode)
        store = open_store(folder)
        features = [orjson.loads(text) for text in write_features(store, store.listed)]
        return Made(said, store, features)

    return make
