"""Records of the configs topic: the secret of a capture, and the epoch of a stream."""

from __future__ import annotations

from ignite_kafka.state.configs import ConnectorFold, Retirement, capture_secret_of, epoch_of
from ignite_kafka.state.internal_records import InternalRecord


def record(kind: str, name: str, value: bytes | None) -> InternalRecord:
    return InternalRecord(kind, name, (), value, 1, {})


def test_the_secret_of_a_capture_is_folded_and_not_shown() -> None:
    fold = ConnectorFold("c")
    fold.add(record("secret", "c", b'{"capture_secret":"hidden"}'))
    fold.add(record("secret", "d", b'{"capture_secret":"other"}'))
    state = fold.state(7)
    assert state.capture_secret == "hidden"
    assert "hidden" not in repr(state)
    fold.add(record("secret", "c", None))
    assert fold.state(7).capture_secret is None


def test_tasks_take_the_secret_from_the_record_of_their_epoch() -> None:
    begun = record("epoch", "c", b'{"generation":3,"epoch":2,"capture_secret":"hidden"}')
    assert capture_secret_of("c", begun) == "hidden"
    assert epoch_of("c", begun) == (3, 2)
    assert capture_secret_of("d", begun) is None
    assert capture_secret_of("c", record("target", "c", b'{"state":"PAUSED"}')) is None
    assert capture_secret_of("c", record("epoch", "c", b'{"generation":3,"epoch":2}')) is None, "a sink's"


def test_the_mark_of_a_retired_connector_lasts_until_it_is_removed() -> None:
    fold = ConnectorFold("c")
    fold.add(record("retired", "c", b'{"transition":"t1","reason":"switchover","at_ms":5}'))
    fold.add(record("retired", "d", b'{"transition":"t2","reason":"failover","at_ms":5}'))
    assert fold.state(7).retirement == Retirement("t1", "switchover", 5)
    fold.add(record("retired", "c", None))
    assert fold.state(7).retirement is None
