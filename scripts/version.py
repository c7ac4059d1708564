"""The version of this source tree, out of its tag.

    python scripts/version.py    # 0.2.0 at the tag v0.2.0; 0.2.1.dev5+g1a2b3c4d five commits later

The build runs this as well (pyproject.toml). A source distribution has no tags, but says its
version in PKG-INFO. A clone without tags is on the way to the first version.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What comes where no tag says what was before.
FIRST = "0.1.0"
_DESCRIPTION = re.compile(r"v(\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?)-(\d+)-(g[0-9a-f]+)(-dirty)?")


def find_version(root: Path = ROOT) -> str:
    """Return the version of the tree in `root`."""
    info = root / "PKG-INFO"
    if info.is_file():
        stated = re.search(r"^Version: (\S+)$", info.read_text(encoding="utf-8"), re.MULTILINE)
        if stated:
            return stated[1]
    top = _ask_git(root, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root.resolve():
        return f"{FIRST}.dev0"
    described = _ask_git(root, "describe", "--tags", "--long", "--match", "v[0-9]*", "--dirty")
    if described:
        return read_description(described)
    commit = _ask_git(root, "describe", "--always", "--exclude", "*", "--dirty")
    count = _ask_git(root, "rev-list", "--count", "HEAD")
    return f"{FIRST}.dev{count or 0}" + (f"+g{commit.replace('-', '.')}" if commit else "")


def read_description(described: str) -> str:
    """Return the version for what `git describe --long --dirty` says."""
    match = _DESCRIPTION.fullmatch(described)
    if match is None:
        raise ValueError(f"the tag of {described!r} is no version such as v0.2.0")
    version, count, commit, dirty = match[1], int(match[2]), match[3], bool(match[4])
    if not count and not dirty:
        return version
    # The next one is to come: 0.2.0 → 0.2.1, 0.3.0rc1 → 0.3.0rc2.
    head, last = re.fullmatch(r"(.*?)(\d+)", version).groups()  # type: ignore[union-attr]
    return f"{head}{int(last) + 1}.dev{count}+{commit}" + (".dirty" if dirty else "")


def _ask_git(root: Path, *arguments: str) -> str:
    """Return what git says, or "" where it is missing or knows nothing of this folder."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=root, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    print(find_version())
