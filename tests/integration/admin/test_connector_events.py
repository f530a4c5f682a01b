"""Events of driver and tasks outlive the run, and those of a stream's tasks are there while it runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.admin.connector_events import ConnectorEvents, follow_events, read_connector_events
from ignite_kafka.cli.main import main
from ignite_kafka.errors import RecordRefused, SettingsError
from ignite_kafka.event_descriptions import CAUSES
from ignite_kafka.events import IGNITE_CONNECTED, OBJECT_NOT_BUILT, RUN_COMPLETED, RUN_FAILED, RUN_STARTED
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from tests.support.kept_events import assert_kept
from tests.support.sink_connector import Running, Sink, trade
from tests.support.waiting import wait_until

BROKEN = b"7", b'{"id":'
ANNA = b"8", b'{"id":"anna"}'


def kept(sink: Sink, **changed: Any) -> ConnectorEvents:
    return read_connector_events(sink.settings, Secrets(), **changed)


def test_events_of_driver_and_tasks_are_kept_over_runs(sink: Sink, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match="no connector of that name was ever started"):
        kept(sink)
    sink.send([trade(1), BROKEN, trade(2)], partition=0)
    sink.run(error_handling_policy="LOG_ONLY")
    sink.send([BROKEN], partition=1)
    with pytest.raises(RecordRefused):
        sink.run()
    events = kept(sink)
    bad = events.counts[OBJECT_NOT_BUILT.id]
    places = [(occurrence.fields["topic"], occurrence.fields["partition"], occurrence.fields["offset"]) for occurrence in bad.newest]
    assert (bad.count, places) == (2, [(sink.topic, "0", "1"), (sink.topic, "1", "0")])
    assert [events.counts[event.id].count for event in (RUN_STARTED, RUN_COMPLETED, RUN_FAILED)] == [2, 1, 1]
    assert_kept(sink.settings, OBJECT_NOT_BUILT, RUN_STARTED, RUN_COMPLETED, RUN_FAILED, IGNITE_CONNECTED)

    words = ["events", sink.name, "--kafka", sink.kafka.bootstrap, "--internal-topic-prefix", sink.settings.internal_topic_prefix]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(events.to_dict()))
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert f"ERROR     {OBJECT_NOT_BUILT.id}" in shown
    assert f"{OBJECT_NOT_BUILT.id}: {CAUSES[OBJECT_NOT_BUILT]} {OBJECT_NOT_BUILT.action}" in shown
    assert main([*words, "--since", "2999-01-01"]) == 0
    assert "has no events" in capsys.readouterr().out


def test_a_task_reports_its_events_while_it_runs_and_each_counts_once(sink: Sink) -> None:
    sink.send([trade(1), BROKEN], partition=0)
    with Running(sink, error_handling_policy="LOG_ONLY", progress_interval_ms=200) as running:
        running.awaits({1})
        wait_until(lambda: running.alive and OBJECT_NOT_BUILT.id in kept(sink).counts, "the task's event")
        followed = follow_events(sink.settings, Secrets(), 0, 0.2)
        id, occurrence = next(event for event in followed if event[0] == OBJECT_NOT_BUILT.id)
        assert (id, occurrence.fields["offset"]) == (OBJECT_NOT_BUILT.id, "1")
        sink.send([BROKEN], partition=2)
        _, occurrence = next(event for event in followed if event[0] == OBJECT_NOT_BUILT.id)
        assert (occurrence.fields["partition"], occurrence.fields["offset"]) == ("2", "0")
        assert kept(sink).counts[OBJECT_NOT_BUILT.id].count == 2
    assert kept(sink).counts[OBJECT_NOT_BUILT.id].count == 2


def test_values_stay_out_of_the_texts_where_log_values_is_false(sink: Sink) -> None:
    sink.send([ANNA], partition=0)
    sink.run(error_handling_policy="LOG_ONLY", log_values=False)
    events = kept(sink)
    assert events.counts[OBJECT_NOT_BUILT.id].count == 1
    assert "anna" not in json.dumps(events.to_dict())
    (occurrence,) = events.counts[OBJECT_NOT_BUILT.id].newest
    assert occurrence.fields["reason"] == "(hidden: log_values is false)"


def test_an_events_topic_has_a_record_of_each_event(sink: Sink) -> None:
    topic = f"{sink.name}-events"
    sink.send([trade(1), BROKEN], partition=0)
    with pytest.raises(RecordRefused):
        sink.run(events_topic=topic)
    records = [(message.key(), json.loads(message.value() or b"")) for message in sink.messages(topic)]
    assert {key for key, _ in records} == {sink.name.encode()}
    of_id = {record["id"]: record for _, record in records}
    assert of_id.keys() == kept(sink).counts.keys()
    assert [record["id"] for _, record in records][-1] == RUN_FAILED.id
    bad = of_id[OBJECT_NOT_BUILT.id]
    assert (bad["connector"], bad["severity"], bad["count"]) == (sink.name, "ERROR", 1)
    assert (bad["fields"]["topic"], bad["fields"]["offset"], bad["action"]) == (sink.topic, "1", OBJECT_NOT_BUILT.action)
    assert set(bad) == {"connector", "run_id", "id", "severity", "cause", "action", "at", "text", "fields", "count"}


def test_the_events_topic_is_no_topic_of_data(sink: Sink) -> None:
    for topic in (sink.topic, f"{sink.settings.internal_topic_prefix}-configs"):
        with pytest.raises(SettingsError, match="events_topic"):
            SinkSettings.from_dict({**sink.settings.to_dict(), "events_topic": topic})
