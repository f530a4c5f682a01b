"""Several topics into one cache whose keys are in one topic each, on real servers, and the comparison of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ignite_kafka.errors import SettingsError
from tests.support.sink_connector import Sink, expected, trade
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
