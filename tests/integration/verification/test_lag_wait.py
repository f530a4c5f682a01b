"""Differences beside a run count only if they are still there after the lag has passed, on real servers."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from pyignite.datatypes import LongObject

from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.state import status
from ignite_kafka.state import target_state as target
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.lag_wait import LagWait
from ignite_kafka.verification.result import VerifyOptions
from tests.support.sink_connector import Running, Sink, trade
from tests.support.stream_world import World, await_that
from tests.support.verified_results import counts, verified
from tests.support.waiting import REQUEST_S, wait_until

WAIT_MS = 600_000  # on a busy machine, too


def test_changes_on_their_way_are_no_differences(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry is newer than the records of the first look, and its record comes before the second; another is wrong."""
    sink.send([trade(number) for number in range(30)])
    with Running(sink, slots=1) as running:
        running.awaits(set(range(30)))
        wait_until(lambda: running.alive and verified(sink)["cache"].result.equal, "the commit of the stored records")
        with sink.ignite.client() as client:
            cache = client.get_cache(sink.cache)
            entry = cache.get(20, key_hint=LongObject)
            cache.put(7, entry, key_hint=LongObject)  # its record is on its way
            cache.put(8, entry, key_hint=LongObject)
        looks: list[bool] = []
        wait = LagWait.__call__

        def send_and_wait(self: LagWait) -> bool:
            if not looks:
                sink.send([(b"7", trade(20)[1])])
            looks.append(wait(self))
            return looks[-1]

        monkeypatch.setattr(LagWait, "__call__", send_and_wait)
        found = verified(sink, recheck_wait_ms=WAIT_MS)["cache"]
        assert (counts(found), found.result.changing) == ((30, 30, 0, 1, 0), 0)
        assert [item.text.partition(":")[0] for item in found.result.noted] == ["key 8"]
        assert looks == [True]


def test_changes_in_the_backlog_are_no_differences(stream: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream is paused at the first look and has sent the changes at the second; a record of another program is wrong."""
    stream.put("a", {key: f"v{key}" for key in range(30)})
    with stream.running(slots=1) as run:  # it holds one of the session's two cores, the comparison has the other one
        stream.await_equal("a", run)
        producer = Producer({"bootstrap.servers": stream.settings.bootstrap_servers, "partitioner": "murmur2_random"})
        producer.produce(f"{stream.stem}-a", b'"wrong"', b"25")
        assert producer.flush(REQUEST_S) == 0
        stream.ask(target.PAUSED)
        await_that(lambda: run.state(stream) == status.PAUSED, "pause", run)
        stream.put("a", {key: f"w{key}" for key in range(20)})
        stream.remove("a", [21])
        looks: list[bool] = []
        wait = LagWait.__call__

        def resume_and_wait(self: LagWait) -> bool:
            if not looks:
                stream.ask(target.RUNNING)
            looks.append(wait(self))
            return looks[-1]

        monkeypatch.setattr(LagWait, "__call__", resume_and_wait)
        result = verify_connector(stream.spark, stream.settings, Secrets(), None, VerifyOptions(recheck_wait_ms=WAIT_MS))
        assert counts(result.caches[0])[2:] == (0, 1, 0)
        assert looks == [True]
        assert run.stop().state == status.STOPPED
