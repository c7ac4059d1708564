"""Run as a program by tests: ask one account's limiter as fast as it goes, print the admissions.

python hammer.py FOLDER LIMIT WINDOW_S SECONDS [REDIS_URL]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from mapyard.accounts.limiter import Limiter, LocalLimiter
from mapyard.accounts.plans import Limits


def main() -> None:
    folder, limit, window_s, seconds = sys.argv[1:5]
    limiter: Limiter = LocalLimiter(Path(folder), window_s=float(window_s))
    if len(sys.argv) > 5:
        from mapyard.accounts.redis_limiter import RedisLimiter

        limiter = RedisLimiter(sys.argv[5], fallback=limiter, window_s=float(window_s))
    limits = Limits(int(limit), None, None, None, overage=False)
    sys.stdin.readline()  # all begin together
    admitted, end_s = [], time.monotonic() + float(seconds)
    while (now_s := time.monotonic()) < end_s:
        if limiter.check(1, limits, premium=False).allowed:
            admitted.append(now_s)
        else:
            time.sleep(0.001)
    sys.stdout.write(json.dumps(admitted))


if __name__ == "__main__":
    main()
