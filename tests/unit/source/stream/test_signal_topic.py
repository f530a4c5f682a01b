"""Signals in Debezium's form: what becomes a signal, what changes signals, and what is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.source.stream.signal_topic import Change, parse_signal
from ignite_kafka.state.signal_records import MOST_BYTES, CacheSelection, Signal, fault_of
from tests.support.hostile_records import JSON, encoded
from tests.support.randomness import examples


def parsed(kind: str, data: dict[str, Any] | None, **more: Any) -> Signal | Change:
    return parse_signal(json.dumps({"type": kind, "data": data, **more}).encode(), "topic-x-0-7", 5)


def test_a_snapshot_with_conditions() -> None:
    data = {
        "data-collections": ["a", "b"],
        "type": "INCREMENTAL",
        "additional-conditions": [{"data-collection": "b", "filter": "price > 1"}],
    }
    selections = (CacheSelection("a"), CacheSelection("b", "price > 1"))
    assert parsed("execute-snapshot", data) == Signal("topic-x-0-7", selections, 5, "topic", "topic-x-0-7")
    assert parsed("execute-snapshot", data, id="one") == Signal("one", selections, 5, "topic", "topic-x-0-7")


def test_changes_of_signals() -> None:
    assert parsed("pause-snapshot", None) == Change("PAUSED", None)
    assert parsed("resume-snapshot", {"type": "incremental"}) == Change("RUNNING", None)
    assert parsed("stop-snapshot", {"data-collections": ["a"]}) == Change("STOPPED", frozenset({"a"}))


@pytest.mark.parametrize(
    ("kind", "data", "why"),
    [
        ("log", {}, "none of execute-snapshot"),
        ("execute-snapshot", {}, "no array"),
        ("execute-snapshot", {"data-collections": []}, "about 1 to 1,000 caches"),
        ("execute-snapshot", {"data-collections": "a"}, "no array"),
        ("execute-snapshot", {"data-collections": [1]}, "no text"),
        ("execute-snapshot", {"data-collections": ["a", "a"]}, "each cache once"),
        ("execute-snapshot", {"data-collections": ["a"], "type": "BLOCKING"}, "only snapshots of type incremental"),
        ("execute-snapshot", {"data-collections": ["a"], "surrogate-key": "x"}, "'surrogate-key'"),
        ("execute-snapshot", {"data-collections": ["a"], "additional-conditions": [{"data-collection": "b", "filter": "x"}]}, "for 'b'"),
        ("execute-snapshot", {"data-collections": ["a"], "additional-conditions": [{"data-collection": "a", "sql": "x"}]}, "'sql'"),
        (
            "execute-snapshot",
            {"data-collections": ["a"], "additional-conditions": [{"data-collection": "a", "filter": "x"}] * 2},
            "two cond",
        ),
        ("stop-snapshot", {"data-collections": [{}]}, "no text"),
        ("pause-snapshot", {"reason": "x"}, "'reason'"),
    ],
)
def test_other_forms_are_refused(kind: str, data: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parsed(kind, data)


@pytest.mark.parametrize(
    ("value", "why"),
    [(b"", "Expecting"), (b"[]", "no object"), (b'{"type":5}', "no text"), (b" " * (MOST_BYTES + 1), "at most 500,000 bytes")],
)
def test_what_is_no_signal(value: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_signal(value, "topic-x-0-7", 5)


def test_an_id_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="the id of a signal"):
        parsed("execute-snapshot", {"data-collections": ["a"]}, id="a/b")


FIELDS = st.fixed_dictionaries({}, optional={"data-collections": JSON | st.lists(JSON), "type": JSON, "additional-conditions": JSON})


@settings(max_examples=examples(300))
@given(
    st.fixed_dictionaries(
        {"type": JSON | st.sampled_from(["execute-snapshot", "stop-snapshot"])}, optional={"id": JSON, "data": JSON | FIELDS}
    )
)
def test_any_json_is_a_signal_or_refused(record: dict[str, Any]) -> None:
    try:
        found = parse_signal(encoded(record), "topic-x-0-7", 5)
    except ValueError:
        return
    assert isinstance(found, Change) or fault_of(found) == ""
