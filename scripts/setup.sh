#!/usr/bin/env bash
# Make .venv from the lock file: find uv and a Python of 3.12 or newer, then `uv sync`.
# Quick when nothing changed. Needs no root, and no network where `make wheelhouse` has made wheelhouse/.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=.venv/.setup-stamp
is_newest() { for file in "$@"; do [ "$stamp" -nt "$file" ] || return 1; done; }
if [ -f "$stamp" ] && [ -f src/mapyard/store/kernels/kernels.so ] && [ -f src/mapyard/routing/kernels/kernels.so ] \
   && is_newest uv.lock pyproject.toml hatch_build.py scripts/setup.sh src/mapyard/*/kernels/*.[ch] \
   && .venv/bin/python -c '' 2>/dev/null; then
  exit 0
fi

house=$PWD/wheelhouse
if [ -d "$house" ]; then
  if ! cmp -s uv.lock "$house/uv.lock"; then
    echo "setup: wheelhouse/ was made from another uv.lock. Run 'make wheelhouse' where there is a network, or remove wheelhouse/ to use the network here." >&2
    exit 1
  fi
  export UV_OFFLINE=1 UV_NO_INDEX=1 UV_FIND_LINKS="$house" PIP_NO_INDEX=1 PIP_FIND_LINKS="$house"
  PYTHON=${PYTHON:-python$(cat "$house/python")}
fi

# A name on the PATH may be a shim that fails, so each candidate is run before it is believed.
is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; }
find_python() {
  for name in "${PYTHON:-}" python3.14 python3.13 python3.12 python3 python; do
    [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 || continue
    if is_new_enough "$name"; then command -v "$name"; return; fi
  done
  for candidate in $(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 2>/dev/null | sort -Vr); do
    if is_new_enough "$candidate"; then echo "$candidate"; return; fi
  done
}

find_uv() {
  if command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; then command -v uv; return; fi
  if [ ! -x .tools/bin/uv ]; then
    for name in "$1" python3 python; do
      [ -n "$name" ] || continue
      if "$name" -m venv .tools >/dev/null 2>&1 && .tools/bin/python -m pip install -q 'uv>=0.9' >&2; then break; fi
      rm -rf .tools
    done
  fi
  [ -x .tools/bin/uv ] && echo "$PWD/.tools/bin/uv"
}

python=$(find_python || true)
uv=$(find_uv "$python" || true)
if [ -z "$uv" ]; then
  echo "setup: neither uv nor a Python with venv and pip was found. Install one of them (Debian: apt-get install python3-venv) and run this again." >&2
  exit 1
fi
echo "setup: ${python:-a Python that uv downloads}, $("$uv" --version)"
# Where Python may not keep bytecode, every process would compile everything anew: once, here.
compile=${PYTHONDONTWRITEBYTECODE:+--compile-bytecode}
install() {
  # shellcheck disable=SC2086  # one option or none
  if [ -d "$house" ]; then  # the lock file names addresses, so its packages go by name
    "$uv" venv --quiet --allow-existing --python "$python" \
      && "$uv" pip sync --quiet $compile --python .venv/bin/python "$house/requirements.txt" \
      && "$uv" pip install --quiet --python .venv/bin/python --no-deps --editable .
  else
    "$uv" sync --frozen $compile --python "${python:-3.12}"
  fi
}
if [ -d "$house" ] && [ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" != "$(cat "$house/python")" ]; then
  echo "setup: wheelhouse/ is for Python $(cat "$house/python"), which was not found here. Install it, or set PYTHON=/path/to/it." >&2
  exit 1
fi
if ! install; then
  echo "setup: the environment could not be made. If no Python of 3.12 or newer is installed and uv cannot download one, install one (Debian 13: apt-get install python3-venv; or pyenv install 3.13) or set PYTHON=/path/to/python." >&2
  exit 1
fi
# `uv sync` compiles the C of the project when it installs the project, which it may remember and leave out.
if ! .venv/bin/python hatch_build.py 2>/dev/null && ! "$uv" run --no-project --with 'ziglang>=0.15,<0.18' python hatch_build.py; then
  echo "setup: the C of the project could not be compiled: read the lines above." >&2
  exit 1
fi
if [ -n "$compile" ]; then .venv/bin/python -m compileall -q src; fi
touch "$stamp"
