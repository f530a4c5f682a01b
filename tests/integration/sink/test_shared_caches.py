"""Several topics into one cache, on real servers: with keys in one topic each, and with values ordered by a field."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
    """The record of a topic that lags is read by a later run than greater ones; both topics have records in one batch."""
    other = two_topics(sink)
    sink.settings = replace(sink.settings, delivery="strict", order_field="AT", cache_fields={**COLUMNS, "at": "java.sql.Timestamp"})

    def at(number: int, ms: int) -> Record:
        return trade(number, symbol=f"at {ms}", at=ms)

    sink.send([at(number, 10_000 + number) for number in range(6)])
    sink.send([at(number, 10_000 if number % 2 else 20_000) for number in range(6)], partition=1, topic=other)
    sink.run()
    greatest = [20_000, 10_001, 20_000, 10_003, 20_000, 10_005]
    assert [sink.entries()[number]["symbol"] for number in range(6)] == [f"at {ms}" for ms in greatest]
    sink.send([at(0, 15_000), at(1, 30_000), at(1, 25_000), at(2, 20_000), (b"3", None), trade(4)], partition=0)
    with pytest.raises(RecordRefused, match="is a removal"):
        sink.run()
    sink.settings = replace(sink.settings, error_handling_policy="LOG_ONLY")
    status = sink.run().caches[sink.cache]
    assert (status.records, status.bad) == (2, 2)
    greatest[1] = 30_000
    assert [sink.entries()[number]["symbol"] for number in range(6)] == [f"at {ms}" for ms in greatest]
    with pytest.raises(SettingsError, match="offsets reset"):
        verify_connector(sink.spark, sink.settings, Secrets(), None, VerifyOptions(repair=True))
