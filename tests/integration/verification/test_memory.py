"""Comparisons with a memory, on real servers: samples that slide over all keys, the history, and a repair that is bounded."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from pyignite.datatypes import LongObject

from ignite_kafka.cli import main
from ignite_kafka.events import DIFFERENCES_FOUND, NOT_ALL_COMPARED
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.result import VerifyOptions
from tests.support.kept_events import assert_kept
from tests.support.sink_connector import Sink, trade
from tests.support.snapshot_world import ROWS, World
from tests.support.verified_results import counts, verified
from tests.support.waiting import REQUEST_S


def test_samples_slide_over_all_keys_and_the_history_has_their_results(fresh: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three thirds, one finds the record that was changed, as do those after it, and all together compare each entry once."""
    settings = replace(fresh.settings, cache_whitelist=(f"{fresh.stem}-trades",))
    run_snapshot(fresh.spark, RunRequest(settings, uuid.uuid4().hex, None))
    producer = Producer({"bootstrap.servers": fresh.kafka.bootstrap, "partitioner": "murmur2_random"})
    producer.produce(f"{settings.topic_prefix}{fresh.stem}-trades", b'"wrong"', b"17")
    assert producer.flush(REQUEST_S) == 0
    parts = [verify_connector(fresh.spark, settings, Secrets(), None, VerifyOptions(percent=34, within_ms=1)) for _ in range(3)]
    entries = [part.caches[0].result.entries for part in parts]
    assert all(count > ROWS / 4 for count in entries[:2])
    assert sum(entries[:2]) < ROWS
    assert sum(entries) > ROWS, "the last sample begins with what is left, and goes on with the first keys"
    assert sum(entries[:2]) + entries[2] * 32 / 34 == pytest.approx(ROWS, rel=0.03)
    different = [part.caches[0].result.different for part in parts]
    assert different in ([0, 0, 1], [0, 1, 1], [1, 1, 1]), "a slice with a difference is compared each time"
    assert [part.oldest_ms is None for part in parts] == [True, True, False]
    assert ["last compared" in part.gap for part in parts] == [False, True, True]
    assert_kept(settings, DIFFERENCES_FOUND, NOT_ALL_COMPARED)
    connection = ["--kafka", fresh.kafka.bootstrap, "--internal-topic-prefix", settings.internal_topic_prefix]
    capsys.readouterr()
    assert main.main(["verify", "history", settings.name, *connection, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [past["entries"] for past in shown["comparisons"]] == entries[::-1]
    assert [past["equal"] for past in shown["comparisons"]] == [part.equal for part in parts][::-1]
    assert main.main(["verify", "history", settings.name, *connection]) == 0
    assert "all keys of 1 cache were compared since 20" in capsys.readouterr().out


def test_a_repair_of_more_than_its_bound_changes_nothing(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    with sink.ignite.client() as client:
        cache = client.get_cache(sink.cache)
        for number in (3, 4, 5):
            cache.remove_key(number, key_hint=LongObject)
    options = VerifyOptions(repair=True, repair_at_most=2)
    refused = verify_connector(sink.spark, sink.settings, Secrets(), None, options)
    assert counts(refused.caches[0]) == (27, 30, 3, 0, 0)
    assert (refused.equal, refused.caches[0].repaired) == (False, 0)
    assert "3 keys differ, and a repair may change 2" in refused.repair_refusal
    assert set(sink.entries()) == {*range(30)} - {3, 4, 5}
    repaired = verified(sink, repair=True, repair_at_most=3)["cache"]
    assert (repaired.repaired, repaired.equal) == (3, True)
    assert set(sink.entries()) == {*range(30)}
