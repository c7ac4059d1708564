from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.text.index import TextIndex


def test_an_index_that_is_not_built_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TextIndex(tmp_path / "index")
