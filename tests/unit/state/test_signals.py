"""Signals in the configs topic: requests in their order, the first of an id, what users want, and ends."""

from __future__ import annotations

from dataclasses import replace

from ignite_kafka import events
from ignite_kafka.common.typed_json import dumps
from ignite_kafka.state.internal_records import InternalRecord
from ignite_kafka.state.signal_records import MOST_ENDED, MOST_FORGOTTEN, CacheSelection, Signal, SignalStatus
from ignite_kafka.state.signals import ForgottenEnds, SignalFold
from tests.support.event_log import Emitted, ids
from tests.support.fake_messages import record


def of(id: str, value: bytes | None, *rest: str, name: str = "c") -> InternalRecord:
    made: InternalRecord = record(dumps(["signal", name, id, *rest]), value)
    return made


def request(id: str, cache: str = "a") -> InternalRecord:
    return of(id, Signal(id, (CacheSelection(cache),), 5).to_json())


def fold_of(*records: InternalRecord) -> SignalFold:
    fold = SignalFold("c")
    for added in records:
        fold.add(added)
    return fold


def test_signals_wait_in_the_order_of_their_requests_and_the_first_of_an_id_counts() -> None:
    fold = fold_of(request("two"), request("one"), request("two", "b"), of("other", b"{}", name="d"))
    assert [(signal.id, signal.names) for signal in fold.waiting] == [("two", ("a",)), ("one", ("a",))]


def test_an_ended_signal_waits_no_more_whoever_repeats_its_id() -> None:
    end = SignalStatus("one", "COMPLETED", 1, 2)
    fold = fold_of(request("one"), request("two"), of("one", end.to_json(), "end"), of("one", None), request("one"))
    assert [signal.id for signal in fold.waiting] == ["two"]
    assert fold.ends == {"one": end}
    fold.add(of("one", None, "end"))
    assert [signal.id for signal in fold.waiting] == ["two", "one"]


def test_the_last_target_of_a_signal_counts() -> None:
    fold = fold_of(request("one"), of("one", b'{"state":"PAUSED"}', "target"), of("one", b'{"state":"STOPPED"}', "target"))
    assert fold.targets == {"one": "STOPPED"}
    fold.add(of("one", None, "target"))
    assert fold.targets == {}


def test_records_that_cannot_be_read_are_skipped_with_an_event(emitted: Emitted) -> None:
    fold = fold_of(of("one", b"{}"))
    assert fold.waiting == []
    assert ids(emitted) == [events.RECORD_SKIPPED.id]


def test_a_request_under_the_key_of_another_id_is_none() -> None:
    assert fold_of(of("two", Signal("one", (CacheSelection("a"),)).to_json())).waiting == []


def test_only_the_newest_ends_are_remembered() -> None:
    fold = SignalFold("c")
    fold.ends = {f"s{number}": SignalStatus(f"s{number}", "FAILED") for number in range(MOST_ENDED - 1)}
    assert fold.forget_ends(1) == ForgottenEnds()
    assert fold.forget_ends(3) == ForgottenEnds(("s0", "s1"), ("s0", "s1"))


def test_ids_of_forgotten_ends_are_remembered_up_to_a_limit() -> None:
    key = dumps(["forgotten-signals", "c"])
    fold = fold_of(record(key, dumps({"ids": [f"f{number}" for number in range(MOST_FORGOTTEN)]})))
    fold.ends = {f"s{number}": SignalStatus(f"s{number}", "FAILED") for number in range(MOST_ENDED)}
    assert fold.has_ended("f0")
    assert fold.has_ended("s0")
    assert not fold.has_ended("new")
    more = fold.forget_ends(1)
    assert (more.removed, len(more.ids), more.ids[0], more.ids[-1]) == (("s0",), MOST_FORGOTTEN, "f1", "s0")
    fold.add(record(key, dumps({"ids": more.ids})))
    assert fold.forget_ends(1) == more  # before the consumer has read that the end is removed
    fold.add(record(key, b"[]"))
    assert fold.forgotten == ()


def test_requests_of_one_id_differ_by_their_place_where_they_have_no_nonce() -> None:
    again = Signal("one", (CacheSelection("a"),), 5)
    folds = [fold_of(replace(of("one", again.to_json()), where={"offset": offset})) for offset in (7, 900)]
    assert [fold.requests["one"].identity for fold in folds] == ["one/7", "one/900"]
    own = fold_of(of("one", Signal("one", (CacheSelection("a"),), 5, nonce="mine").to_json()))
    assert own.requests["one"].identity == "one/mine"
