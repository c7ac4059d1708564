from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mapyard.osm.source import prepare_source
from mapyard.store.reader import Store, open_store
from mapyard.store.writer import write_store
from osm_files import write_osm


@pytest.fixture
def make_store(tmp_path: Path) -> Callable[..., Store]:
    """Build a store from hand-made elements (arguments of osm_xml)."""

    def make(*args: object, **kwargs: object) -> Store:
        source = tmp_path / "source.osm.pbf"
        prepare_source([write_osm(tmp_path / "map.osm", *args, **kwargs)], source)
        write_store(tmp_path / "elements", source)
        return open_store(tmp_path / "elements")

    return make
