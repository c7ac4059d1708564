"""The same limits for several machines: one Lua script on Redis (or Valkey) per request.

The script uses the server's clock, so the clocks of the machines need not agree, and runs alone,
so it is exact. While Redis does not answer, each machine enforces the whole limits by itself.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from mapyard.accounts.decisions import Decision, day_and_month, month_start_s, whole_seconds
from mapyard.accounts.limiter import LocalLimiter
from mapyard.accounts.plans import PREMIUM_UNITS, STANDARD_UNITS, WINDOW_S, Limits

log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 0.25
_PAUSE_S: Final = 1.0
_DAY_LIFE_S: Final = 3 * 86_400
_MONTH_LIFE_S: Final = 70 * 86_400

# KEYS: window list (newest first), day counters, month counters; the last two without their
# period, which the server's clock gives. ARGV: window µs, limit, units, premium, day cap or -1,
# month units or -1, overage, whether the window holds it already, then months as in
# decisions.day_and_month: the earliest, and starts with what begins there.
_CHECK: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window, limit, units = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local premium, day_cap, month_units = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])

local newest = tonumber(redis.call('LINDEX', KEYS[1], 0))
if newest and newest > now then
  -- The server's clock was set back: shift the times, so that the newest was made now.
  local stamps = redis.call('LRANGE', KEYS[1], 0, -1)
  redis.call('DEL', KEYS[1])
  for _, stamp in ipairs(stamps) do
    redis.call('RPUSH', KEYS[1], string.format('%.0f', tonumber(stamp) - (newest - now)))
  end
end
local oldest = tonumber(redis.call('LINDEX', KEYS[1], -1))
while oldest and oldest <= now - window do
  redis.call('RPOP', KEYS[1])
  oldest = tonumber(redis.call('LINDEX', KEYS[1], -1))
end
local count = redis.call('LLEN', KEYS[1])
if count >= limit and ARGV[8] == '0' then
  local free = tonumber(redis.call('LINDEX', KEYS[1], limit - 1)) + window
  return {'rate_limited', now, count, free, 0}
end

local day = KEYS[2] .. math.floor(time[1] / 86400)
local used = tonumber(redis.call('HGET', day, premium)) or 0
if day_cap >= 0 and used + units > day_cap then
  return {'daily_limit_exceeded', now, count, oldest or 0, 0}
end
-- The month by the calendar: the caller sends the bounds of the months around now.
local month = ARGV[9]
for i = 10, #ARGV, 2 do
  if tonumber(time[1]) >= tonumber(ARGV[i]) then month = ARGV[i + 1] end
end
month = KEYS[3] .. month
local overage = 0
if month_units >= 0 and (tonumber(redis.call('HGET', month, 'u')) or 0) >= month_units then
  if ARGV[7] == '0' then return {'monthly_limit_exceeded', now, count, oldest or 0, 0} end
  overage = 1
end
redis.call('HINCRBY', day, premium, units)
redis.call('EXPIRE', day, DAY_LIFE)
if overage == 1 then
  redis.call('HINCRBY', month, 'o' .. premium, 1)
else
  redis.call('HINCRBY', month, 'u', units)
end
redis.call('EXPIRE', month, MONTH_LIFE)
if ARGV[8] == '1' then return {'', now, count - 1, oldest or now, overage} end
redis.call('LPUSH', KEYS[1], string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000) + 1000)
return {'', now, count, oldest or now, overage}
""".replace("DAY_LIFE", str(_DAY_LIFE_S)).replace("MONTH_LIFE", str(_MONTH_LIFE_S))


class RedisLimiter:
    """Limits in Redis; `fallback` stands in while it does not answer."""

    def __init__(
        self,
        url: str,
        *,
        fallback: LocalLimiter,
        window_s: float = WINDOW_S,
        prefix: str = "mapyard",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._redis = redis.Redis.from_url(
            url,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),  # else three more times, with pauses
        )
        self._check = self._redis.register_script(_CHECK)
        self._fallback = fallback
        self._window_us = int(window_s * 1e6)
        self._prefix = prefix
        self._monotonic = monotonic
        self._away_until_s = 0.0

    @property
    def is_away(self) -> bool:
        """Whether the local limiter stands in at the moment."""
        return self._monotonic() < self._away_until_s

    def is_at_hand(self, account_id: int) -> bool:
        """Whether `check` answers without waiting: while the local limiter stands in."""
        return self.is_away and self._fallback.is_at_hand(account_id)

    def check(
        self, account_id: int, limits: Limits, *, premium: bool, is_counted: bool = False
    ) -> Decision:
        """Admit a request and reserve its units, or say which limit forbids it.

        `is_counted` says that the window holds it already: units alone are taken.
        """
        local = partial(
            self._fallback.check, account_id, limits, premium=premium, is_counted=is_counted
        )
        if self.is_away:
            return local()
        units = PREMIUM_UNITS if premium else STANDARD_UNITS
        cap = limits.day_premium_units if premium else limits.day_standard_units
        _, month = day_and_month(time.time())
        arguments: list[int | str] = [
            self._window_us,
            limits.per_minute,
            units,
            int(premium),
            -1 if cap is None else cap,
            -1 if limits.month_units is None else limits.month_units,
            int(limits.overage),
            int(is_counted),
            month - 2,
        ]
        for near in (month - 1, month, month + 1):
            arguments += [month_start_s(near), near]
        try:
            answer = cast("list[Any]", self._check(keys=self._keys(account_id), args=arguments))
        except redis.RedisError as error:
            self._stand_in(error)
            return local()
        return self._decision(answer, account_id, limits, units, premium=premium)

    def give_back(self, decision: Decision) -> None:
        """Return the units of an admitted request that failed."""
        if decision.local:
            self._fallback.give_back(decision)
            return
        _, day, month = self._keys(decision.account_id)
        try:
            pipe = self._redis.pipeline(transaction=True)
            pipe.hincrby(f"{day}{decision.day}", str(int(decision.premium)), -decision.units)
            if decision.overage:
                pipe.hincrby(f"{month}{decision.month}", f"o{int(decision.premium)}", -1)
            else:
                pipe.hincrby(f"{month}{decision.month}", "u", -decision.units)
            pipe.execute()
        except redis.RedisError as error:
            self._stand_in(error)

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()
        self._fallback.close()

    def _keys(self, account_id: int) -> list[str]:
        # The braces keep an account's keys on one node of a Redis Cluster.
        base = f"{self._prefix}:{{{account_id}}}"
        return [f"{base}:window", f"{base}:day:", f"{base}:month:"]

    def _decision(
        self, answer: list[Any], account_id: int, limits: Limits, units: int, *, premium: bool
    ) -> Decision:
        code = answer[0].decode()
        now_us, count, moment_us = int(answer[1]), int(answer[2]), int(answer[3])
        now_s = now_us / 1e6
        day, month = day_and_month(now_s)
        allowed = not code
        decision = Decision(
            allowed=allowed,
            code=code,
            limit=limits.per_minute,
            remaining=max(0, limits.per_minute - count - allowed),
            reset_s=whole_seconds(now_s),
            units=units if allowed else 0,
            premium=premium,
            overage=bool(answer[4]),
            admitted_s=int(now_s),
            day=day,
            month=month,
            account_id=account_id,
        )
        if code == "rate_limited":
            decision.retry_after_s = whole_seconds((moment_us - now_us) / 1e6)
            decision.reset_s = whole_seconds(moment_us / 1e6)
            return decision
        if moment_us:
            decision.reset_s = whole_seconds((moment_us + self._window_us) / 1e6)
        if code == "daily_limit_exceeded":
            decision.retry_after_s = whole_seconds((day + 1) * 86_400 - now_s)
        elif code:
            decision.retry_after_s = whole_seconds(month_start_s(month + 1) - now_s)
        return decision

    def _stand_in(self, error: Exception) -> None:
        if not self.is_away:
            log.warning("Redis does not answer (%s): limits per machine", type(error).__name__)
        self._away_until_s = self._monotonic() + _PAUSE_S
