"""Make a release: packages, bill of materials and checksums in dist/, and try them.

    python scripts/release.py            # `make release`: all of it, some ten minutes
    python scripts/release.py --quick    # one wheel in one clean environment, as the tests do

At a tag it insists on the changelog, the citation and a clean tree; elsewhere it makes a
development version. It publishes nothing. What could not be tried is said at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from try_demo import Failed, ask_demo, free_port
from version import find_version

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.12", "3.13", "3.14")
#: Platform as uv names it → what we say about it.
PLATFORMS = {
    "x86_64-manylinux_2_34": "Linux x86-64",
    "aarch64-manylinux_2_34": "Linux ARM",
    "aarch64-apple-darwin": "macOS 15 on ARM",
}
MAX_WHEEL_BYTES = 5_200_000
MAX_INSTALLED_MB = 600
EXTRACT = "mapyard/examples/monaco.osm.pbf"
#: What must be in a wheel, besides the program.
IN_WHEEL = (
    EXTRACT, "mapyard/examples/N43E007.hgt.zip", "mapyard/docs/features.md", "mapyard/py.typed",
    "mapyard/routing/kernels/kernels.so", "mapyard/store/kernels/kernels.so",
    "mapyard/web/playground/index.html",
    "mapyard/web/templates/attribution.html", "mapyard/tiles/fonts/NotoSans-Regular.ttf",
    "mapyard/tiles/fonts/fonts.tar.xz",
    "mapyard/accounts/migrations/env.py", "mapyard/_version.py",
)  # fmt: skip
IN_SDIST = ("LICENSE", "NOTICE", "PKG-INFO", "hatch_build.py", "scripts/version.py", "uv.lock",
            "tests/conftest.py", "examples/monaco.osm.pbf")  # fmt: skip


def say(text: str) -> None:
    """Print a line."""
    print(f"release: {text}", flush=True)


def run(*words: object, environment: dict[str, str] | None = None, folder: Path = ROOT) -> str:
    """Run a command and return what it prints; raise Failed when it fails."""
    line = [str(word) for word in words]
    done = subprocess.run(
        line, cwd=folder, env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        raise Failed(f"{' '.join(line)[:200]} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def find_uv() -> str:
    """Return uv's command."""
    found = shutil.which("uv") or str(ROOT / ".tools/bin/uv")
    if not Path(found).is_file():
        raise Failed("uv was not found; `make setup` brings it")
    return found


# ---- what is said about the version ------------------------------------------------------------


def check_texts(version: str, root: Path = ROOT) -> None:
    """Raise Failed unless changelog and citation fit the version."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"(?m)^## ", changelog)[1:]
    if not sections or not sections[0].startswith("Unreleased"):
        raise Failed("CHANGELOG.md does not begin with the section Unreleased")
    if ".dev" in version:
        if not re.search(r"(?m)^- ", sections[0]):
            say("nothing is under Unreleased in CHANGELOG.md")
        return
    if "+" in version:
        raise Failed(f"{version} is no version to be released: commit what is changed")
    newest = sections[1] if len(sections) > 1 else ""
    match = re.match(r"(\S+) - (\d{4}-\d{2}-\d{2})\n", newest)
    if match is None or match[1] != version:
        raise Failed(f"CHANGELOG.md needs `## {version} - YYYY-MM-DD` below Unreleased")
    if not re.search(r"(?m)^- ", newest):
        raise Failed(f"CHANGELOG.md says nothing about {version}")
    if re.search(r"(?m)^- ", sections[0]):
        raise Failed(f"CHANGELOG.md has lines under Unreleased; they belong to {version}")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    for name, value in (("version", version), ("date-released", match[2])):
        if not re.search(rf"(?m)^{name}: [\"']?{re.escape(value)}[\"']?$", citation):
            raise Failed(f"CITATION.cff needs `{name}: {value}`")


# ---- what is built -----------------------------------------------------------------------------


def build(uv: str, dist: Path, untried: list[str], *, is_quick: bool) -> tuple[Path, Path]:
    """Write source distribution and wheels to `dist`; return both for this machine."""
    for old in (*dist.glob("mapyard-*"), *dist.glob("SHA256SUMS"), *dist.glob("*.cdx.json")):
        old.unlink()
    run(uv, "build", "--quiet", "--sdist", "--out-dir", dist)
    (sdist,) = dist.glob("mapyard-*.tar.gz")
    say(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
    # Out of the source distribution, so that nothing is missing from it; by zig on Linux, for the
    # oldest glibc, as no machine's own compiler knows all others'.
    targets = {"": ""}
    if sys.platform == "linux" and not is_quick:
        targets = {machine: f"{machine}-linux-gnu.2.28" for machine in ("x86_64", "aarch64")}
    here = os.uname().machine
    wheel = None
    for machine, target in targets.items():
        before = set(dist.glob("*.whl"))
        environment = {"MAPYARD_TARGET": target} if target else {}
        try:
            run(
                uv, "build", "--quiet", "--wheel", sdist, "--out-dir", dist, environment=environment
            )
        except Failed as error:
            if machine == here:
                raise
            untried.append(f"no wheel for {machine}: {str(error).splitlines()[-1][:200]}")
            continue
        (made,) = set(dist.glob("*.whl")) - before
        check_wheel(made, machine)
        if machine in ("", here):
            wheel = made
        else:
            untried.append(f"{made.name} was compiled, not run: this machine is {here}")
    assert wheel is not None
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [name for name in IN_SDIST if name not in names]:
        raise Failed(f"{sdist.name} lacks {', '.join(missing)}")
    return sdist, wheel


def check_wheel(wheel: Path, machine: str) -> None:
    """Raise Failed when a wheel lacks something or is too large."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        extract_bytes = archive.getinfo(EXTRACT).compress_size if EXTRACT in names else 0
        library = archive.read("mapyard/routing/kernels/kernels.so")
    if missing := [name for name in IN_WHEEL if name not in names]:
        raise Failed(f"{wheel.name} lacks {', '.join(missing)}")
    if strays := [name for name in names if name.startswith(("tests/", "bench/", "scripts/"))]:
        raise Failed(f"{wheel.name} holds {strays[0]}, which is not for users")
    # The machine in an ELF header: 62 is x86-64, 183 is AArch64.
    kinds = {62: "x86_64", 183: "aarch64"}
    kind = kinds.get(int.from_bytes(library[18:20], "little"), "?")
    if machine and (kind != machine or not wheel.stem.endswith(machine)):
        raise Failed(f"{wheel.name} was made for {machine} and holds a library for {kind}")
    size = wheel.stat().st_size
    say(
        f"{wheel.name}: {size / 1e6:.2f} MB, {(size - extract_bytes) / 1e6:.2f} without the extract"
    )
    if size - extract_bytes > MAX_WHEEL_BYTES:
        raise Failed(f"{wheel.name} is over {MAX_WHEEL_BYTES / 1e6} MB without the extract")


def write_sbom(uv: str, dist: Path) -> Path:
    """Write the bill of materials of all that the lock file pins for users."""
    path = dist / "sbom.cdx.json"
    run(
        uv, "export", "--quiet", "--frozen", "--no-dev", "--all-extras", "--no-emit-project",
        "--format", "cyclonedx1.5", "--preview-features", "sbom-export", "-o", path,
    )  # fmt: skip
    document = json.loads(path.read_text(encoding="utf-8"))
    components = document.get("components", [])
    if document.get("bomFormat") != "CycloneDX" or len(components) < 30:
        raise Failed("sbom.cdx.json is no bill of materials")
    say(f"{path.name}: {len(components)} components")
    return path


def write_checksums(files: list[Path], dist: Path) -> None:
    """Write SHA256SUMS, as `sha256sum --check` reads it."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
    (dist / "SHA256SUMS").write_text("\n".join(sorted(lines)) + "\n")
    say(f"SHA256SUMS: {len(lines)} files")


# ---- what is tried -----------------------------------------------------------------------------


def check_platforms(uv: str, untried: list[str]) -> None:
    """Ask the registry whether every dependency has wheels for each platform and Python."""
    for platform, name in PLATFORMS.items():
        for python in PYTHONS:
            try:
                run(
                    uv, "pip", "compile", "--quiet", "--no-header", "--all-extras",
                    "--python-platform", platform, "--python-version", python,
                    "--only-binary", ":all:", "pyproject.toml", "-o", os.devnull,
                    environment={"MACOSX_DEPLOYMENT_TARGET": "15.0"},
                )  # fmt: skip
            except Failed as error:
                why = [
                    line for line in str(error).splitlines() if "cause" in line or "Because" in line
                ]
                text = f"{name}, Python {python}: {' '.join(why)[:300] or str(error)[-300:]}"
                if platform.startswith("x86_64") or "no usable wheels" in text:
                    raise Failed(f"wheels are missing for {text}") from None
                untried.append(f"wheels of {text}")
        say(f"{name}: wheels of all dependencies for Python {', '.join(PYTHONS)}")


def find_pythons() -> dict[str, str]:
    """Return version → executable of the Pythons that are here."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in PYTHONS:
        candidates = [shutil.which(f"python{version}"), sys.executable]
        candidates += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python3"))]
        code = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
        for candidate in filter(None, candidates):
            base = subprocess.run(
                [candidate, "-c", "import sys; print(sys._base_executable)"],
                capture_output=True, text=True, check=False,
            ).stdout.strip()  # fmt: skip
            done = subprocess.run(
                [base or candidate, "-c", code], capture_output=True, text=True, check=False
            )
            if done.returncode == 0 and done.stdout.strip() == version:
                found[version] = base or candidate
                break
    return found


def try_package(
    package: Path,
    version: str,
    python: str,
    installer: str,
    uv: str,
    work: Path,
    *,
    is_pinned: bool,
) -> int:
    """Install a package into a clean environment and run its demo out of it; return its MB.

    With the newest of everything, as people get it, or with what the lock file pins.
    """
    environment = work / "environment"
    shutil.rmtree(environment, ignore_errors=True)
    # What this machine's own checkout or settings would lend does not count.
    clean = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "", "VIRTUAL_ENV": ""}
    pins = work / "pins.txt"
    if is_pinned:
        run(uv, "export", "--quiet", "--frozen", "--no-dev", "--all-extras", "--no-hashes",
            "--no-emit-project", "-o", pins)  # fmt: skip
    options = ["--constraint", pins] if is_pinned else []
    if installer == "uv":
        run(uv, "venv", "--quiet", "--python", python, environment, environment=clean)
        run(uv, "pip", "install", "--quiet", "--python", environment / "bin/python", *options,
            package, environment=clean)  # fmt: skip
    else:
        run(python, "-m", "venv", environment, environment=clean)
        pip = environment / "bin/pip"
        run(pip, "install", "--quiet", *options, package, environment=clean)
    megabytes = measure_mb(environment)
    folder = work / "empty"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    said = run(environment / "bin/mapyard", "--version", folder=folder, environment=clean).strip()
    try_demo(environment / "bin/mapyard", folder, clean)
    say(
        f"{said}, {package.suffix} by {installer} for Python {version}: the demo ran; "
        f"{megabytes} MB installed"
    )
    return megabytes


def measure_mb(environment: Path) -> int:
    """Return what an environment takes on disk, in MB."""
    bytes_ = sum(
        path.lstat().st_blocks * 512 for path in environment.rglob("*") if not path.is_symlink()
    )
    return round(bytes_ / 2**20)


def try_demo(program: Path, folder: Path, environment: dict[str, str]) -> None:
    """Start the demo in an empty folder, ask it for this and that, and stop it."""
    port = free_port()
    log = folder.parent / "demo.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [program, "demo", "--port", str(port), "--workers", "1"],
            cwd=folder, env={**os.environ, **environment}, stdout=output, stderr=output,
        )  # fmt: skip
        try:
            ask_demo(port, folder / "data/demo.key", process)
            process.send_signal(signal.SIGTERM)
            code = process.wait(60)
        except Failed as error:
            raise Failed(f"{error}\n{log.read_text()[-2000:]}") from None
        finally:
            if process.poll() is None:
                process.kill()
    if code:
        raise Failed(f"the demo ended with {code}:\n{log.read_text()[-2000:]}")


def main() -> None:
    """Make and try the release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    untried: list[str] = []
    try:
        make(options.dist.resolve(), untried, is_quick=options.quick)
    except Failed as error:
        sys.exit(f"release: {error}")
    for line in untried:
        say(f"not tried: {line}")
    say("passed")


def make(dist: Path, untried: list[str], *, is_quick: bool) -> None:
    """Do all of it; raise Failed at the first thing that does not work."""
    uv, version = find_uv(), find_version()
    say(f"version {version}")
    check_texts(version)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    say(f"extras: {', '.join(extras)}")
    dist.mkdir(parents=True, exist_ok=True)
    sdist, wheel = build(uv, dist, untried, is_quick=is_quick)
    if not is_quick:
        check_platforms(uv, untried)
    pythons = find_pythons()
    tries = [(wheel, version, tool) for version in pythons for tool in ("uv", "pip")]
    tries += [(sdist, version, "uv") for version in list(pythons)[:1]]
    if is_quick:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        pythons = {here: sys.executable, **pythons}
        tries = [(wheel, here, "uv")]
    untried += [f"Python {one}: it is not on this machine" for one in PYTHONS if one not in pythons]
    with tempfile.TemporaryDirectory(prefix="mapyard-release-") as work:
        for package, python, tool in tries:
            megabytes = try_package(
                package, python, pythons[python], tool, uv, Path(work), is_pinned=is_quick
            )
            if tool == "uv" and not is_quick and megabytes > MAX_INSTALLED_MB:
                raise Failed(f"{megabytes} MB installed are more than {MAX_INSTALLED_MB}")
    files = sorted([*dist.glob("mapyard-*.whl"), sdist, write_sbom(uv, dist)])
    write_checksums(files, dist)


if __name__ == "__main__":
    main()
