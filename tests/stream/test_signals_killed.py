"""A signal's snapshot while its driver dies: each entry has one record of the snapshot, and no key steps back."""

from __future__ import annotations

import json
from collections import Counter

from ignite_kafka.admin.signals import SignalView, read_signal, request_snapshot
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.signal_records import CacheSelection
from tests.stream.conftest import MakeStream, Stream, assert_right
from tests.support.oracle import read_committed
from tests.support.processes import App
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, KafkaBroker

KIND = "atomic-a"
ENTRIES = 400


def signal_of(followed: Stream, signal: str) -> SignalView:
    view = read_signal(_settings(followed), Secrets(), signal)
    assert view is not None
    return view


def _settings(followed: Stream) -> SourceSettings:
    return SourceSettings(
        name=followed.name,
        ignite_addresses=followed.ignite.addresses,
        bootstrap_servers=followed.kafka.bootstrap,
        internal_topic_prefix=f"in-{followed.name}",
    )


def await_signal(followed: Stream, signal: str, app: App, done: int) -> None:
    """Wait until a signal has sent that many partitions, or is complete."""

    def reached() -> bool:
        view = signal_of(followed, signal)
        if view.state == "COMPLETED" or 0 < done <= view.total.units_done:
            return True
        assert app.running(), f"the connector ended:\n{app.output_tail()}"
        return False

    wait_until(reached, f"signal {signal}", poll_s=0.2)


def test_a_driver_killed_during_a_snapshot(pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream) -> None:
    followed = stream(pair, kafka, progress_interval_ms=200)
    cache = followed.cache(KIND)
    with pair.client() as client:
        client.get_or_create_cache(cache).put_all({key: key for key in range(ENTRIES)})
    # the rate, so that the snapshot takes some seconds: four if nothing else is slow
    with followed.running(max_records_per_second=100) as first:
        followed.await_totals(first, {KIND: ENTRIES})
        (signal,) = request_snapshot(_settings(followed), Secrets(), [CacheSelection(cache)]).ids
        await_signal(followed, signal, first, 1)
        first.kill()
    before = signal_of(followed, signal)
    assert before.total.units_done > 0  # on a machine that stands still meanwhile perhaps all
    with pair.client() as client:
        client.get_cache(cache).put(0, ENTRIES)
    with followed.running() as second:
        await_signal(followed, signal, second, 0)
        followed.await_same(second, KIND)
        followed.stop(second)
    # a record of the snapshot repeats the entry's last record
    assert_right(followed.verdicts(KIND), besides=("repeated",))
    view = signal_of(followed, signal)
    assert view.total.units == view.total.units_done == before.total.units
    times = Counter(record.key for record in read_committed(kafka.bootstrap, followed.topic(KIND)).records)
    assert {times[json.dumps(key).encode()] for key in range(1, ENTRIES)} == {2}, "loaded once, and sent once by the signal"
    assert times[b"0"] in (2, 3)
    assert view.total.records in (ENTRIES - 1, ENTRIES)
