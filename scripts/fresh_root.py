"""Try the image and the set-up in fresh roots of Debian, without a container engine.

    python scripts/fresh_root.py image                   # the Dockerfile's steps, then its demo
    python scripts/fresh_root.py setup --debian 13       # a clone, `make setup`, a few tests
    python scripts/fresh_root.py setup --debian 12 --python 3.12
    python scripts/fresh_root.py setup --debian 13 --proxy      # no way out but a proxy
    python scripts/fresh_root.py setup --debian 13 --wheelhouse # no way out at all
    python scripts/fresh_root.py all                     # each of these once

Needs root (debootstrap, mounts in a namespace of their own) and Debian's packages. What is made
lies in dist/roots; the first run of each Debian takes a minute more. What is tried is what is
committed.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from try_demo import Failed, ask_demo, free_port

ROOT = Path(__file__).resolve().parent.parent
SUITES = {"12": "bookworm", "13": "trixie"}
CERTIFICATES = "/etc/ssl/this-machine.crt"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: What Debian's slim images leave out.
NOT_IN_SLIM = ("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale",
               "var/cache/apt", "var/lib/apt/lists")  # fmt: skip
#: And this file of theirs, which keeps no packages that were installed.
CLEAN = """\
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
"""
#: What a Python of pyenv is linked with.
LIBRARIES = (
    "libssl3 libsqlite3-0 libffi8 libbz2-1.0 liblzma5 libreadline8 zlib1g libncursesw6 libuuid1"
)


def say(text: str) -> None:
    """Print a line."""
    print(f"fresh root: {text}", flush=True)


def fail(text: str) -> NoReturn:
    """End the script."""
    sys.exit(f"fresh root: {text}")


# ---- roots ------------------------------------------------------------------------------------


def make_base(debian: str, folder: Path) -> Path:
    """Return a slim root of a Debian, made once."""
    base = folder / SUITES[debian]
    if base.is_dir():
        return base
    if shutil.which("debootstrap") is None:
        fail("debootstrap is not installed: apt-get install debootstrap")
    say(f"debootstrap {SUITES[debian]}")
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{base.name}-", dir=folder))
    draft.chmod(0o755)
    command = ["debootstrap", "--variant=minbase", SUITES[debian], str(draft)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"debootstrap failed:\n{done.stdout[-2000:]}{done.stderr[-500:]}")
    for name in NOT_IN_SLIM:
        shutil.rmtree(draft / name, ignore_errors=True)
        (draft / name).mkdir(parents=True, exist_ok=True)
    (draft / "etc/apt/apt.conf.d/docker-clean").write_text(CLEAN)
    draft.rename(base)
    return base


def copy_root(base: Path, target: Path) -> Path:
    """Copy a root, with a network's names and this machine's certificates."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(target)], check=True)
    for name in ("etc/resolv.conf", "etc/hosts"):
        if (Path("/") / name).is_file():
            (target / name).unlink(missing_ok=True)
            shutil.copyfile(Path("/") / name, target / name)
    bundle = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
    if bundle.is_file():
        path = target / CERTIFICATES.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(bundle, path)
    return target


@dataclass
class Run:
    """How a command runs in a root."""

    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = "0:0"
    folder: str = "/"
    binds: Mapping[Path, str] = field(default_factory=dict)  #: here → there
    is_read_only: bool = False
    has_network: bool = True

    def command(self, root: Path, words: list[str]) -> list[str]:
        """Return the command line that runs `words` in a root, in namespaces of their own."""
        top = shlex.quote(str(root))
        lines = ["set -e", "mount --make-rprivate /", f"mount --bind {top} {top}", f"cd {top}"]
        lines += ["mount --rbind /proc proc", "mount --rbind /dev dev"]
        lines += ["mount -t tmpfs -o mode=1777 tmpfs tmp"]
        for here, there in self.binds.items():
            at = shlex.quote(there.lstrip("/"))
            lines += [f"mkdir -p {at}", f"mount --bind {shlex.quote(str(here))} {at}"]
        if self.is_read_only:
            lines.append(f"mount -o remount,bind,ro {top}")
        if not self.has_network:
            lines.append("ip link set lo up 2>/dev/null || true")
        known = {
            "PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"), CERTIFICATES),
        }  # fmt: skip
        env = {**known, **self.environment}
        uid, _, gid = self.user.partition(":")
        inside = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in env.items())]
        if uid != "0":
            inside += ["setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups",
                       "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]  # fmt: skip
        inside += ["sh", "-c", 'cd "$0" && exec "$@"', self.folder, *words]
        lines.append(f"exec chroot {top} {shlex.join(inside)}")
        kinds = ["--mount", *([] if self.has_network else ["--net"])]
        return ["unshare", *kinds, "sh", "-c", "\n".join(lines)]

    def __call__(self, root: Path, *words: str, timeout_s: float = 1800) -> str:
        """Run a command and return what it prints; end the script when it fails."""
        done = subprocess.run(
            self.command(root, list(words)),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            text=True, errors="replace", check=False, timeout=timeout_s,
        )  # fmt: skip
        if done.returncode:
            fail(f"{shlex.join(words)[:300]} failed ({done.returncode}):\n{done.stdout[-4000:]}")
        return done.stdout

    def fails(self, root: Path, *words: str) -> bool:
        """Return whether a command fails, as it should."""
        done = subprocess.run(
            self.command(root, list(words)), capture_output=True, check=False, timeout=60
        )
        return done.returncode != 0


def clone(target: Path) -> Path:
    """Clone what is committed here."""
    shutil.rmtree(target, ignore_errors=True)
    for command in (
        ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(target)],
        ["git", "-C", str(target), "remote", "remove", "origin"],
    ):
        subprocess.run(command, check=True)
    return target


# ---- the image --------------------------------------------------------------------------------


@dataclass
class Stage:
    """A stage of a Dockerfile: what it begins with, and its steps."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)


def read_dockerfile(text: str) -> list[Stage]:
    """Return the stages of a Dockerfile."""
    stages: list[Stage] = []
    joined = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", text))
    for line in filter(None, map(str.strip, joined.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base.strip(), name.strip()))
        else:
            stages[-1].steps.append((word, rest.strip()))
    return stages


def list_ignored(context: Path) -> list[Path]:
    """Return what .dockerignore keeps from the build: the last pattern that fits decides."""
    patterns = [
        line.strip()
        for line in (context / ".dockerignore").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    ignored = []
    for path in sorted(context.rglob("*")):
        name = str(path.relative_to(context))
        is_ignored = False
        parts = [str(part) for part in (Path(name), *Path(name).parents) if str(part) != "."]
        for pattern in patterns:
            glob = pattern.removeprefix("!")
            globs = (glob, glob.removeprefix("**/"))
            if any(fnmatch.fnmatch(part, one) for part in parts for one in globs):
                is_ignored = not pattern.startswith("!")
        if is_ignored and not path.is_dir():
            ignored.append(path)
    return ignored


class Image:
    """The root of a stage, and what its steps have set."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = Run()
        self.entry: list[str] = []
        self.command: list[str] = []
        self.health: list[str] = []
        self.volumes: list[str] = []

    def take(self, word: str, rest: str, context: Path, stages: Mapping[str, Image]) -> None:
        """Do one step of a Dockerfile."""
        if word == "RUN":
            say(f"RUN {' '.join(rest.split())[:90]}")
            self.run(self.root, "sh", "-c", rest)
        elif word == "COPY":
            self._copy(rest.split(), context, stages)
        elif word in ("ARG", "ENV"):
            env = dict(self.run.environment)
            for pair in shlex.split(rest):
                name, _, value = pair.partition("=")
                env[name] = value.replace("$PATH", env.get("PATH", PATH))
            self.run.environment = env
        elif word == "WORKDIR":
            self.run.folder = rest
            (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "USER":
            self.run.user = rest
        elif word in ("ENTRYPOINT", "CMD"):
            setattr(self, "entry" if word == "ENTRYPOINT" else "command", json.loads(rest))
        elif word == "HEALTHCHECK":
            self.health = json.loads(rest[rest.index("CMD") + 3 :])
        elif word == "VOLUME":
            self.volumes.append(rest)
        elif word not in ("EXPOSE", "LABEL", "STOPSIGNAL"):
            fail(f"this script does not know the step {word}")

    def _copy(self, words: list[str], context: Path, stages: Mapping[str, Image]) -> None:
        source = context
        if words[0].startswith("--from="):
            source = stages[words.pop(0).removeprefix("--from=")].root
        *names, to = words
        target = self.root / (to if to.startswith("/") else f"{self.run.folder}/{to}").lstrip("/")
        if to.endswith("/") or len(names) > 1 or to == "./":
            target.mkdir(parents=True, exist_ok=True)
        for name in names:
            path = source / name.lstrip("/")
            # A folder gives its content, as with Docker.
            here = f"{path}/." if path.is_dir() else str(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", "--no-preserve=ownership", here, str(target)], check=True)


def build_image(roots: Path, work: Path) -> Image:
    """Run the Dockerfile's steps; return the last stage."""
    context = clone(work / "context")
    for path in list_ignored(context):
        path.unlink()
    images: dict[str, Image] = {}
    for stage in read_dockerfile((ROOT / "Dockerfile").read_text()):
        match = re.fullmatch(r"debian:(\d+)-slim", stage.base)
        if match is None:
            fail(f"this script knows debian:12-slim and debian:13-slim, not {stage.base}")
        image = Image(copy_root(make_base(match[1], roots), work / f"stage-{stage.name or 'last'}"))
        for word, rest in stage.steps:
            image.take(word, rest, context, images)
        images[stage.name or "last"] = image
    return images["last"]


def try_image(roots: Path, work: Path) -> None:
    """Build the image, run its demo as the image would, and weigh it."""
    started_s = time.monotonic()
    image = build_image(roots, work)
    say(f"the steps took {time.monotonic() - started_s:.0f} s")
    root, run = image.root, image.run
    data = work / "data"
    shutil.rmtree(data, ignore_errors=True)
    # A new volume has what the image has there: owner and mode.
    subprocess.run(["cp", "-a", str(root / "data"), str(data)], check=True)
    port = free_port()
    run.environment = {**run.environment, "MAPYARD_PORT": str(port), "MAPYARD_WORKERS": "1"}
    run.binds, run.is_read_only = {data: image.volumes[0]}, True
    if run(root, "id", "-u").strip() != "10001":
        fail("the image does not run as 10001")
    for place in ("/x", "/opt/mapyard/x", "/usr/x"):
        if not run.fails(root, "touch", place):
            fail(f"{place} could be written to: the root is not read-only")
    if run.fails(root, "touch", "/data/x", "/tmp/x"):
        fail("/data or /tmp cannot be written to")
    if not run.fails(root, *image.health):
        fail("the health check passes where nothing runs")
    say(f"not root, read-only; the demo on port {port}")
    with (work / "demo.log").open("w") as log:
        process = subprocess.Popen(
            run.command(root, [*image.entry, "demo"]), stdout=log, stderr=subprocess.STDOUT
        )
        try:
            try:
                ask_demo(port, data / "demo.key", process)
            except Failed as error:
                fail(str(error))
            if run.fails(root, *image.health):
                fail("the health check fails beside a server that answers")
            process.terminate()
            code = process.wait(60)
        finally:
            if process.poll() is None:
                process.kill()
    if code != 0:
        fail(f"the demo ended with {code} on SIGTERM: {(work / 'demo.log').read_text()[-1500:]}")
    say("tile, address and route came; the health check passed; it stopped with 0")
    weigh(root)


def weigh(root: Path) -> None:
    """Print what an image of this root would weigh."""

    def size(*names: str) -> int:
        command = ["du", "-xsm", *(str(root / name) for name in names)]
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return sum(int(line.split()[0]) for line in lines.splitlines())

    packed = subprocess.run(
        f"tar -C {shlex.quote(str(root))} --one-file-system -c . | gzip -6 | wc -c",
        shell=True, capture_output=True, text=True, check=True,
    )  # fmt: skip
    mine = size("opt/mapyard")
    say(
        f"the image would weigh {size('.')} MB, {mine} MB of them /opt/mapyard; "
        f"{int(packed.stdout) / 1e6:.0f} MB to fetch"
    )


# ---- the set-up -------------------------------------------------------------------------------


def try_setup(roots: Path, work: Path, options: argparse.Namespace) -> None:
    """Clone into the home of an ordinary user and run `make setup` and some tests there."""
    root = copy_root(make_base(options.debian, roots), work / "setup")
    as_root = Run()
    packages = "make" if options.python else "make python3-venv"
    if options.python:
        packages += f" {LIBRARIES} git"
    say(f"Debian {options.debian}: apt-get install {packages}")
    as_root(root, "apt-get", "update", "-qq")
    as_root(root, "apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages.split())
    as_root(root, "useradd", "--create-home", "--uid", "1234", "--shell", "/bin/bash", "me")
    shutil.copytree(clone(work / "clone"), root / "home/me/mapyard", symlinks=True)
    run = Run(environment={"HOME": "/home/me"}, user="1234:1234", folder="/home/me/mapyard")
    if options.python:
        prefix = find_prefix(options.python)
        run.binds = {prefix: "/opt/python"}
        run.environment = {
            **run.environment,
            "PATH": f"/opt/python/bin:{PATH}",
            "LD_LIBRARY_PATH": "/opt/python/lib",  # it was made for another place
        }
    if options.wheelhouse:
        house = ROOT / "wheelhouse"
        if not (house / "uv.lock").is_file():
            fail("there is no wheelhouse here: run `make wheelhouse` before")
        shutil.copytree(house, root / "home/me/mapyard/wheelhouse")
        run.has_network = False
    as_root(root, "chown", "-R", "me:me", "/home/me")
    with contextlib.ExitStack() as stack:
        if options.proxy:
            (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
            proxy = stack.enter_context(Proxy.open())
            address = f"http://127.0.0.1:{proxy.port}"
            run.environment = {
                **run.environment, "HTTPS_PROXY": address, "HTTP_PROXY": address,
                "https_proxy": address, "http_proxy": address,
            }  # fmt: skip
        started_s = time.monotonic()
        said = run(root, "make", "setup")
        say(f"make setup took {time.monotonic() - started_s:.0f} s: {said.strip().splitlines()[0]}")
        if options.proxy:
            say(f"all of it through the proxy: {proxy.count} connections")
            if not proxy.count:
                fail("nothing went through the proxy")
    say(run(root, ".venv/bin/mapyard", "--version").strip())
    tests = [
        "tests/unit/test_version.py",
        "tests/unit/features/test_tags.py",
        "tests/unit/elevation",
    ]
    said = run(root, ".venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider", "-v", *tests)
    say(said.strip().splitlines()[-1])
    started_s = time.monotonic()
    run(root, "make", "setup")
    say(f"a second make setup took {time.monotonic() - started_s:.1f} s")


def find_prefix(version: str) -> Path:
    """Return the prefix of a Python of this machine that a root may borrow."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}*/bin/python3"))
    if not found:
        fail(f"this machine has no Python {version} in {pyenv} to lend")
    return found[-1].parents[1]


class Proxy:
    """A proxy that knows CONNECT and nothing else."""

    def __init__(self) -> None:
        self.count = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])

    @classmethod
    @contextlib.contextmanager
    def open(cls) -> Iterator[Proxy]:
        """Give a proxy that listens until it is left."""
        proxy = cls()
        threading.Thread(target=proxy._accept, daemon=True).start()
        try:
            yield proxy
        finally:
            proxy._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError):
            head = b""
            while b"\r\n\r\n" not in head and len(head) < 65_536:
                head += client.recv(4096) or b"\r\n\r\n"
            method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
            if method != "CONNECT":
                client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
                return
            host, _, port = target.rpartition(":")
            with socket.create_connection((host, int(port)), timeout=60) as server:
                self.count += 1
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                ends = {client: server, server: client}
                while True:
                    for ready in select.select(list(ends), [], [], 120)[0]:
                        chunk = ready.recv(65_536)
                        if not chunk:
                            return
                        ends[ready].sendall(chunk)


def main() -> None:
    """Try what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["image", "setup", "all"])
    parser.add_argument("--debian", choices=sorted(SUITES), default="13")
    parser.add_argument("--python", help="only this Python of the machine's pyenv, such as 3.12")
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--wheelhouse", action="store_true")
    parser.add_argument("--roots", type=Path, default=ROOT / "dist" / "roots")
    parser.add_argument("--keep", action="store_true", help="keep what was made, for a look")
    options = parser.parse_args()
    if os.geteuid() != 0:
        fail("this needs root, for debootstrap and mounts")
    roots = options.roots.resolve()
    roots.mkdir(parents=True, exist_ok=True)
    tries = [options]
    if options.what == "all":
        lines = ["image", "setup --debian 13", "setup --debian 12 --python 3.12 --proxy"]
        if (ROOT / "wheelhouse/uv.lock").is_file():
            lines.append("setup --debian 13 --wheelhouse")
        else:
            say("not tried: a set-up without a network; `make wheelhouse` comes before it")
        tries = [
            parser.parse_args(line.split(), argparse.Namespace(**vars(options))) for line in lines
        ]
    for one in tries:
        work = Path(tempfile.mkdtemp(prefix="work-", dir=roots))
        work.chmod(0o755)
        try:
            if one.what == "image":
                try_image(roots, work)
            else:
                try_setup(roots, work, one)
        finally:
            if options.keep:
                say(f"kept: {work}")
            else:
                shutil.rmtree(work, ignore_errors=True)
    say("passed")


if __name__ == "__main__":
    main()
