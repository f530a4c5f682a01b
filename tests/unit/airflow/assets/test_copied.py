"""What a run has copied, by its settings and its status record."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ignite_kafka.assets.copied import CopiedCache, clusters_of, copied_of
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import COMPLETED, CacheStatus, RunStatus

CACHES = {"b": CacheStatus("t-b", 7, 9, 100, 4, 4, 0.5, 1), "a": CacheStatus("t-a", bad=2)}
RUN = RunStatus(COMPLETED, "c", "r", "s", 3, caches=CACHES)
SOURCE = SourceSettings(name="c", bootstrap_servers="Broker-1:9092,broker-2:9092", ignite_addresses=("Node-1", "node-2:10801"))
SINK = SinkSettings(name="c", topics=("t-b",))


def test_first_addresses_name_the_clusters_and_counts_are_by_cache() -> None:
    copied = copied_of(SOURCE, RUN)
    assert (copied.ignite, copied.kafka) == (("node-1:10800", "node-2:10801"), ("broker-1:9092", "broker-2:9092"))
    assert copied.caches == (CopiedCache("a", "t-a", skipped=2), CopiedCache("b", "t-b", 9, 100, 1))
    one = copied.caches[1]
    assert (copied.source_uri(one), copied.target_uri(one)) == ("ignite://node-1:10800/b", "kafka://broker-1:9092/t-b")
    counts = {"cache": "b", "topic": "t-b", "records": 9, "bytes": 100, "skipped": 1}
    assert copied.extra(one) == {"connector": "c", "run_id": "r", "snapshot_id": "s", "state": "COMPLETED", **counts}


def test_sink_has_stored_what_was_put_and_removed() -> None:
    copied = copied_of(SINK, replace(RUN, snapshot_id=""))
    one = copied.caches[1]
    assert one.records == 7
    assert (copied.source_uri(one), copied.target_uri(one)) == ("kafka://127.0.0.1:9092/t-b", "ignite://127.0.0.1:10800/b")
    assert "snapshot_id" not in copied.extra(one)


def test_run_that_found_its_snapshot_complete_has_copied_nothing() -> None:
    copied = copied_of(SOURCE, replace(RUN, already_complete=True))
    assert copied.caches == (CopiedCache("a", "t-a"), CopiedCache("b", "t-b"))


def test_nothing_is_known_without_a_record() -> None:
    assert copied_of(SOURCE, None) == clusters_of(SOURCE)
    assert clusters_of(SOURCE).caches == ()
