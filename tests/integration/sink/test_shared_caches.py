"""Several topics into one cache, on real servers: with keys in one topic each, and with values ordered by a field."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyignite.datatypes import LongObject

from ignite_kafka.errors import RecordRefused, SettingsError
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.result import VerifyOptions
from tests.support.sink_connector import COLUMNS, Record, Sink, expected, trade
from tests.support.verified_results import counts, verified


def two_topics(sink: Sink) -> str:
    """Let the sink read a second topic into the same cache, and return its name."""
    other = f"{sink.name}-other"
    sink.make_topic(other, 2)
    sink.settings = replace(sink.settings, topics=(sink.topic, other), cache_names={f"{sink.name}-.*": sink.cache})
    return other


def test_topics_with_disjoint_keys_are_stored_in_one_cache_and_verified(sink: Sink) -> None:
    other = two_topics(sink)
    with pytest.raises(SettingsError, match="go to one cache"):
        sink.run()
    sink.settings = replace(sink.settings, shared_caches="disjoint_keys")
    sink.send([trade(number) for number in range(9)])
    sink.send([trade(number) for number in range(20, 25)], partition=0, topic=other)
    status = sink.run().caches[sink.cache]
    assert (status.topic, status.units, status.units_done, status.entries) == (sink.topic, 5, 5, 14)
    sink.send([(trade(1)[0], None), trade(9)], partition=1)
    sink.send([(trade(20)[0], trade(30)[1]), (b"7", b"7")], partition=0, topic=other)
    sink.run(error_handling_policy="LOG_ONLY")
    kept = [*range(1), *range(2, 10), *range(20, 25)]
    assert sink.entries() == {number: expected(30 if number == 20 else number) for number in kept}
    sink.settings = replace(sink.settings, error_handling_policy="LOG_ONLY")
    found = verified(sink)
    assert all(judged.equal for judged in found.values())
    (shared,) = (judged for judged in found.values() if judged.result.entries)
    assert (shared.result.cache, shared.result.topic) == (sink.cache, ", ".join(sorted((sink.topic, other))))
    assert counts(shared)[0] == len(kept)


def test_the_greatest_of_a_field_remains_whatever_topic_has_it_and_whenever_it_is_read(sink: Sink) -> None:
    """A topic that lags is read by a later run than greater records; both topics have records in one batch.

    `verify` reports only the entry that has the last record of a partition, and not the greatest.
    """
    other = two_topics(sink)
    sink.settings = replace(sink.settings, delivery="strict", order_field="AT", cache_fields={**COLUMNS, "at": "java.sql.Timestamp"})

    def at(number: int, ms: int) -> Record:
        return trade(number, symbol=f"at {ms}", at=ms)

    sink.send([at(number, 10_000 + number) for number in range(6)])
    sink.send([at(number, 10_000 if number % 2 else 20_000) for number in range(6)], partition=1, topic=other)
    sink.run()
    greatest = [20_000, 10_001, 20_000, 10_003, 20_000, 10_005]
    assert [sink.entries()[number]["symbol"] for number in range(6)] == [f"at {ms}" for ms in greatest]
    with sink.ignite.client() as client:
        lesser = client.get_cache(sink.cache).get(1, key_hint=LongObject)
    late = [at(0, 15_000), at(1, 30_000), at(1, 25_000), at(5, 40_000), at(5, 35_000), at(2, 20_000)]
    sink.send([*late, (b"3", None), trade(4)], partition=0)
    with pytest.raises(RecordRefused, match="is a removal"):
        sink.run()
    sink.settings = replace(sink.settings, error_handling_policy="LOG_ONLY")
    status = sink.run().caches[sink.cache]
    assert (status.records, status.bad) == (2, 2)
    greatest[1], greatest[5] = 30_000, 40_000
    assert [sink.entries()[number]["symbol"] for number in range(6)] == [f"at {ms}" for ms in greatest]
    with sink.ignite.client() as client:
        client.get_cache(sink.cache).put(1, lesser, key_hint=LongObject)
    found = verified(sink)
    (shared,) = (judged for judged in found.values() if judged.result.entries)
    assert (counts(shared), sum(judged.result.skipped for judged in found.values())) == ((6, 18, 0, 1, 0), 2)
    (example,) = (text for text in shared.result.examples if "key 1" in text)
    assert "symbol is 'at 30000' in the record, 'at 10001' in the entry" in example
    with pytest.raises(SettingsError, match="offsets reset"):
        verify_connector(sink.spark, sink.settings, Secrets(), None, VerifyOptions(repair=True))
