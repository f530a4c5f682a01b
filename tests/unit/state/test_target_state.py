"""Records of the configs topic: a connector's target is read from its own record alone, and readers of other kinds pass it over."""

from __future__ import annotations

import json

import pytest

from ignite_kafka import events
from ignite_kafka.state.configs import ConnectorFold, ConnectorRecord, ConnectorState, SnapshotRecord, connector_generation
from ignite_kafka.state.target_state import target_of
from tests.support.event_log import Emitted, ids
from tests.support.fake_messages import record

PAUSED = b'{"state":"PAUSED","at_ms":5}'


@pytest.mark.parametrize(
    ("key", "value", "target"),
    [
        (b'["target","c"]', PAUSED, "PAUSED"),
        (b'["target","c"]', b'{"state":"STOPPED","at_ms":5}', "STOPPED"),
        (b'["target","c"]', None, None),
        (b'["target","other"]', PAUSED, None),
        (b'["connector","c"]', b'{"generation":3}', None),
        (b'["snapshot","c","target"]', PAUSED, None),
    ],
)
def test_target_of_a_record(key: bytes, value: bytes | None, target: str | None) -> None:
    assert target_of("c", record(key, value)) == target


@pytest.mark.parametrize(("value", "format"), [(b"no JSON", 1), (b"[]", 1), (b'{"state":"DANCING"}', 1), (PAUSED, 2)])
def test_a_target_that_cannot_be_read_changes_nothing(value: bytes, format: int, emitted: Emitted) -> None:
    assert target_of("c", record(b'["target","c"]', value, format)) is None
    assert ids(emitted) == [events.RECORD_SKIPPED.id]


@pytest.mark.parametrize("key", [b'["target","c"]', b'["epoch","c"]', b'["something new","c","d"]', b'["connector","d"]'])
@pytest.mark.parametrize("value", [PAUSED, b'{"generation":3,"epoch":1}', b"no JSON", None])
def test_control_passes_over_other_kinds(key: bytes, value: bytes | None) -> None:
    fold = ConnectorFold("c")
    fold.add(record(key, value, 2))
    assert fold.state(5) == ConnectorState(end=5)
    assert connector_generation("c", record(key, value)) == 0


def test_control_folds_its_own() -> None:
    fold = ConnectorFold("c")
    fold.add(record(b'["connector","c"]', json.dumps({"generation": 4, "slots": 2, "of a newer version": 1}).encode()))
    fold.add(record(b'["snapshot","c"]', json.dumps({"id": "s", "plan": {}, "complete": True}).encode(), None))
    for name in ("r", "t", "r"):
        fold.add(record(f'["snapshot","c","{name}"]'.encode(), b'{"complete":false}'))
    fold.add(record(b'["snapshot","c","gone"]', None))
    state = fold.state(9)
    assert (state.connector, state.snapshot, state.end) == (ConnectorRecord(4, 2), SnapshotRecord("s", {}, complete=True), 9)
    assert list(state.ended) == ["t", "r"], "in the order in which they ended"
    assert state.ended["r"] == {"complete": False, "superseded_by": None, "caches": {}}


def test_a_target_for_one_run_is_not_for_another() -> None:
    key, value = b'["target","c"]', b'{"state":"STOPPED","at_ms":1,"generation":3}'
    assert target_of("c", record(key, value), 3) == "STOPPED"
    assert target_of("c", record(key, value), 4) is None
    assert target_of("c", record(key, value)) == "STOPPED"  # what was asked last, whomever
    assert target_of("c", record(key, b'{"state":"STOPPED","at_ms":1}'), 4) == "STOPPED"
