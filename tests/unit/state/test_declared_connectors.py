"""Records of declared and deleted connectors, and records of other programs under their keys."""

from __future__ import annotations

import json

import pytest

from ignite_kafka import events
from ignite_kafka.state.declared_connectors import Cleanup, Declaration, Declarations
from ignite_kafka.state.internal_records import reset_reported
from tests.support import emitted_events
from tests.support.fake_messages import record
from tests.support.hostile_records import VALUES


def collect(*records: tuple[list[object], object]) -> Declarations:
    declarations = Declarations()
    for key, value in records:
        declarations.add(record(json.dumps(key).encode(), None if value is None else json.dumps(value).encode()))
    return declarations


def test_the_last_declaration_of_a_connector_counts() -> None:
    found = collect(
        (["declared", "a"], {"config": {"x": "1"}, "at_ms": 1}), (["declared", "b"], {"config": {}}),
        (["declared", "a"], {"config": {"x": "2"}, "at_ms": 2}), (["restart", "a"], {"at_ms": 3}),
        (["declared", "b"], {"deleted_after": 7, "at_ms": 4}), (["cleaned", "b"], {"deleted_ms": 4, "reported_ms": 3}),
    )  # fmt: skip
    assert found.by_name == {"a": Declaration({"x": "2"}, at_ms=2), "b": Declaration(None, 7, 4)}
    assert found.restarts == {"a": 3}
    assert found.cleanups == {"b": Cleanup(4, 3)}
    assert found.by_name["a"].declares
    assert not found.by_name["b"].declares


def test_a_deleted_connector_is_seen_again_after_a_later_run() -> None:
    deleted = Declaration(None, deleted_after=2)
    assert [deleted.hides(generation) for generation in (0, 2, 3)] == [True, True, False]
    assert not Declaration({"x": "1"}).hides(0)


def test_other_kinds_are_left_to_their_readers() -> None:
    assert not Declarations().add(record(b'["target","a"]', b"{}"))
    assert Declarations().add(record(b'["declared","a","more"]', b"{}")), "of a newer version, perhaps"


@pytest.mark.parametrize("value", [*VALUES, b'{"config":{"x":1}}', b'{"config":[]}', b'{"at_ms":-1}', b'{"deleted_after":"1"}'])
def test_a_record_of_another_program_declares_nothing(value: bytes) -> None:
    declarations = Declarations()
    assert declarations.add(record(b'["declared","a"]', value))
    assert not any(declaration.declares for declaration in declarations.by_name.values())


def test_a_record_of_another_program_is_told() -> None:
    reset_reported()
    emitted_events.reset()
    collect((["declared", "a"], {"config": 1}))
    assert emitted_events.counts() == {events.RECORD_SKIPPED.id: 1}
