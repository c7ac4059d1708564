"""Fuzz the readers of what strangers send.

python -m fuzz --data DATA --seconds 600 [--target overpass]   (in tests/; make fuzz does it)

With atheris installed (uv sync --group fuzz) inputs follow the coverage of the code; else they are
random changes of the seeds. An input that breaks a reader is printed and kept in --keep.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import traceback
from hashlib import sha256
from pathlib import Path

from fuzz.targets import TARGETS, Target, check, mutate, use


def run_plain(target: Target, seconds: float, seed: int, keep: Path) -> int:
    """Try changed seeds until the time is up; return the number of faults."""
    rng = random.Random(seed)
    ends = time.monotonic() + seconds
    tried = taken = faults = 0
    while time.monotonic() < ends and faults < 5:
        data = mutate(rng, target)
        try:
            taken += check(target, data)
        except Exception:
            faults += 1
            file = keep / f"{target.name}-{sha256(data).hexdigest()[:12]}"
            keep.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            print(f"FAULT {target.name}: kept as {file.name}: {data[:300]!r}")
            traceback.print_exc(limit=-6)
        tried += 1
    print(f"{target.name:10}{tried:9,} inputs, {taken / max(1, tried):.0%} taken, {faults} faults",
          flush=True)  # fmt: skip
    return faults


def run_atheris(target: Target, seconds: float, keep: Path) -> int:
    """Let atheris choose inputs by coverage, in a child process; return 1 for a fault."""
    import atheris

    keep.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        print(f"{target.name:10}{'fault' if status else 'no fault'} in {seconds:.0f} s", flush=True)
        return int(status != 0)
    corpus = keep / f"corpus-{target.name}"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    words = keep / f"{target.name}.dict"
    words.write_text("".join('"' + "".join(f"\\x{b:02x}" for b in w) + '"\n' for w in target.words))
    atheris.instrument_all()
    atheris.Setup(
        [sys.argv[0], str(corpus), f"-max_total_time={int(seconds)}", f"-dict={words}",
         f"-artifact_prefix={keep}/{target.name}-", "-max_len=4000", "-verbosity=0"],
        lambda data: check(target, data),
    )  # fmt: skip
    atheris.Fuzz()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--seconds", type=float, default=600, help="for all targets together")
    parser.add_argument("--target", choices=sorted(TARGETS))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"))
    parser.add_argument("--plain", action="store_true", help="without atheris")
    options = parser.parse_args()
    use(options.data)
    targets = [TARGETS[options.target]] if options.target else list(TARGETS.values())
    each = options.seconds / len(targets)
    try:
        import atheris  # noqa: F401 - whether it is here
    except ImportError:
        options.plain = True
    print(f"seed {options.seed}, {'random changes' if options.plain else 'atheris'}")
    faults = 0
    for target in targets:
        if options.plain:
            faults += run_plain(target, each, options.seed, options.keep)
        else:
            faults += run_atheris(target, each, options.keep)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
