"""The C of routing: that it is found, and refused where it is another one."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from mapyard.routing import kernels
from mapyard.routing.kernels import KernelsMissing, has_kernels, load_kernels

ROOT = Path(__file__).parents[4]


@pytest.fixture
def fresh(monkeypatch):
    """Nothing is remembered of what was loaded before or in this test."""
    load_kernels.cache_clear()
    yield monkeypatch
    load_kernels.cache_clear()


def test_the_library_is_there():
    assert has_kernels()
    assert load_kernels() is load_kernels()


@pytest.mark.parametrize("content", [None, b"", b"no library"])
def test_what_is_no_library_is_not_loaded(content, fresh, tmp_path):
    path = tmp_path / "routing.so"
    if content is not None:
        path.write_bytes(content)
    fresh.setenv("MAPYARD_KERNELS", str(tmp_path))
    with pytest.raises(KernelsMissing, match="make setup"):
        load_kernels()
    assert not has_kernels()


def test_a_library_of_another_version_is_not_loaded(fresh):
    fresh.setattr(kernels, "_VERSION", 0)
    with pytest.raises(KernelsMissing, match="another version"):
        load_kernels()


def load_hook():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("symbols", "version"),
    [(b"", "2_17"), (b"GLIBC_2.2.5\0GLIBC_2.14\0", "2_17"), (b"GLIBC_2.4\0GLIBC_2.34", "2_34")],
)
def test_a_wheel_says_which_systems_have_its_symbols(symbols, version, monkeypatch, tmp_path):
    hook = load_hook()
    monkeypatch.setattr(hook.sysconfig, "get_platform", lambda: "linux-x86_64")
    monkeypatch.setattr(hook.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(hook.platform, "libc_ver", lambda: ("glibc", "2.36"))
    library = tmp_path / "kernels.so"
    library.write_bytes(b"\x7fELF" + symbols)
    assert hook.name_tag([library]) == f"py3-none-manylinux_{version}_x86_64"


def test_without_a_compiler_it_says_what_to_do(tmp_path):
    code = (
        "import sys, shutil; shutil.which = lambda name: None; "
        f"sys.path.insert(0, {str(ROOT)!r}); import hatch_build; "
        "hatch_build.find_spec = lambda name: None; "
        "hatch_build.compile_kernels(hatch_build.Path(sys.argv[1]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PATH": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert "pip install 'ziglang" in run.stderr
    assert not list(tmp_path.iterdir())
