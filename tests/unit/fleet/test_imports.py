"""One machine stays as simple as it is: nothing of the fleet is imported unless asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mapyard.errors import MapyardError
from mapyard.fleet.objects import Objects
from mapyard.fleet.ray import check_private

_SERVING = """
import sys
import mapyard.cli, mapyard.server.worker, mapyard.server.supervisor, mapyard.server.nursery
import mapyard.library.doors, mapyard.bulk.run, mapyard.cli.serve, mapyard.cli.build
from mapyard.server.assembly import load_endpoints
load_endpoints()
print([n for n in sys.modules if n.partition(".")[0] in ("ray", "obstore") or ".fleet" in n])
"""


def test_serving_imports_nothing_of_it() -> None:
    done = subprocess.run([sys.executable, "-c", _SERVING], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_a_missing_extra_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(MapyardError, match=r"pip install 'mapyard\[fleet\]'"):
        Objects(str(tmp_path))


@pytest.mark.parametrize(
    ("address", "token", "is_told", "told"),
    [
        ("8.8.8.8:6379", "token", False, "is public"),
        ("8.8.8.8:6379", "token", True, ""),
        ("10.0.0.1:6379", "", False, "without a token"),
        ("10.0.0.1:6379", "token", False, ""),
        ("127.0.0.1:6379@127.0.0.2", "", False, ""),
    ],
)
def test_ray_on_public_addresses_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str, token: str, is_told: bool, told: str
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", token)
    if not told:
        check_private(address, is_told=is_told)
        return
    with pytest.raises(MapyardError, match=told):
        check_private(address, is_told=is_told)


def test_files_come_back_as_they_were(tmp_path: Path) -> None:
    from mapyard.dataset.manifest import describe_file

    pytest.importorskip("obstore")
    objects = Objects(str(tmp_path / "store"))
    source = tmp_path / "a"
    source.write_bytes(bytes(range(256)) * 100_000)
    objects.put_file("x/y/a", source)
    objects.get_file("x/y/a", tmp_path / "b", describe_file(source))
    assert (tmp_path / "b").read_bytes() == source.read_bytes()
    assert objects.get("none") is None
    (tmp_path / "store" / "x" / "y" / "a").write_bytes(b"other")
    with pytest.raises(MapyardError, match="its checksum differs"):
        objects.get_file("x/y/a", tmp_path / "c", describe_file(source))
    assert not (tmp_path / "c").exists()
    with pytest.raises(MapyardError, match="is not there"):
        objects.get_file("x/none", tmp_path / "c")
