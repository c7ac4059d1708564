"""Compile the C of all rooms with a folder `kernels/` for a wheel, or by itself.

    python hatch_build.py [FOLDER] [--sanitize]

writes store.so and routing.so into FOLDER, or kernels.so beside each room's sources. The compiler
is `$CC`, else `cc`, else PyPI's `ziglang`, which the hook asks for where there is no other. With
`$MAPYARD_TARGET`, such as aarch64-linux-gnu.2.28, zig compiles for that machine and the wheel is
tagged for it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent / "src/mapyard"
ROOMS = ("store", "routing")
LIBRARY_NAME = "kernels.so"
ZIG = "ziglang>=0.15,<0.18"
TARGET = os.environ.get("MAPYARD_TARGET", "")
_FLAGS = ["-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"]
_LIBRARIES = ["-lm", "-lpthread"]
_FAST = ["-O3", "-DNDEBUG", "-s"]
_SANITIZED = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]


def find_compiler() -> list[str] | None:
    """Return the command of a C compiler, or None; a zig that is not installed is none."""
    if TARGET:
        return [sys.executable, "-m", "ziglang", "cc", f"--target={TARGET}"]
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    for name in ("cc", "gcc", "clang"):
        if path := shutil.which(name):
            return [path]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", *_name_target()]
    return None


def _name_target() -> list[str]:
    """Return zig's option for any processor of this kind, not only for this one."""
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    if sys.platform != "linux":
        return [f"-mcpu={'apple_m1' if machine == 'aarch64' else 'baseline'}"]
    library = "gnu.2.28" if platform.libc_ver()[0] == "glibc" else "musl"
    return [f"--target={machine}-linux-{library}"]


def sources_of(room: str) -> Path:
    """Return the folder with the C of a room."""
    return PACKAGE / room / "kernels"


def path_of(room: str, folder: Path | None = None) -> Path:
    """Return where the library of a room is written."""
    return folder / f"{room}.so" if folder else sources_of(room) / LIBRARY_NAME


def compile_kernels(folder: Path | None = None, *, sanitize: bool = False) -> list[Path]:
    """Compile what is not current, into a folder or beside the sources; return all libraries.

    Raises `SystemExit` where there is no compiler, or the compiler's error.
    """
    return [compile_room(room, path_of(room, folder), sanitize=sanitize) for room in ROOMS]


def compile_room(room: str, path: Path, *, sanitize: bool = False) -> Path:
    """Compile the library of a room, where it is not current, and return its path."""
    if is_current(path, sources_of(room)):
        return path
    compiler = find_compiler()
    if compiler is None:
        raise SystemExit(f"no C compiler: install one, or `pip install '{ZIG}'`")
    # Written aside and renamed: a process that has the old one open keeps it.
    written = path.with_suffix(".partial")
    sources = sorted(str(source) for source in sources_of(room).glob("*.c"))
    flags = [*_FLAGS, *(_SANITIZED if sanitize else _FAST)]
    subprocess.run([*compiler, *flags, "-o", str(written), *sources, *_LIBRARIES], check=True)  # noqa: S603 - the compiler
    written.replace(path)
    return path


def is_current(path: Path, sources: Path) -> bool:
    """Return whether a library is newer than all that it is made of."""
    made_of = [Path(__file__), *sources.glob("*.[ch]")]
    return path.is_file() and path.stat().st_mtime > max(one.stat().st_mtime for one in made_of)


def name_tag(libraries: list[Path]) -> str:
    """Return the wheel's tag: any Python 3, and the oldest glibc that has all the symbols."""
    tag = re.sub(r"[-.]", "_", sysconfig.get_platform())
    machine = TARGET.partition("-")[0] or platform.machine()
    if "-gnu" in TARGET or (tag.startswith("linux_") and platform.libc_ver()[0] == "glibc"):
        symbols = b"".join(library.read_bytes() for library in libraries)
        found = re.findall(rb"GLIBC_(\d+)\.(\d+)", symbols)
        major, minor = max((int(one), int(other)) for one, other in [*found, (2, 17)])
        tag = f"manylinux_{major}_{minor}_{machine}"
    return f"py3-none-{tag}"


def find_obstacle(
    system: str = sys.platform,
    machine: str = platform.machine(),
    libc: str = platform.libc_ver()[0],
) -> str:
    """Return why Mapyard cannot run on a platform and what to do there, "" where it can."""
    if system == "win32":
        return "Mapyard does not run on Windows itself: install it in WSL (`wsl --install`)"
    if system == "darwin" and machine != "arm64":
        return "Mapyard's routing engine has no build for Intel Macs: use the image (Docker)"
    if system == "linux" and libc != "glibc":
        return "Mapyard's routing engine needs glibc, which Alpine and others lack: use the image"
    if system == "linux" and machine not in ("x86_64", "aarch64"):
        return f"Mapyard's routing engine has no build for {machine}: x86-64 and ARM 64 have one"
    return ""


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # run by itself
    pass
else:

    class CompileKernels(BuildHookInterface[Any]):
        """Puts the library into the wheel, or beside its sources for an editable install."""

        PLUGIN_NAME = "custom"

        def dependencies(self) -> list[str]:
            """Return zig where no other compiler is found."""
            return [ZIG] if TARGET or not find_compiler() else []

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Compile, and tell the wheel what it holds."""
            libraries = compile_kernels()
            build_data["pure_python"] = False
            build_data["tag"] = name_tag(libraries)
            root = Path(__file__).parent
            build_data["artifacts"] += [str(path.relative_to(root)) for path in libraries]

    class CheckPlatform(MetadataHookInterface):
        """Says clearly where nothing will work, before any dependency fails to be built."""

        PLUGIN_NAME = "custom"

        def update(self, metadata: dict[str, Any]) -> None:
            """Raise where Mapyard cannot run."""
            if obstacle := find_obstacle():
                raise SystemExit(f"{obstacle}. See docs/install.md.")


def main() -> None:
    """Compile where something changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sanitize", action="store_true", help="with checks of memory and numbers")
    options = parser.parse_args()
    compile_kernels(options.folder, sanitize=options.sanitize)


if __name__ == "__main__":
    main()
