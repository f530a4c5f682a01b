"""Waits of role transitions: they end by their condition or at the deadline, and a drained pair must stay drained."""

from __future__ import annotations

import ssl
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.admin.connector_lag import ConnectorLag
from ignite_kafka.errors import AuthenticationFailed, IgniteKafkaError, IgniteUnreachable, RoleTransitionRefused
from ignite_kafka.kafka.partition_lag import PartitionLag
from ignite_kafka.role_transitions import waits as module
from ignite_kafka.role_transitions.pair import Pair
from ignite_kafka.role_transitions.waits import Waits, answers, describe_lag


class Clock:
    """Time that passes while somebody sleeps."""

    now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def waits(clock: Clock, longest_s: float = 60, quiet_s: float = 5) -> Waits:
    return Waits(longest_s, quiet_s, lambda: clock.now, clock.sleep)


def test_a_wait_ends_by_its_condition_or_with_the_last_reason() -> None:
    clock = Clock()
    waits(clock).until(lambda: "" if clock.now > 7 else "not yet", "it did not come", "Wait.")
    assert 7 < clock.now < 8
    with pytest.raises(RoleTransitionRefused, match="it did not come within 60 s: at 6"):
        waits(clock).until(lambda: f"at {clock.now:.0f}", "it did not come", "Wait.")


def lag(count: int, open: int = 0) -> ConnectorLag:
    partition = PartitionLag("x", 0, 0, count + open, count, open)
    return ConnectorLag("c", "RUNNING", True, (partition,) if count or open else ())


def test_records_of_open_transactions_are_lag() -> None:
    assert describe_lag(lag(0)) == ""
    assert describe_lag(lag(1_000)) == "c has to copy x 1,000"
    assert describe_lag(lag(0, 3)) == "c has to copy x 3"


NO_LAG = lag(0)


class Member:
    """A connector whose lag and run the test sets."""

    name = "c"
    prefix = clients = topics = None
    ended = False

    def newest_run(self) -> Any:
        return SimpleNamespace(ended=self.ended, state="RUNNING", unknown=False)

    def connect(self) -> Any:
        return self

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *_: object) -> None: ...


def drain(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, end_at: Any, member: Member | None = None, source_lag: ConnectorLag = NO_LAG
) -> int:
    pair = SimpleNamespace(source=member or Member(), sink=Member())
    monkeypatch.setattr(module, "flush_captured", lambda *_: None)
    monkeypatch.setattr(module, "read_lag", lambda *_: source_lag)
    monkeypatch.setattr(module, "sink_lag", lambda _: lag(0))
    monkeypatch.setattr(module, "topic_ends", lambda _: {("x", 0): end_at()})
    return waits(clock).until_drained(cast(Pair, pair))


def test_a_pair_is_drained_when_its_topics_have_not_grown_for_the_quiet_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    # a writer writes every two seconds, until 20 s
    assert drain(monkeypatch, clock, lambda: min(int(clock.now) // 2, 10)) == 10
    assert 25 <= clock.now < 27


def test_writers_that_never_pause_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    with pytest.raises(
        RoleTransitionRefused, match=r"not drained within 60 s: (changes still come|it has just been drained).*Stop all writers"
    ):
        drain(monkeypatch, clock, lambda: int(clock.now) // 2)


def test_a_pair_that_does_not_run_is_not_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member()
    member.ended = True
    with pytest.raises(RoleTransitionRefused, match="source c does not run"):
        drain(monkeypatch, Clock(), lambda: 1, member)


def test_a_source_that_has_to_send_partitions_again_is_not_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RoleTransitionRefused, match="the source has to send partitions again"):
        drain(monkeypatch, Clock(), lambda: 1, source_lag=replace(NO_LAG, loaded=False, sends_again=True))


def refused_by_tls() -> IgniteUnreachable:
    error = IgniteUnreachable("its TLS certificate is not accepted")
    error.__cause__ = ssl.SSLError("certificate verify failed")
    return error


@pytest.mark.parametrize("error", [AuthenticationFailed("wrong password"), refused_by_tls()])
def test_a_cluster_that_refuses_this_client_is_not_dead(error: IgniteKafkaError) -> None:
    with pytest.raises(type(error)):
        answers(member_that(error))


@pytest.mark.parametrize(("error", "answer"), [(None, True), (IgniteUnreachable("no address answered"), False)])
def test_a_cluster_is_dead_if_no_address_answers(error: IgniteKafkaError | None, answer: bool) -> None:
    assert answers(member_that(error)) is answer


def member_that(error: IgniteKafkaError | None) -> Any:
    def active() -> bool:
        if error is not None:
            raise error
        return False

    member = Member()
    member.__dict__["connect"] = lambda: nullcontext(SimpleNamespace(active=active))
    return member
