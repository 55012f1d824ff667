"""Redis: rate limits, breakers, sessions, finished turns, telemetry.

ElastiCache Serverless is cluster mode behind one endpoint: pipelines go without MULTI and every
script touches one key. Source: design, decision 15.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.retry import Retry

from plumbline.errors import SessionUnavailable, SettingsError
from plumbline.gate import SharedReply, TurnMark
from plumbline.turn.persistence import TELEMETRY_TURNS, StoredTurn, TurnWrite

TURN_TTL_SECONDS = 3600
DELETED = "deleted"
# Longer than any turn may run.
DELETED_SECONDS = 900
GAPS_KEPT = 1000
GAP_TTL_SECONDS = 30 * 86_400
BREAKER_FAILURES = 5
BREAKER_COOL_DOWN_MS = 30_000
BREAKER_PROBE_MS = 5_000

# GCRA: the key holds the time at which the caller's allowance is whole again.
_TAKE = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local period = tonumber(ARGV[2])
local ready = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + period / tonumber(ARGV[1])
local wait = ready - period - now
if wait > 0 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.3f', ready), 'PX', math.ceil(ready - now))
return 0
"""

# 0 is closed; else the milliseconds for which the breaker stays open. After the cool-down one
# caller every ARGV[2] ms is let through to probe.
_BREAKER = """
local opened = tonumber(redis.call('HGET', KEYS[1], 'opened') or 0)
if opened == 0 then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local left = opened + tonumber(ARGV[1]) - now
if left > 0 then return left end
redis.call('HSET', KEYS[1], 'opened', now - tonumber(ARGV[1]) + tonumber(ARGV[2]))
return 0
"""

_FAILED = """
local failures = redis.call('HINCRBY', KEYS[1], 'failures', 1)
if failures >= tonumber(ARGV[1]) then
  local t = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'opened', t[1] * 1000 + math.floor(t[2] / 1000))
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return failures
"""


# Fields to set, fields to delete, counters to raise; ARGV[1] is the turn that writes, so that a
# second sending of the same write changes nothing. 0: the session was deleted meanwhile.
_WRITE_SESSION = """
if redis.call('HEXISTS', KEYS[1], 'deleted') == 1 then return 0 end
if redis.call('HGET', KEYS[1], 'written') ~= ARGV[1] then
  local at = 6
  for _ = 1, tonumber(ARGV[3]) do
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
    at = at + 2
  end
  for _ = 1, tonumber(ARGV[4]) do
    redis.call('HDEL', KEYS[1], ARGV[at])
    at = at + 1
  end
  for _ = 1, tonumber(ARGV[5]) do
    redis.call('HINCRBY', KEYS[1], ARGV[at], ARGV[at + 1])
    at = at + 2
  end
  redis.call('HSET', KEYS[1], 'written', ARGV[1])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
"""


class RedisState:
    """The shared state of all functions. Raises ``SessionUnavailable`` only."""

    def __init__(self, client: redis.Redis, *, session_ttl_seconds: int = 86_400) -> None:
        self._redis = client
        self._ttl = session_ttl_seconds

    def admit(
        self,
        *,
        rates: Mapping[str, int],
        period_seconds: int,
        session_id: str | None,
        upstreams: Sequence[str],
        turn: TurnMark | None,
    ) -> SharedReply:
        """One round trip: a place under each limit, the session's hash, the breakers.

        A caller who must wait costs one trip more, which takes the turn's mark back.
        """
        with _mapped_errors():
            pipe = self._redis.pipeline(transaction=False)
            for key, limit in rates.items():
                pipe.eval(_TAKE, 1, key, str(limit), str(period_seconds * 1000))
            if session_id:
                pipe.hgetall(f"session:{session_id}")
            for name in upstreams:
                pipe.eval(
                    _BREAKER,
                    1,
                    f"breaker:{name}",
                    str(BREAKER_COOL_DOWN_MS),
                    str(BREAKER_PROBE_MS),
                )
            if turn:
                pipe.hset(f"turn:{turn.turn_id}", "owners", ",".join(turn.owners))
                pipe.expire(f"turn:{turn.turn_id}", turn.seconds)
            # A hash of the wrong kind under a session's key costs the session, not the turn.
            replies: Iterator[Any] = iter(pipe.execute(raise_on_error=False))
            waits = [next(replies) for _ in rates]
            failed = next((wait for wait in waits if isinstance(wait, Exception)), None)
            if failed is not None:
                raise SessionUnavailable("The session store refused a command.") from failed
            session = next(replies) if session_id else {}
            if not isinstance(session, dict) or DELETED in session:
                session = {}
            open_for = {
                name: reply / 1000
                for name, reply in zip(upstreams, replies, strict=False)
                if isinstance(reply, int) and reply > 0
            }
            if max(waits) > 0 and turn:
                self._redis.delete(f"turn:{turn.turn_id}")
        return SharedReply(max(waits) / 1000, session, open_for)

    def finish(self, write: TurnWrite) -> None:
        """Write a turn's end in one round trip; written twice, it counts once.

        The client sends it again when a connection breaks, and cannot know whether the first was
        carried out. A session that was deleted meanwhile stays deleted.
        """
        session, turn = f"session:{write.session_id}", f"turn:{write.turn_id}"
        telemetry, turns = f"telemetry:{write.session_id}", f"turns:{write.session_id}"
        with _mapped_errors():
            pipe = self._redis.pipeline(transaction=False)
            pipe.eval(_WRITE_SESSION, 1, session, *_session_arguments(write, self._ttl))
            pipe.hset(turn, mapping={"owners": write.session_id, "final": write.final})
            pipe.expire(turn, TURN_TTL_SECONDS)
            pipe.sadd(turns, write.turn_id)
            pipe.expire(turns, self._ttl)
            pipe.lrem(telemetry, 1, write.telemetry)
            pipe.lpush(telemetry, write.telemetry)
            pipe.ltrim(telemetry, 0, TELEMETRY_TURNS - 1)
            pipe.expire(telemetry, self._ttl)
            for upstream, well in write.outcomes.items():
                if well:
                    pipe.delete(f"breaker:{upstream}")
                else:
                    pipe.eval(
                        _FAILED,
                        1,
                        f"breaker:{upstream}",
                        str(BREAKER_FAILURES),
                        str(BREAKER_COOL_DOWN_MS * 10),
                    )
            if write.gap is not None:
                pipe.lrem("gaps", 1, write.gap)
                pipe.lpush("gaps", write.gap)
                pipe.ltrim("gaps", 0, GAPS_KEPT - 1)
                pipe.expire("gaps", GAP_TTL_SECONDS)
            kept = pipe.execute()[0]
        if not kept:
            self._remove(write.session_id)

    def read_turn(self, turn_id: str) -> StoredTurn | None:
        """A turn that runs or has ended within the last hour."""
        with _mapped_errors():
            # Decoded to str by the client, which the library's types cannot tell.
            stored: Any = self._redis.hgetall(f"turn:{turn_id}")
        if not stored:
            return None
        return StoredTurn(frozenset(stored.get("owners", "").split(",")), stored.get("final"))

    def delete_session(self, session_id: str) -> None:
        """Remove the session, its turns with their feedback, and its telemetry.

        A mark stays for as long as a turn that runs now could still end and be written.
        """
        self._remove(session_id)

    def _remove(self, session_id: str) -> None:
        session, turns = f"session:{session_id}", f"turns:{session_id}"
        with _mapped_errors():
            turn_ids: Any = self._redis.smembers(turns)
            pipe = self._redis.pipeline(transaction=False)
            for turn_id in turn_ids:
                pipe.delete(f"turn:{turn_id}")
                pipe.delete(f"feedback:{turn_id}")
            pipe.delete(turns)
            pipe.delete(f"telemetry:{session_id}")
            pipe.delete(session)
            pipe.hset(session, DELETED, "1")
            pipe.expire(session, DELETED_SECONDS)
            pipe.execute()

    def add_feedback(self, turn_id: str, feedback: str) -> bool:
        """Keep a turn's feedback for the gaps' retention; False when it has some already."""
        with _mapped_errors():
            kept = self._redis.set(f"feedback:{turn_id}", feedback, nx=True, ex=GAP_TTL_SECONDS)
        return bool(kept)

    def read_gaps(self, limit: int) -> list[str]:
        """The newest coverage gaps, as JSON, newest first."""
        with _mapped_errors():
            return [str(gap) for gap in self._redis.lrange("gaps", 0, limit - 1)]


def connect(
    url: str,
    *,
    credentials: CredentialProvider | None = None,
    connect_timeout: float = 1.0,
    timeout: float = 2.0,
) -> redis.Redis:
    """A client for ``url`` that says only what it must when it connects.

    ``protocol=2`` and no driver info save handshake commands; one retry covers a connection that
    was dropped while the function slept.
    """
    client: redis.Redis = redis.Redis.from_url(
        url,
        protocol=2,
        driver_info=None,
        decode_responses=True,
        # Text that is none, such as a lone surrogate, costs its own character.
        encoding_errors="replace",
        credential_provider=credentials,
        socket_connect_timeout=connect_timeout,
        socket_timeout=timeout,
        retry=Retry(NoBackoff(), 1),
        retry_on_error=[redis.ConnectionError],
    )
    return client


@contextmanager
def _mapped_errors() -> Iterator[None]:
    try:
        yield
    except (redis.RedisError, SettingsError) as exc:
        raise SessionUnavailable("The session store did not answer.") from exc


def _session_arguments(write: TurnWrite, ttl: int) -> list[str]:
    counts = (len(write.set_fields), len(write.delete_fields), len(write.increments))
    return [
        write.turn_id,
        str(ttl),
        *(str(count) for count in counts),
        *(part for pair in write.set_fields.items() for part in pair),
        *write.delete_fields,
        *(part for name, amount in write.increments.items() for part in (name, str(amount))),
    ]
