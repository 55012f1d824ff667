"""What a running stack's turns cost, and what it notices while it runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from devstack.client import Client
from devstack.redis_server import RedisServer
from devstack.stack import API_KEY, Stack
from plumbline import instance
from tests.trip_counter import TripCounter


def test_a_turn_makes_two_round_trips_to_redis() -> None:
    redis = RedisServer()
    try:
        with TripCounter(redis.url) as counter:
            given = {**os.environ, "REDIS_URL": counter.url, "LOG_LEVEL": "CRITICAL"}
            with Stack(given) as stack:
                assert stack.redis_kind == "given"
                client = Client(stack.url, API_KEY)
                first, *_ = client.ask({"query": "anything"})
                session = first.data["session_id"]
                before = counter.trips
                list(client.ask({"query": "anything", "session_id": session}))
                assert counter.trips - before == 2
    finally:
        redis.stop()


def test_an_instance_file_that_is_edited_is_read_again(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    shutil.copy(Path(instance.__file__).parent / "instances" / "default.yaml", own)
    given = {**os.environ, "INSTANCE": str(own), "LOG_LEVEL": "CRITICAL"}
    with Stack(given) as stack:
        client = Client(stack.url, API_KEY)
        question = _question(client)
        text = own.read_text(encoding="utf-8")
        assert question in text
        own.write_text(text.replace(question, "What brings you here?"), encoding="utf-8")
        stamp = own.stat().st_mtime_ns + 1_000_000_000
        os.utime(own, ns=(stamp, stamp))
        assert _question(client) == "What brings you here?"


def _question(client: Client) -> str:
    (discovery,) = [e for e in client.ask({"query": "a b c"}) if e.event == "discovery"]
    return str(discovery.data["question"])
