"""Snapshots that a run left unfinished, or that were complete: what another run of their id sends, and what stops it."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.admin.offsets import reset
from ignite_kafka.errors import IgniteKafkaError, Retired, SnapshotConflict, TopicError
from ignite_kafka.kafka.topics import Topics, TopicSpec
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.source.snapshot.run import SnapshotRun
from ignite_kafka.state import status
from ignite_kafka.state.configs import ConnectorState, Retirement
from ignite_kafka.state.role_transitions import write_retirement
from tests.support.kept_events import assert_kept
from tests.support.snapshot_world import ROWS, World


def test_a_complete_snapshot_is_not_repeated_but_a_new_one_is_sent(fresh: World) -> None:
    first = fresh.run("monday")
    again = fresh.run("monday")
    assert again.already_complete
    assert again.state == status.COMPLETED
    assert {name: cache.records for name, cache in again.caches.items()} == {name: cache.records for name, cache in first.caches.items()}
    assert fresh.verify()["trades"].records == ROWS
    assert not fresh.run("tuesday").already_complete
    assert fresh.verify()["trades"].records == 2 * ROWS
    assert_kept(fresh.settings, events.SNAPSHOT_BEGUN, events.SNAPSHOT_COMPLETE, events.SNAPSHOT_ALREADY_COMPLETE)


def test_settings_are_fixed_under_a_snapshot_id(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished(fresh, "s", monkeypatch)
    with pytest.raises(SnapshotConflict, match="enum_policy was 'SHORT_NAME', is 'ORDINAL'"):
        fresh.run("s", enum_policy="ORDINAL")
    fresh.run("s", tasks_max=1)
    assert fresh.verify()["trades"].records == ROWS


def test_an_unfinished_snapshot_continues_without_an_id(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished(fresh, "s", monkeypatch)
    assert fresh.run().snapshot_id == "s"
    assert_kept(fresh.settings, events.SNAPSHOT_CONTINUED)


def test_a_superseded_snapshot_cannot_continue(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished(fresh, "old", monkeypatch)
    fresh.run("new")
    with pytest.raises(SnapshotConflict, match="'new' was begun before"):
        fresh.run("old")
    assert_kept(fresh.settings, events.SNAPSHOT_SUPERSEDED)


def test_a_connector_that_is_retired_while_its_snapshot_begins_sends_nothing(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A switchover marks it after the run has claimed it: the claim's own look at the mark is over."""
    claim = SnapshotRun._claim

    def claim_before_a_switchover(run: SnapshotRun, *arguments: Any) -> ConnectorState:
        claimed = claim(run, *arguments)
        prefix = fresh.settings.internal_topic_prefix
        retirement = Retirement("t", "switchover", 1)
        write_retirement(fresh.clients, Topics(fresh.clients), prefix, fresh.settings.name, retirement)
        return claimed

    monkeypatch.setattr(SnapshotRun, "_claim", claim_before_a_switchover)
    with pytest.raises(Retired, match="a switchover ended this connector"):
        fresh.run("s")
    assert fresh.verify()["trades"].records == 0


def unfinished(world: World, snapshot_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a snapshot whose driver stops before it ends it: all units are sent."""

    def stops(*_: object) -> None:
        raise IgniteKafkaError("the driver stops here")

    with monkeypatch.context() as patch:
        patch.setattr("ignite_kafka.state.configs_writer.ConfigsWriter.end_snapshot", stops)
        with pytest.raises(IgniteKafkaError, match="stops here"):
            world.run(snapshot_id)


def test_a_finished_copy_whose_driver_died_sends_nothing_again(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished(fresh, "s", monkeypatch)
    result = fresh.run("s")
    assert result.caches[f"{fresh.stem}-trades"].records == ROWS
    assert fresh.verify()["trades"].records == ROWS


def test_a_changed_partition_count_stops_a_continued_snapshot(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished(fresh, "s", monkeypatch)
    admin, _ = fresh.clients.admin()
    topic = f"{fresh.settings.topic_prefix}{fresh.stem}-trades"
    from confluent_kafka.admin import NewPartitions

    admin.create_partitions([NewPartitions(topic, 5)])[topic].result()
    with pytest.raises(TopicError, match="5 partitions now, and had 3"):
        fresh.run("s")


def test_a_deleted_topic_is_not_filled_in_part(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished(fresh, "s", monkeypatch)
    topics, topic = Topics(fresh.clients), f"{fresh.settings.topic_prefix}{fresh.stem}-trades"
    delete_topic(fresh, topic)
    with pytest.raises(TopicError, match="the topic was deleted, and") as refused:
        fresh.run("s")
    assert f"ignite-kafka offsets reset {fresh.settings.name} --cache {fresh.stem}-trades --kafka " in refused.value.remedy
    assert topic not in topics.existing(), "it is not made again"
    topics.ensure([TopicSpec(topic, 3)])
    with pytest.raises(TopicError, match="deleted and made again"):
        fresh.run("s")
    reset(fresh.settings, Secrets(), f"{fresh.stem}-trades")
    fresh.run("s")
    assert {name: found.equal for name, found in fresh.verify().items()} == dict.fromkeys(("trades", "names", "accounts", "empty"), True)
    delete_topic(fresh, topic)
    with pytest.raises(TopicError, match="Begin a new snapshot"):
        fresh.run("s")  # it was complete
    fresh.run("t")
    assert fresh.verify()["trades"].equal
    assert_kept(fresh.settings, events.TOPIC_REPLACED)


def delete_topic(world: World, topic: str) -> None:
    admin, _ = world.clients.admin()
    admin.delete_topics([topic])[topic].result()
