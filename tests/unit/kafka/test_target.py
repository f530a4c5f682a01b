"""Records of the configs topic: a connector's target is read from its own record alone, and readers of other kinds pass it over."""

from __future__ import annotations

import json

import pytest

from ignite_kafka.kafka.control import ConnectorRecord, ControlState, SnapshotRecord, _fold, connector_generation
from ignite_kafka.kafka.target import target_of

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
    assert target_of("c", key, value) == target


@pytest.mark.parametrize("key", [b'["target","c"]', b'["epoch","c"]', b'["something new","c","d"]'])
@pytest.mark.parametrize("value", [PAUSED, b'{"generation":3,"epoch":1}', None])
def test_control_passes_over_other_kinds(key: bytes, value: bytes | None) -> None:
    state = ControlState(ConnectorRecord(2), SnapshotRecord("s", {}), {"r": {"complete": True}})
    assert _fold(state, "c", key, value) == state
    assert connector_generation("c", key, value) == 0


def test_control_folds_its_own() -> None:
    state = _fold(ControlState(), "c", b'["connector","c"]', json.dumps({"generation": 4, "slots": 2}).encode())
    state = _fold(state, "c", b'["snapshot","c"]', json.dumps({"id": "s", "plan": {}, "complete": True}).encode())
    state = _fold(state, "c", b'["snapshot","c","r"]', b'{"complete":false}')
    assert state == ControlState(ConnectorRecord(4, 2), SnapshotRecord("s", {}, complete=True), {"r": {"complete": False}})


def test_a_target_for_one_run_is_not_for_another() -> None:
    key, value = b'["target","c"]', b'{"state":"STOPPED","at_ms":1,"generation":3}'
    assert target_of("c", key, value, 3) == "STOPPED"
    assert target_of("c", key, value, 4) is None
    assert target_of("c", key, value) == "STOPPED"  # what was asked last, whomever
    assert target_of("c", key, b'{"state":"STOPPED","at_ms":1}', 4) == "STOPPED"
