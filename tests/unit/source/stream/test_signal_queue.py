"""Signals in the driver: taken up one after the other, paused, stopped, refused and ended, each once."""

from __future__ import annotations

from ignite_kafka.source.stream.signal_queue import SignalQueue
from ignite_kafka.state.signal_records import MOST_ENDED, MOST_ERROR, CacheSelection, Signal, SignalCount, SignalReport, SignalStatus
from ignite_kafka.state.signals import ForgottenEnds, SignalFold

ONE, TWO = (Signal(id, (CacheSelection("a"), CacheSelection("b"))) for id in ("one", "two"))


class Driver:
    """A queue, with what it has recorded and reported."""

    def __init__(self, *signals: Signal, before: dict[str, SignalStatus] | None = None) -> None:
        self.fold = SignalFold("c")
        self.fold.requests = {signal.id: signal for signal in signals}
        self.ended: list[tuple[str, str, str]] = []
        self.forgotten: list[str] = []
        self.notices: list[str] = []
        self.wrong: dict[str, str] = {}
        self.checks = 0
        self.now_ms = 1_000
        self.queue = SignalQueue(
            self.fold,
            "run",
            before or {},
            self._check,
            self._end,
            lambda notice, signal, status, cache: self.notices.append(f"{signal.id} {notice.value} {cache}".strip()),
            lambda: self.now_ms,
        )

    def _check(self, signal: Signal) -> str:
        self.checks += 1
        return self.wrong.get(signal.id, "")

    def _end(self, status: SignalStatus, forgotten: ForgottenEnds) -> None:
        self.ended.append((status.id, status.state, status.error))
        self.forgotten += forgotten.removed

    def report(self, id: str, *done: int, of: int = 2, error: str = "") -> None:
        """Report units of cache a that are done, of ten of each task; b has none."""
        self.queue.add([SignalReport(id, {"a": SignalCount(10, each, each), "b": SignalCount()}, error) for each in done], of)


def test_signals_are_sent_one_after_the_other() -> None:
    driver = Driver(ONE, TWO)
    assert driver.queue.differs(None)
    assert driver.queue.take() == ONE
    assert not driver.queue.differs(ONE)
    driver.report("one", 10)  # of one of two tasks
    driver.report("one", 10, 4)
    assert driver.queue.take() == ONE  # another epoch
    driver.queue.report_progress()
    assert driver.ended == []
    driver.report("one", 10, 10)
    assert driver.ended == [("one", "COMPLETED", "")]
    assert driver.queue.differs(ONE)
    assert driver.queue.take() == TWO
    driver.report("one", 10, 10)  # a late report of the signal before
    driver.report("two", 10, 10)
    assert driver.ended[1:] == [("two", "COMPLETED", "")]
    assert not driver.queue.differs(TWO)  # nothing waits: the epoch goes on
    assert driver.queue.take() is None
    assert driver.notices == [
        "one STARTED", "one CACHE_DONE b", "one IN_PROGRESS", "one CACHE_DONE a", "one COMPLETED",
        "two STARTED", "two CACHE_DONE a", "two CACHE_DONE b", "two COMPLETED",
    ]  # fmt: skip


def test_a_paused_signal_holds_those_behind_it() -> None:
    driver = Driver(ONE, TWO)
    driver.queue.take()
    driver.report("one", 5, 5)
    driver.fold.targets["one"] = "PAUSED"
    assert driver.queue.differs(ONE)
    assert driver.queue.take() is None
    assert driver.queue.current is not None
    assert (driver.queue.current.state, driver.queue.current.total.units_done) == ("PAUSED", 10)
    assert not driver.queue.differs(None)
    driver.fold.targets["one"] = "RUNNING"
    assert driver.queue.differs(None)
    assert driver.queue.take() == ONE
    assert [notice for notice in driver.notices if notice.startswith("one")] == [
        "one STARTED",
        "one CACHE_DONE b",
        "one PAUSED",
        "one RESUMED",
    ]


def test_a_stopped_signal_ends_and_the_next_begins() -> None:
    driver = Driver(ONE, TWO)
    driver.queue.take()
    driver.fold.targets.update(one="STOPPED")
    assert driver.queue.differs(ONE)
    assert driver.queue.take() == TWO
    assert driver.ended == [("one", "ABORTED", "")]


def test_what_cannot_be_done_fails_and_the_next_begins() -> None:
    driver = Driver(ONE, TWO)
    driver.wrong["one"] = "no such cache"
    assert driver.queue.take() == TWO
    assert driver.ended == [("one", "FAILED", "no such cache")]
    for _ in range(5):
        driver.queue.differs(TWO)
    assert driver.checks == 2  # each signal is checked once
    driver.wrong["two"] = "the cache is gone"
    driver.queue.forget_checks()
    assert driver.queue.differs(TWO)
    assert driver.ended[1:] == [("two", "FAILED", "the cache is gone")]


def test_an_error_of_one_task_ends_the_signal() -> None:
    driver = Driver(ONE)
    driver.queue.take()
    driver.report("one", 3, error="no column price")
    assert driver.ended == [("one", "FAILED", "no column price")]
    assert driver.queue.differs(ONE)  # other tasks still send it
    assert driver.queue.take() is None


def test_a_signal_that_an_earlier_run_has_begun_goes_on() -> None:
    driver = Driver(ONE, before={"one": SignalStatus("one", "RUNNING", 500, 700, {"a": SignalCount(20, 5, 5)}, run_id="old")})
    driver.queue.take()
    assert driver.notices == ["one RESUMED"]
    assert driver.queue.current is not None
    assert (driver.queue.current.started_ms, driver.queue.current.run_id) == (500, "run")


def test_old_ends_are_forgotten() -> None:
    driver = Driver(ONE)
    driver.fold.ends = {f"old-{number}": SignalStatus(f"old-{number}", "COMPLETED") for number in range(MOST_ENDED)}
    driver.queue.take()
    driver.report("one", 10, 10)
    assert driver.forgotten == ["old-0"]


def test_the_reason_of_a_failure_is_short_enough_for_a_record() -> None:
    driver = Driver(ONE)
    driver.wrong["one"] = "no cache " + "x" * 480_000
    driver.queue.take()
    ((_, state, error),) = driver.ended
    assert (state, len(error)) == ("FAILED", MOST_ERROR)
