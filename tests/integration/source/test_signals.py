"""Signals of a real stream: ad-hoc snapshots beside writers, from the command line's functions to the topic's records."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer

from airflow_provider_ignite_kafka.operators.snapshot_signal import SnapshotSignalOperator
from airflow_provider_ignite_kafka.runs.signals import SignalReader
from ignite_kafka import events
from ignite_kafka.admin.signals import SignalView, change_signals, list_signals, read_signal, request_snapshot
from ignite_kafka.connect_rest.configuration import Operator
from ignite_kafka.connect_rest.messages import Answer, Request
from ignite_kafka.connect_rest.routes import dispatch
from ignite_kafka.connect_rest.service import ConnectService
from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.state import status
from ignite_kafka.state.signal_records import CacheSelection
from tests.support.kept_events import assert_kept
from tests.support.randomness import generator
from tests.support.stream_world import Running, World, await_that
from tools.servers import KafkaBroker

KEYS = 400


@contextmanager
def writers(world: World, cache: str, keys: int) -> Iterator[None]:
    """A client that puts rising numbers to keys at random, and removes some, until the end."""
    stop = threading.Event()
    choice = generator(54)

    def write() -> None:
        with world.ignite.client() as client:
            written = client.get_cache(f"{world.stem}-{cache}")
            number = 1
            while not stop.is_set():
                if choice.random() < 0.1:
                    written.remove_keys([choice.randrange(keys)])
                else:
                    written.put_all({choice.randrange(keys): number + place for place in range(5)})
                    number += 5

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)


def steps_back(records: list[tuple[bytes | None, bytes | None]]) -> list[str]:
    """Records below an earlier one of their key."""
    last: dict[bytes | None, int] = defaultdict(lambda: -1)
    found = []
    for key, value in records:
        number = -1 if value is None else int(json.loads(value))
        if value is not None and number < last[key]:
            found.append(f"{key!r}: {number} after {last[key]}")
        last[key] = max(number, last[key])
    return found


def selection(world: World, cache: str, **more: Any) -> CacheSelection:
    return CacheSelection(f"{world.stem}-{cache}", **more)


def request(world: World, *selections: CacheSelection, id: str | None = None) -> str:
    (signal,) = request_snapshot(world.settings, Secrets(), selections, id, "test").ids
    return signal


def view(world: World, signal: str) -> SignalView:
    found = read_signal(world.settings, Secrets(), signal)
    assert found is not None
    return found


def await_state(world: World, signal: str, state: str, *runs: Running) -> SignalView:
    def reached() -> bool:
        now = read_signal(world.settings, Secrets(), signal)
        if now is None:  # a record of the signal topic that is not read yet
            return False
        assert now.state == state or now.ended_ms is None, f"the signal ended otherwise: {now}"
        return now.state == state

    await_that(reached, f"signal {state}", *runs)
    return view(world, signal)


def test_a_snapshot_beside_writers_keeps_the_order_of_each_key(stream: World) -> None:
    stream.put("a", dict.fromkeys(range(2 * KEYS), 0))  # half of them are not written meanwhile
    with stream.running(progress_interval_ms=500) as run:
        stream.await_equal("a", run)
        with writers(stream, "a", KEYS):
            await_that(lambda: len(stream.records("a")) > 3 * KEYS, "changes", run)
            signal = request(stream, selection(stream, "a"))
            ended = await_state(stream, signal, "COMPLETED", run)
        stream.await_equal("a", run)
        run.stop()
    records = stream.records("a")
    assert steps_back(records) == []
    times = Counter(key for key, value in records if key is not None and int(key) >= KEYS)
    assert set(times.values()) == {2}  # loaded, and sent by the signal
    assert ended.total.units == ended.total.units_done > 0
    assert KEYS <= ended.total.records <= 2 * KEYS
    assert_kept(stream.settings, events.SIGNAL_BEGUN, events.SIGNAL_COMPLETED)


def test_what_a_signal_selects(stream: World) -> None:
    """A condition besides the connector's own, keys and partitions; the connector is stopped when the signals are sent."""
    stream.settings = replace(stream.settings, where="_value <> 7")
    stream.put("a", {key: key for key in range(100)})
    stream.put("b", {key: key for key in range(100)})
    stream.run(run_mode="once")
    before = {name: Counter(stream.records(name)) for name in "ab"}
    assert [count.total() for count in before.values()] == [99, 99]
    below = request(stream, selection(stream, "a", where="_value < 10"), id="below")
    keyed = request(stream, selection(stream, "b", keys=("5", "55", "7", "1000")))
    unknown = request(stream, selection(stream, "c"))
    wrong = request(stream, selection(stream, "a", where="price > 1"))
    assert request_snapshot(stream.settings, Secrets(), [selection(stream, "a")], "below").repeated
    listed = list_signals(stream.settings, Secrets())
    assert [signal.state for signal in listed.signals] == ["WAITING"] * 4
    assert listed.run_ended
    ended = stream.run(run_mode="once")
    assert ended.state == status.COMPLETED
    assert [view(stream, signal).state for signal in (below, keyed, unknown, wrong)] == ["COMPLETED", "COMPLETED", "FAILED", "FAILED"]
    assert f"does not copy a cache '{stream.stem}-c'" in view(stream, unknown).error
    assert "price" in view(stream, wrong).error
    more = {name: Counter(stream.records(name)) - before[name] for name in "ab"}
    assert sorted(int(value or b"") for _, value in more["a"].elements()) == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert sorted(int(value or b"") for _, value in more["b"].elements()) == [5, 55]
    assert view(stream, below).total.records == 9
    assert view(stream, keyed).total.records == 2
    partitions = request(stream, selection(stream, "a", partitions=tuple(range(0, 64, 2))))
    odd = request(stream, selection(stream, "a", partitions=tuple(range(1, 64, 2))))
    stream.run(run_mode="once")
    assert view(stream, partitions).total.records + view(stream, odd).total.records == 99
    assert stream.run(run_mode="once").state == status.COMPLETED  # each signal is sent once
    assert len(stream.records("a")) == 99 + 9 + 99
    assert_kept(stream.settings, events.SIGNAL_FAILED)


def notifications(world: World) -> list[tuple[str, str, str]]:
    """Id, aggregate type and type of each notification but those of progress."""
    topic = world.settings.notifications_topic
    values = [json.loads(message.value() or b"") for message in read_to_end(world.clients, Topics(world.clients), topic, [0])]
    assert {value["additional_data"]["connector_name"] for value in values} == {world.stem}
    return [(value["id"], value["aggregate_type"], value["type"]) for value in values if value["type"] != "IN_PROGRESS"]


def by_airflow(world: World, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task of the operator, whose connection has the test's broker, sends a signal and returns its counts."""
    monkeypatch.setattr("airflow_provider_ignite_kafka.runs.signals.connection_clients", lambda *_: world.clients)
    prefix = world.settings.internal_topic_prefix
    operator = SnapshotSignalOperator(
        task_id="again", connector=world.stem, caches={cache: "_value > 15"}, signal="task", internal_topic_prefix=prefix, poke_interval=0.2
    )
    context: Any = {}
    progress = operator.execute(context)
    assert (progress["state"], progress["records"], progress["caches"]) == ("COMPLETED", 4, {cache: 4})
    copied = SignalReader(world.stem, internal_topic_prefix=prefix).copied(progress)
    assert [(one.topic, one.records) for one in copied.caches] == [(cache, 4)]
    assert copied.topic_uri(copied.caches[0]) == f"kafka://{world.settings.bootstrap_servers}/{cache}"


def test_a_signal_topic_and_notifications(stream: World, kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    signals = f"signals-{stream.stem}"
    stream.settings = replace(stream.settings, signal_topic=signals, notifications_topic=f"notices-{stream.stem}")
    stream.put("a", {key: key for key in range(20)})
    producer = Producer({"bootstrap.servers": kafka.bootstrap})

    def send(id: str, data: dict[str, Any], key: str = stream.stem) -> None:
        producer.produce(signals, json.dumps({"id": id, "type": "execute-snapshot", "data": data}), key)
        assert producer.flush(60) == 0

    cache = f"{stream.stem}-a"
    below = {"data-collections": [cache], "additional-conditions": [{"data-collection": cache, "filter": "_value < 5"}]}
    first = stream.run(run_mode="once")
    with pytest.raises(SettingsError, match="it is the topic of"):
        replace(stream.settings, signal_topic=stream.settings.notifications_topic)
    send("below", below)  # while nothing runs
    send("below", below)
    send("other", below, "another connector")
    send("code", {**below, "function": "os.system"})
    with stream.running(progress_interval_ms=300) as run:
        assert await_state(stream, "below", "COMPLETED", run).total.records == 5
        send("unknown", {"data-collections": ["secrets"]})
        assert "does not copy" in await_state(stream, "unknown", "FAILED", run).error
        by_airflow(stream, cache, monkeypatch)
        run.stop()
    listed = {signal.id: signal for signal in list_signals(stream.settings, Secrets()).signals}
    (code,) = set(listed) - {"below", "unknown", "task"}
    assert "'function'" in listed[code].error
    stream.run(run_mode="once")  # its position is behind all of them
    of_signals = [(id, kind) for id, aggregate, kind in notifications(stream) if aggregate == "Incremental Snapshot"]
    complete = [(id, kind) for id in ("below", "task") for kind in ("STARTED", "CACHE_DONE", "COMPLETED")]
    assert sorted(of_signals) == sorted([(code, "FAILED"), ("unknown", "FAILED"), *complete])
    initial = [(id, kind) for id, aggregate, kind in notifications(stream) if aggregate == "Initial Snapshot"]
    assert initial == [(first.snapshot_id, kind) for kind in ("STARTED", "CACHE_DONE", "COMPLETED")]


def by_rest(world: World, method: str, body: Any = None) -> Answer:
    service = ConnectService(Operator(world.settings, Secrets()))
    value = b"" if body is None else json.dumps(body).encode()
    return dispatch(service, Request(method, f"/connectors/{world.stem}/signals", {}, "application/json", value))


def destroyed_meanwhile(world: World, run: Running) -> None:
    """A cache is destroyed while a signal sends it: the signal is not complete, and says why."""
    incarnation = int(world.units("b")[0]["incarnation"])
    signal = request(world, selection(world, "b"), id="destroyed")
    await_that(lambda: view(world, signal).total.units_done > 0, "progress", run)
    world.destroy("b")
    failed = await_state(world, signal, "FAILED", run)
    assert failed.error == f"cache {world.stem}-b (incarnation {incarnation}) was destroyed before the signal was complete"


def test_signals_are_paused_resumed_and_stopped(stream: World) -> None:
    stream.put("a", {key: key for key in range(1_000)})
    stream.put("b", {key: key for key in range(1_000)})
    stream.run(run_mode="once")
    with stream.running(max_records_per_second=5, progress_interval_ms=300) as run:  # the whole signal would take 200 seconds
        signal = request(stream, selection(stream, "a"))
        cache = f"{stream.stem}-a"
        below = {"data-collections": [cache], "additional-conditions": [{"data-collection": cache, "filter": "_value < 3"}]}
        behind = "by-rest"
        assert by_rest(stream, "POST", {"id": behind, "type": "execute-snapshot", "data": below}).status == 202
        assert by_rest(stream, "POST", {"type": "execute-snapshot", "data": {**below, "function": "os.system"}}).status == 400
        await_that(lambda: view(stream, signal).total.units_done > 0, "progress", run)
        assert by_rest(stream, "POST", {"type": "pause-snapshot", "data": {"data-collections": ["other"]}}).status == 400
        change_signals(stream.settings, Secrets(), "pause", signal)
        paused = await_state(stream, signal, "PAUSED", run)
        assert 0 < paused.total.units_done < paused.total.units
        stream.put("a", {1: 10_000})  # the stream goes on meanwhile
        await_that(lambda: (b"1", b"10000") in stream.records("a"), "a change", run)
        assert view(stream, behind).state == "WAITING"
        change_signals(stream.settings, Secrets(), "resume", signal)
        await_that(lambda: view(stream, signal).total.units_done > paused.total.units_done, "more progress", run)
        change_signals(stream.settings, Secrets(), "stop", signal)
        stopped = await_state(stream, signal, "ABORTED", run)
        done = await_state(stream, behind, "COMPLETED", run)
        destroyed_meanwhile(stream, run)
        run.stop()
    shown = by_rest(stream, "GET").body
    assert isinstance(shown, dict)
    states = {each["id"]: each["state"] for each in shown["signals"]}
    assert list(states.items()) == [(signal, "ABORTED"), (behind, "COMPLETED"), ("destroyed", "FAILED")]
    assert stopped.total.records < 1_000
    assert 2 <= done.total.records <= 3
    assert_kept(stream.settings, events.SIGNAL_ABORTED)
    with pytest.raises(SettingsError, match="no such signal that has not ended"):
        change_signals(stream.settings, Secrets(), "stop", signal)
