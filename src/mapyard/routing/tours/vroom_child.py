"""Solve one of VROOM's problems in a process of its own, which can be killed.

python -m mapyard.routing.tours.vroom_child PROBLEM.json SOLUTION.json EFFORT THREADS solve|check
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

#: Exit code where VROOM refuses the problem; the solution file holds its words.
REFUSED = 3


def main(problem: str, solution: str, effort: str, threads: str, action: str) -> int:
    """Write the solution, or why there is none."""
    import vroom

    try:
        read = vroom.Input.from_json(Path(problem))
        if action == "check":
            solved = read.check(nb_threads=int(threads))
        else:
            solved = read.solve(exploration_level=int(effort), nb_threads=int(threads))
    except Exception as error:
        if type(error).__module__.startswith("vroom"):
            Path(solution).write_text(json.dumps(str(error)))
            return REFUSED
        raise
    Path(solution).write_text(json.dumps(solved.to_dict()))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
