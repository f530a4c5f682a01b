"""A run that waits for brokers that are away: how long, what it says, and what it does not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, Retired, TopicError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.runtime import connector_run
from ignite_kafka.runtime.connector_run import ConnectorRun
from ignite_kafka.state.configs import ConnectorState, Retirement
from ignite_kafka.state.status import RunStatus
from tests.support.event_log import Emitted, event_log

AWAY = KafkaUnavailable("no broker answered")


def waiting(call: Callable[[], str], *, retry_ms: int = 60_000, stopped: bool = False) -> str:
    stop = threading.Event()
    if stopped:
        stop.set()
    settings, request = SimpleNamespace(name="c", retry_timeout_ms=retry_ms), SimpleNamespace(stop=stop)
    run: Any = SimpleNamespace(_settings=settings, _request=request, _check_tasks=lambda: None)
    return ConnectorRun._retry(run, call)


def failing(*errors: IgniteKafkaError) -> Callable[[], str]:
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return call


@pytest.fixture
def emitted() -> Iterator[Emitted]:
    with event_log() as found:
        yield found


def test_brokers_that_are_away_are_waited_for_and_told_once(emitted: Emitted) -> None:
    assert waiting(failing(AWAY, AWAY, KafkaUnavailable("another reason"))) == "done"
    assert emitted == [(15175, {"connector": "c", "seconds": 60, "reason": "no broker answered"})]


def test_the_wait_ends_after_retry_timeout_ms() -> None:
    with pytest.raises(KafkaUnavailable, match=r"no broker answered \[waited \d+ s\]"):
        waiting(failing(*[AWAY] * 1_000), retry_ms=300)


def test_a_run_that_is_asked_to_stop_waits_no_longer(emitted: Emitted) -> None:
    with pytest.raises(KafkaUnavailable):
        waiting(failing(AWAY), stopped=True)
    assert not emitted


def test_an_error_that_does_not_pass_ends_the_start_at_once(emitted: Emitted) -> None:
    with pytest.raises(TopicError):
        waiting(failing(TopicError("the topic is refused")))
    assert not emitted


@pytest.mark.parametrize(
    ("own", "owner", "recorded"),
    [
        (1, ("run", 1), True),
        (1, ("run", 2), False),
        (1, ("of Airflow's next try", 2), True),
        (0, ("run", 1), True),
        (1, None, True),
        (1, KafkaUnavailable("away"), True),
    ],
)
def test_an_attempt_that_a_later_one_has_fenced_does_not_end_the_run(
    own: int, owner: Any, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that outlives its application master, beside YARN's next attempt of the same run."""

    def read(*_: Any) -> Any:
        if isinstance(owner, KafkaUnavailable):
            raise owner
        return SimpleNamespace(connector=owner and SimpleNamespace(run_id=owner[0], generation=owner[1]))

    monkeypatch.setattr(connector_run, "read_connector", read)
    run: Any = object.__new__(_Run)
    run._status = RunStatus("RUNNING", "c", "run", generation=own)
    run._request, run._settings = SimpleNamespace(run_id="run"), SimpleNamespace(internal_topic_prefix="p", name="c")
    run._clients, published = KafkaClients({}), []
    run._publish = lambda *_: published.append(run._status.state)
    assert run._end("FENCED", error={"what": "fenced"}) is recorded
    assert published == (["FENCED"] if recorded else [])


class _Run(ConnectorRun[Any]):
    def _run(self) -> None: ...


@pytest.mark.parametrize("marked_late", [False, True])
def test_a_retired_connector_does_not_run(marked_late: bool) -> None:
    """The mark is seen before the claim, or, if it came since, before the claim is published."""
    marked, free = ConnectorState(retirement=Retirement("t", "switchover", 1)), ConnectorState()
    taken: list[str] = []

    def take(*_: object) -> ConnectorState:
        taken.append("taken")
        return marked

    settings = SimpleNamespace(name="c", retry_timeout_ms=1, to_dict=dict, replication_factor=1)
    request = SimpleNamespace(run_id="r", transition="")
    run: Any = SimpleNamespace(_settings=settings, _request=request, _retry=lambda call: call())
    control: Any = SimpleNamespace(take=take)
    with pytest.raises(Retired, match="a switchover ended this connector"):
        ConnectorRun._claim(run, control, 2, free if marked_late else marked)
    assert taken == ["taken"] * marked_late
    request.transition = "t"
    assert ConnectorRun._claim(run, control, 2, free if marked_late else marked) == marked, "the transition's own run"
