"""The driver of a run of epochs: it ends with its tasks while Kafka is unavailable, and reports while there is nothing to copy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.common.event_log import count_of
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, OutcomeUnknown, Retired
from ignite_kafka.plan.source_plan import RunPlan
from ignite_kafka.runtime import epoch_run
from ignite_kafka.runtime.counts import Counts, SlotResult
from ignite_kafka.runtime.driver_consumer import DriverConsumer
from ignite_kafka.runtime.epoch import Epoch, Running
from ignite_kafka.runtime.epoch_run import EpochRun
from ignite_kafka.runtime.spark_job import Job, Work
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorState, Retirement
from ignite_kafka.state.status import CacheCount, CacheStatus, RunStatus, TaskProgress
from ignite_kafka.state.target_state import PAUSED, RUNNING, STOPPED

UNKNOWN = OutcomeUnknown("a commit got no answer", slot=0)


class FakeJob:
    """A job that never ends by itself; its task has failed from the second question on."""

    asked = 0

    def ended(self, wait_s: float) -> bool:
        return False

    def all_run(self) -> bool:
        return False

    def failed(self) -> dict[int, SlotResult]:
        return {0: SlotResult(0, {"trades": CacheCount(records=7)}, UNKNOWN)}

    def check(self) -> None:
        self.asked += 1
        if self.asked > 1:
            raise UNKNOWN


class Run(EpochRun[ConnectorSettings]):
    """A run whose driver gets no answer of Kafka."""

    def __init__(self) -> None:
        self._settings = SourceSettings(name="c", retry_timeout_ms=2_147_483_647, progress_interval_ms=100)
        self._request = cast(Any, SimpleNamespace(stop=threading.Event(), transition=""))
        self._job = cast(Job, FakeJob())
        self._consumer = _consumer({})
        self._spark = cast(Any, SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1, getConf=dict)))
        self.tried, self.reports = 0, 0

    def _begin_epoch(self, number: int) -> None:
        self._retry(self.unanswered)

    def unanswered(self) -> None:
        self.tried += 1
        raise KafkaUnavailable("no broker answers")

    def _poll(self) -> None:
        pass

    def _follow_target(self) -> bool:
        return False

    def _publish_progress(self) -> None:
        self.reports += 1

    def _run(self) -> None: ...

    @property
    def _run_plan(self) -> RunPlan:
        raise NotImplementedError

    @property
    def _refresh_interval_ms(self) -> int:
        return 300  # seconds of one wait of an idle run

    def _next_epoch(self, number: int, configs_offset: int) -> Epoch:
        raise NotImplementedError

    def _work(self, epoch: Epoch, tasks: Sequence[Sequence[int]]) -> Work | None:
        raise NotImplementedError

    def _on_epoch_end(self, epoch: Epoch, results: Any) -> None: ...

    def _changed(self) -> bool:
        return True

    def _refresh_plan(self, epoch: int) -> None: ...


def test_a_driver_that_asks_kafka_again_ends_with_its_tasks() -> None:
    run = Run()
    with pytest.raises(IgniteKafkaError) as caught:
        run._retry(run.unanswered)
    assert caught.value is UNKNOWN
    assert run.tried == 2


def test_a_task_s_error_is_raised_while_the_job_goes_on_and_kafka_is_away() -> None:
    run = Run()
    with pytest.raises(OutcomeUnknown):
        run._follow(cast(Job, run._job), Running(Epoch(1, 0), 1, 4), ends=False)


@pytest.mark.parametrize(("target", "reports"), [(RUNNING, True), (PAUSED, False)])
def test_a_run_with_nothing_to_copy_reports_so_that_it_is_not_taken_for_dead(target: str, reports: bool) -> None:
    run = Run()
    run._target = target
    run._wait()
    assert bool(run.reports) is reports


def test_a_run_that_fails_has_the_counts_of_what_its_tasks_committed() -> None:
    run = Run()
    run._sent = {"trades": CacheStatus("t-trades", records=100)}
    run._status = RunStatus("RUNNING", "c", "r")
    reports = {slot: TaskProgress(1, epoch, True, {"trades": CacheCount(records=records)}) for slot, epoch, records in REPORTS}
    run._consumer = _consumer(reports)
    run._count_failed(cast(Job, FakeJob()), Epoch(2, 0))
    assert run._status.caches["trades"].records == 100 + 7 + 20, "all of the failed task, and what the other task reported in this epoch"


def test_what_repeated_attempts_had_committed_is_added() -> None:
    run = Run()
    run._sent = {"trades": CacheStatus("t-trades", records=100)}
    run._status = RunStatus("RUNNING", "c", "r")
    run._epoch_number = 7
    run._add([{"trades": CacheCount(records=20)}], {})
    assert (run._status.caches["trades"].records, run._status.caches["trades"].dead_letters) == (123, 1)


def test_a_run_has_the_events_that_tasks_of_its_epoch_have_reported_and_none_before_it() -> None:
    run = Run()
    del run._consumer
    assert run._reported_events() == {}, "it failed before it followed anything"
    run._epoch_number = 2
    count = count_of(5, "slot 1 restarts", {})
    reports = {slot: TaskProgress(1, epoch, True, {}, {"15120": count}) for slot, epoch, _ in REPORTS}
    run._consumer = _consumer(reports)
    assert run._reported_events() == {0: {15120: count}, 1: {15120: count}}


def _consumer(tasks: dict[int, TaskProgress]) -> DriverConsumer:
    reports = SimpleNamespace(tasks=tasks, reported_at=dict.fromkeys(tasks, 0.0), repeated=REPEATED.get)
    return cast(DriverConsumer, SimpleNamespace(reports=reports))


REPEATED: dict[int, list[Counts]] = {0: [], 7: [{"trades": CacheCount(records=3, dead_letters=1)}]}
"""Counts of repeated attempts by epoch."""
REPORTS = ((0, 2, 5), (1, 2, 20), (2, 1, 1_000))  # first slot, epoch and records


@pytest.mark.parametrize(
    ("requested", "of_generation", "unless_stopped", "state", "stops", "cleared"),
    [
        (None, 0, True, RUNNING, False, False),
        (PAUSED, 0, True, PAUSED, False, False),
        (STOPPED, 0, False, RUNNING, False, True),
        (STOPPED, 0, True, STOPPED, True, False),
        (STOPPED, 7, True, RUNNING, False, True),
    ],
)
def test_a_start_cancels_an_earlier_stop_unless_the_stop_is_to_hold(
    monkeypatch: pytest.MonkeyPatch,
    requested: str | None,
    of_generation: int,
    unless_stopped: bool,
    state: str,
    stops: bool,
    cleared: bool,
) -> None:
    """A stop of one generation was meant for an earlier run in any case."""
    written: list[str] = []
    monkeypatch.setattr(epoch_run, "read_target", lambda *_: requested)
    monkeypatch.setattr(epoch_run, "read_stopped_generation", lambda *_: of_generation)
    monkeypatch.setattr(epoch_run, "write_target", lambda *arguments: written.append(arguments[-1]))
    run = Run()
    run._clients = run._topics = cast(Any, None)
    run._request.unless_stopped = unless_stopped  # type: ignore[misc]
    monkeypatch.setattr(run, "_state", ConnectorState)
    run._adopt_target()
    assert (run._target, run._request.stop.is_set(), written) == (state, stops, [RUNNING] if cleared else [])


def test_a_connector_that_was_retired_since_the_claim_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transition's stop is not taken for an earlier run's, which a start cancels."""
    monkeypatch.setattr(epoch_run, "read_target", lambda *_: STOPPED)
    run = Run()
    run._clients = run._topics = cast(Any, None)
    monkeypatch.setattr(run, "_state", lambda: ConnectorState(retirement=Retirement("t", "switchover", 1)))
    with pytest.raises(Retired, match="a switchover ended this connector"):
        run._adopt_target()
