"""Heartbeats: what the task carries from the backlog to Kafka, and what the driver sends and measures."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka.common.measurements import HEARTBEAT
from ignite_kafka.errors import BacklogRefused, IgniteUnreachable
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_units import GIVEN_UP, GONE
from ignite_kafka.ignite.protocol import ThinError
from ignite_kafka.plan.routing import select
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream import heartbeats
from ignite_kafka.source.stream.heartbeats import HeartbeatRelay, Heartbeats, destroy_heartbeats, heartbeat_cache

SETTINGS = SourceSettings(name="c", run_mode="continuous", heartbeat_interval_ms=1_000, internal_topic_prefix="in")
PLAN = TransferPlan("c", "s", 1, 4, SETTINGS, (), heartbeat_incarnation="7")


def long(value: int) -> bytes:
    return struct.pack("<Bq", 4, value)


class Backlog:
    """The unit of heartbeats on the nodes."""

    def __init__(self) -> None:
        self.values, self.marks, self.calls, self.refusal = list[int](), 0, list[str](), ""

    def locate(self, cache: str, keys: list[bytes]) -> Any:
        assert (cache, keys) == ("kafka-connect-backlog-heartbeats:c", [long(0)])
        if self.refusal:
            raise BacklogRefused("no", "", code=self.refusal)
        return np.array([5], np.int32), np.array([False])

    def read(self, units: Any, most_bytes: int) -> Any:
        assert units.tolist() == [(protocol.cache_id("kafka-connect-backlog-heartbeats:c"), 5, 7)]
        entries = memoryview(b"".join(long(0) + long(value) for value in self.values))
        return SimpleNamespace(
            marks=np.array([self.marks], np.int32), mark_number=np.array([3]), number=np.arange(len(self.values)), entries=entries,
            acknowledgement=lambda unit: b"all",
        )  # fmt: skip

    def clear(self, units: Any, mark_number: Any) -> None:
        self.calls.append(f"clear {mark_number.tolist()}")

    def acknowledge(self, sent: bytes) -> None:
        self.calls.append(f"acknowledge {sent.decode()}")

    def relay(self) -> HeartbeatRelay:
        def send(topic: str, key: bytes, value: bytes) -> None:
            self.calls.append(f"{topic} {key.decode()} {value.decode()}")

        return HeartbeatRelay(PLAN, cast(Any, self), send, lambda: self.calls.append("commit"))


def test_the_newest_heartbeat_is_sent_and_committed_before_the_backlog_forgets_all() -> None:
    backlog = Backlog()
    relay = backlog.relay()
    relay.forward()
    assert backlog.calls == []
    backlog.values = [100, 200, 300]
    relay.forward()
    assert backlog.calls == ["in-heartbeats c 300", "commit", "acknowledge all"]


@pytest.mark.parametrize(("marks", "calls"), [(GIVEN_UP, ["clear [3]"]), (GONE, [])])
def test_a_unit_that_was_given_up_is_captured_again(marks: int, calls: list[str]) -> None:
    backlog = Backlog()
    backlog.marks = marks
    backlog.relay().forward()
    assert backlog.calls == calls


def test_a_cache_that_was_destroyed_ends_no_task() -> None:
    backlog = Backlog()
    backlog.values, backlog.refusal = [100], "UNKNOWN_CACHE"
    backlog.relay().forward()
    assert backlog.calls == []
    backlog.refusal = "FORBIDDEN"
    with pytest.raises(BacklogRefused):
        backlog.relay()


def test_no_connector_copies_the_cache() -> None:
    assert select(["a", heartbeat_cache(SETTINGS)], [".*"]) == ["a"]


class Clusters:
    """Ignite and Kafka as the driver uses them."""

    def __init__(self) -> None:
        self.requests, self.messages, self.closed, self.fails = list[tuple[int, bytes]](), list[Any](), False, False
        self.names, self.now_s = list[str](), 900.0
        self.created = 0
        self.failure: Exception = IgniteUnreachable("no node answers", "")

    def cache_names(self) -> list[str]:
        return self.names

    def ask(self, question: Any) -> Any:
        return question(self)

    def request(self, op: int, payload: bytes) -> None:
        if self.fails:
            raise self.failure
        self.requests.append((op, payload))

    def assign(self, places: Any) -> None:
        ((place,),) = (places,)
        assert (place.topic, place.partition, place.offset) == ("in-heartbeats", 0, 9)

    def consume(self, count: int, timeout: float) -> list[Any]:
        messages, self.messages = self.messages, []
        return messages

    def close(self) -> None:
        self.closed = True

    def comes_back(self, value: bytes, key: bytes = b"c") -> None:
        self.messages.append(SimpleNamespace(error=lambda: None, key=lambda: key, value=lambda: value))

    def heartbeats(self) -> Heartbeats:
        topics = SimpleNamespace(ensure=lambda specs: None, ends=lambda topic, numbers: {0: 9})
        clients = SimpleNamespace(reader=lambda **_: self)
        return Heartbeats(cast(Any, self), cast(Any, clients), cast(Any, topics), SETTINGS)


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Clusters:
    def create(cluster: Clusters, configuration: Any) -> None:
        cluster.created += 1

    monkeypatch.setattr(heartbeats, "get_or_create_cache", create)
    monkeypatch.setattr(heartbeats, "Interval", lambda seconds: SimpleNamespace(due=lambda: True))
    made = Clusters()
    monkeypatch.setattr(heartbeats, "time", SimpleNamespace(time=lambda: made.now_s))
    return made


def test_the_time_is_put_while_tasks_work_and_measured_when_it_comes_back(clusters: Clusters) -> None:
    beats = clusters.heartbeats()
    clusters.now_s = 1_000.0
    beats.step(sends=False)
    assert clusters.requests == []
    beats.step(sends=True)
    head = struct.pack("<iB", protocol.cache_id(beats.cache), 0)
    assert clusters.requests == [(protocol.CACHE_PUT, head + long(0) + long(1_000_000))]
    for value, key in ((b"899999", b"c"), (b"999000", b"c"), (b"998000", b"c"), (b"999900", b"other"), (b"none", b"c")):
        clusters.comes_back(value, key)
    clusters.comes_back(b"9" * 400)
    clusters.comes_back(b"9" * 5_000)
    beats.step(sends=False)
    histogram = beats.collector.measured().durations[HEARTBEAT]
    assert (histogram.count, histogram.seconds, beats.newest_s) == (1, 1.0, 999.0), "neither an older one nor those of others"
    beats.close()
    assert clusters.closed


def test_the_cache_is_destroyed_if_it_is_captured_and_exists(clusters: Clusters) -> None:
    name = heartbeat_cache(SETTINGS)
    for present, captured in (([name, "a"], ["a"]), (["a"], ["a", name]), ([f"{name}-b"], [f"{name}-b"])):
        clusters.names = present
        destroy_heartbeats(cast(Any, clusters), "c", captured)
    assert clusters.requests == []
    clusters.names = [name, "a"]
    destroy_heartbeats(cast(Any, clusters), "c", [name, "a"])
    assert clusters.requests == [(protocol.CACHE_DESTROY, struct.pack("<i", protocol.cache_id(name)))]


def test_nodes_that_do_not_answer_end_no_run(clusters: Clusters) -> None:
    beats = clusters.heartbeats()
    clusters.fails = True
    beats.step(sends=True)
    beats.close()
    assert (beats.newest_s, clusters.created) == (0.0, 1)


def test_a_cache_that_was_destroyed_is_created_again(clusters: Clusters) -> None:
    beats = clusters.heartbeats()
    clusters.fails, clusters.failure = True, ThinError(1000, "Cache does not exist")
    beats.step(sends=True)
    assert clusters.created == 2
