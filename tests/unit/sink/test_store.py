"""Errors of the conversion in a store: faults of the program, and errors that pass through."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from ignite_kafka.convert.to_ignite import Entries
from ignite_kafka.errors import IgniteKafkaError, ProgramFault, TypeClash
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.store import Store
from tests.support.to_ignite_records import consumed


class Failing:
    """A conversion that fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def convert(self, batch: Consumed) -> Entries:
        raise self._error


def store_that_fails(error: Exception, policy: str) -> Store:
    dead_letter_topic = "dead" if policy == "DEAD_LETTER" else ""
    settings = SinkSettings(name="c", topics=("topic",), error_handling_policy=policy, dead_letter_topic=dead_letter_topic)
    store = Store(SinkPlan("c", 1, 4, settings, (TopicPlan("topic", "id", "cache", 4),)), cast(Any, None), cast(Any, None))
    store._sinks["topic"] = cast(Any, (Failing(error), None))
    return store


@pytest.mark.parametrize("policy", ["STOP_TASK", "LOG_ONLY", "DEAD_LETTER"])
@pytest.mark.parametrize("error", [AttributeError("no field"), UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "why")])
def test_a_program_fault_names_the_records_and_makes_no_bad_record(error: Exception, policy: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        store_that_fails(error, policy).store([consumed([b"1", b"2", b"3"])])
    fault = raised.value
    assert fault.__cause__ is error
    assert fault.final
    assert fault.where == {"topic": "topic", "partition": 3, "first_offset": 100, "last_offset": 102}
    copy = IgniteKafkaError.from_dict(json.loads(json.dumps(fault.to_dict())))
    for part in (type(error).__name__, str(error), "test_store.py:", "fault of this program", "Report it", "first offset 100"):
        assert part in str(copy)


@pytest.mark.parametrize("error", [TypeClash("field id is of another type"), MemoryError()])
def test_other_errors_of_the_conversion_are_raised_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        store_that_fails(error, "LOG_ONLY").store([consumed([b"1"])])
    assert raised.value is error
