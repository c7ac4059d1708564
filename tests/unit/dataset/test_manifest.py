"""Checksums of files: what is noticed, also by manifests from before."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from mapyard.builder.pipeline import describe_part
from mapyard.dataset import manifest
from mapyard.dataset.manifest import (
    FilePart,
    Manifest,
    Origin,
    Part,
    describe_file,
    is_as_written,
    write_manifest,
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "BLOCK_BYTES", 10)


@pytest.mark.parametrize("size", [0, 1, 10, 11, 25])
def test_any_changed_byte_is_noticed(tmp_path: Path, size: int) -> None:
    content = bytes(range(size))
    path = tmp_path / "file"
    path.write_bytes(content)
    known = describe_file(path)
    before = FilePart(size, hashlib.blake2b(content, digest_size=16).hexdigest())
    assert known.bytes == size
    assert len(known.blocks) == 16 * -(-size // 10)
    assert size > 10 or known.checksum == before.checksum
    assert is_as_written(path, known)
    assert is_as_written(path, before)
    for at in range(size):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert not is_as_written(path, known)
        assert not is_as_written(path, before)
        assert describe_file(path).checksum != known.checksum
    path.write_bytes(content + b"x")
    assert not is_as_written(path, known)
    assert not is_as_written(path, before)


def test_a_manifest_of_any_format_tells_of_a_file() -> None:
    files = {"a": {"bytes": 3, "checksum": "cd", "blocks": "ef"}, "b": {"bytes": 1}}
    origin = Origin("x", parts={"source": {"files": files}, "old": {"size": 3}})
    assert origin.find_file("a") == FilePart(3, "cd", "ef")
    assert origin.find_file("b") is None
    assert origin.find_file("c") is None


def test_checksums_of_shared_files_are_taken_over(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        (folder / "text").mkdir(parents=True)
    for name in ("shared", "copied", "changed"):
        (before / "text" / name).write_bytes(name.encode())
    (after / "text" / "shared").hardlink_to(before / "text" / "shared")
    (after / "text" / "copied").write_bytes(b"copied")
    (after / "text" / "changed").write_bytes(b"otherwise")
    (after / "text" / "new").write_bytes(b"new")
    part = Part({name: FilePart(0, name) for name in ("text/shared", "text/copied", "text/gone")})
    write_manifest(before, Manifest("b", "", parts={"text": part}))
    found = describe_part(after, set(), 1.0, {}, before).files
    expected = {
        f"text/{n}": describe_file(after / "text" / n) for n in ("changed", "copied", "new")
    }
    assert found == expected | {"text/shared": FilePart(0, "text/shared")}
    assert msgspec.json.decode(msgspec.json.encode(found), type=dict[str, FilePart]) == found
