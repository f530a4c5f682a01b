"""What the driver sees of a Spark task beside its results."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka import events
from ignite_kafka.common.event_log import EventCounts, add_events, count_of
from ignite_kafka.errors import CallsStuck, KafkaUnavailable
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.registry import client, registries
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.runtime.spark_job import TaskErrors, _Added, _noting, _United, slot_work
from ignite_kafka.settings import topic_names
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from tests.support.event_log import event_log
from tests.support.registry import MemoryClient, record

KNOWN, OTHER = record("id"), record("id", "more")


def test_errors_and_events_of_a_task_reach_the_driver() -> None:
    gone = KafkaUnavailable("gone")
    noted: list[Any] = []
    errors: Any = SimpleNamespace(add=lambda value: noted.append(("errors", value)))
    emitted: Any = SimpleNamespace(add=lambda value: noted.append(("events", value)))
    notes: Any = SimpleNamespace(add=lambda value: noted.append(("notes", value)))

    def work(numbers: Iterable[int]) -> Iterator[SlotResult]:
        for number in numbers:
            events.emit(events.UNIT_REDONE, slot=number, reason="test")
            events.note(events.ENTRIES_EXPIRE, cache="a", reason="test")
            yield SlotResult(number, error=gone if number else None)

    events.emit(events.UNIT_REDONE, slot=9, reason="of a task before")
    events.note(events.ENTRIES_EXPIRE, cache="b", reason="of a task before")
    assert [result.slot for result in _noting(errors, emitted, notes, work, [0, 1])] == [0, 1]
    [(_, (failed,)), (_, emitted_by_slot), (_, of_task)] = noted
    assert (failed.slot, failed.error) == (1, gone)
    assert list(emitted_by_slot) == [0]
    (count,) = emitted_by_slot[0].values()
    assert (list(emitted_by_slot[0]), count.count) == ([events.UNIT_REDONE.id], 2)
    assert [occurrence.fields["slot"] for occurrence in count.newest] == ["0", "1"]
    assert of_task == {(events.ENTRIES_EXPIRE.id, (("cache", "a"), ("reason", "test")))}


def test_calls_that_do_not_return_end_the_worker_whatever_other_slots_say() -> None:
    def work(numbers: Iterable[int]) -> Iterator[SlotResult]:
        yield SlotResult(0, error=KafkaUnavailable("gone"))
        yield SlotResult(1, error=CallsStuck("in this process"))

    ignored: Any = SimpleNamespace(add=lambda value: None)
    with pytest.raises(CallsStuck, match="in this process"):
        list(_noting(ignored, ignored, ignored, work, [0]))


def task_errors() -> TaskErrors:
    def accumulator(zero: Any, _: Any) -> Any:
        return SimpleNamespace(value=zero)

    return TaskErrors(cast(Any, SimpleNamespace(sparkContext=SimpleNamespace(accumulator=accumulator))))


def test_what_tasks_have_noted_is_emitted_once_in_a_run() -> None:
    made = task_errors()
    of_cache = {name: (events.ENTRIES_EXPIRE.id, (("cache", name), ("reason", "test"))) for name in "ab"}
    with event_log() as found:
        for noted in (["a"], ["a"], ["a", "b"]):
            made.noted.value = frozenset(of_cache[name] for name in noted)
            made.emit_noted()
    assert found == [(events.ENTRIES_EXPIRE.id, {"cache": name, "reason": "test"}) for name in "ab"]
    assert _United().addInPlace(frozenset({of_cache["a"]}), frozenset(of_cache.values())) == set(of_cache.values())
    many = frozenset((events.FIELD_DISCARDED.id, (("field", str(number)),)) for number in range(2_000))
    assert len(_United().addInPlace(many, frozenset())) == 2_000
    assert len(_United().addInPlace(frozenset(), many)) == 1_000


def of_slot(*at_ms: int) -> EventCounts:
    counts = [{15120: count_of(time_ms, "again", {})} for time_ms in at_ms]
    return add_events(*counts)


def test_events_of_tasks_are_added_up() -> None:
    assert _Added().addInPlace({0: of_slot(1)}, {0: of_slot(2), 1: of_slot(3)}) == {0: of_slot(1, 2), 1: of_slot(3)}
    assert _Added().zero({0: of_slot(1)}) == {}


def test_an_event_is_counted_once_whether_a_task_has_reported_it_handed_it_over_or_died() -> None:
    made = task_errors()
    made.events.value = {0: of_slot(1, 2)}
    reported = {0: of_slot(1), 1: of_slot(3)}
    assert made.count_events(reported) == of_slot(1, 2, 3), "slot 0 has ended, slot 1 works"
    made.forget(reported)
    assert made.count_events({}) == of_slot(1, 2, 3), "slot 1 died"
    assert made.count_events({0: of_slot(4)}) == of_slot(1, 2, 3, 4), "of the next job"


def ids_of_known(plan: TransferPlan, secrets: Secrets, slots: Sequence[int], *_: Any) -> Iterator[SlotResult]:
    """A task that needs the id of a schema and the schema of that id."""
    registries.provide_registries(plan.settings, secrets)
    registry = registries.registry_of("value", plan.settings.converter_properties("value"))
    id = registry.registered("t-value", KNOWN).id
    assert registry.schema(id) == KNOWN
    yield SlotResult(slots[0], finished=id == 1)


def test_tasks_have_the_ids_that_the_driver_has_got(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SourceSettings.from_dict(
        {"name": "c", "value_converter": "avro", "value_converter_config": {"schema.registry.url": "http://127.0.0.1:8081"}}
    )
    server = MemoryClient()
    monkeypatch.setattr(client, "_make_client", lambda _: server)
    new_process(monkeypatch)
    registries.provide_registries(settings, Secrets())
    registries.registry_of("value", settings.converter_properties("value")).registered("t-value", KNOWN)
    assert server.requests == 1
    work = pickle.dumps(slot_work(ids_of_known, TransferPlan("c", "s", 0, 1, settings, ()), [[0]], None, None))

    new_process(monkeypatch)
    assert [(result.slot, result.finished) for result in pickle.loads(work)([0])] == [(0, True)]
    assert server.requests == 1
    other = registries.registry_of("value", settings.converter_properties("value")).registered("t-value", OTHER)
    assert (other.id, server.requests) == (2, 2)


def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget every registry, as in a new process."""
    monkeypatch.setattr(registries, "_configs", {})
    monkeypatch.setattr(registries, "_learned", {})
    client._shared_registry.cache_clear()


def prefixes(plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, argument: Any) -> Iterator[SlotResult]:
    yield SlotResult(slots[0], finished=topic_names.reserved() == ("team-b",))


def test_tasks_know_the_prefixes_of_internal_topics_that_the_driver_knows() -> None:
    topic_names.reserve(["team-b"])
    try:
        work = pickle.dumps(slot_work(prefixes, TransferPlan("c", "s", 0, 1, SourceSettings(name="c"), ()), [[0]], None, None))
        topic_names.reserve([])  # as in a new process
        assert [result.finished for result in pickle.loads(work)([0])] == [True]
    finally:
        topic_names.reserve([])
