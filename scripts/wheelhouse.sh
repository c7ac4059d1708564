#!/usr/bin/env bash
# Gather in wheelhouse/ all that `make setup` installs, as wheels for this machine and its Python. Copied
# beside the source to a machine of the same kind, `make setup` needs no network there.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$(command -v uv || echo .tools/bin/uv)
python=$PWD/.venv/bin/python

rm -rf wheelhouse.partial
mkdir wheelhouse.partial
"$uv" export --quiet --frozen --no-emit-project --no-hashes --no-annotate -o wheelhouse.partial/requirements.txt
cp uv.lock wheelhouse.partial/uv.lock
"$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' > wheelhouse.partial/python
# What builds the project itself, and uv. Zig is the compiler where there is no other.
sed -nE 's/^requires = \["(hatchling[^"]*)"\].*/\1/p' pyproject.toml > wheelhouse.partial/build.txt
printf '%s\n' 'uv>=0.9' 'ziglang>=0.15,<0.18' editables >> wheelhouse.partial/build.txt
pip() { "$uv" tool run --quiet --python "$python" pip "$@"; }
# What has no wheel is built now.
pip wheel --quiet --no-deps -w wheelhouse.partial -r wheelhouse.partial/requirements.txt
pip wheel --quiet -w wheelhouse.partial -r wheelhouse.partial/build.txt
rm -rf wheelhouse
mv wheelhouse.partial wheelhouse
echo "wheelhouse/ has $(find wheelhouse -name '*.whl' | wc -l) wheels, $(du -sm wheelhouse | cut -f1) MB, for Python $(cat wheelhouse/python) on $(uname -sm)"
