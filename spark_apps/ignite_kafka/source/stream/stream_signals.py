"""Signals of a stream's run: from topics to epochs, and from reports of tasks to records and notifications."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...errors import IgniteKafkaError
from ...kafka.clients import KafkaClients
from ...kafka.topics import Topics
from ...plan.source_plan import TransferPlan
from ...runtime.counts import SlotResult
from ...runtime.driver_consumer import DriverConsumer
from ...runtime.epoch import Running
from ...runtime.notifications import AD_HOC, Notifications, Turn
from ...settings.source import SourceSettings
from ...state.configs_writer import ConfigsWriter
from ...state.signal_records import MOST_ENDED, Signal, SignalStatus
from ...state.signals import KIND, ForgottenEnds, read_signal_progress, read_signals
from ...state.status import StatusWriter
from .signal_notices import emit_turn, turn_details
from .signal_queue import SignalQueue
from .signal_topic import SignalTopic

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class RunParts:
    """Parts of a run that its signals need.

    :param retry: repeats a call of Kafka as the run does.
    """

    clients: KafkaClients
    topics: Topics
    settings: SourceSettings
    run_id: str
    control: ConfigsWriter
    writer: StatusWriter
    consumer: DriverConsumer
    retry: Callable[[Callable[[], T]], T]


class StreamSignals:
    """Signals of one run; the run calls it between and during epochs.

    :param check: returns why a signal cannot be done; empty: it can.
    """

    def __init__(self, parts: RunParts, check: Callable[[Signal], str]) -> None:
        """Read the connector's signals; the consumer, which exists already, adds later ones."""
        self._parts = parts
        clients, topics, settings = parts.clients, parts.topics, parts.settings
        self.notifications = parts.retry(lambda: Notifications(clients, topics, settings))
        prefix = settings.internal_topic_prefix
        self._fold = fold = parts.retry(lambda: read_signals(clients, topics, prefix, settings.name))
        parts.consumer.signals = fold
        before = parts.retry(lambda: read_signal_progress(clients, prefix, settings.name)) if fold.waiting else {}
        self._check = check
        self._destroyed: dict[str, str] = {}  # caches that the plan had: name to incarnation
        self._queue = SignalQueue(fold, parts.run_id, before, self._fault, self._end, self._notify)
        self._topic: SignalTopic | None = None
        if settings.signal_topic:
            self._topic = topic = parts.retry(lambda: SignalTopic(clients, topics, settings, fold))
            if topic.begins:
                parts.retry(lambda: parts.control.accept_signals(topic.position))

    def take(self) -> Signal | None:
        """Return the signal for the next epoch; see :meth:`.SignalQueue.take`."""
        self._read_topic()
        return self._queue.take()

    @property
    def none_waits(self) -> bool:
        """Whether no signal can be sent now."""
        self._read_topic()
        return self._queue.first() is None

    def change_plan(self, before: TransferPlan, after: TransferPlan) -> None:
        """Note the caches that were destroyed, and check the signals once more."""
        for cache in before.caches:
            self._destroyed[cache.name] = cache.incarnation
        for cache in after.caches:
            self._destroyed.pop(cache.name, None)
        self._queue.forget_checks()

    def _fault(self, signal: Signal) -> str:
        cache = next((name for name in signal.names if name in self._destroyed), None)
        if cache is None:
            return self._check(signal)
        incarnation = self._destroyed[cache]
        return f"cache {cache} (incarnation {incarnation}) was destroyed before the signal was complete"

    def other_work(self, running: Running) -> bool:
        """Read new signals and reports, and return whether another epoch must begin for them."""
        self._read_topic()
        tasks = [task for task in self._parts.consumer.reports.tasks.values() if task.epoch == running.epoch.number]
        self._queue.add([task.signal for task in tasks if task.signal is not None], running.tasks)
        return self._queue.differs(running.epoch.signal)

    def add_results(self, results: Sequence[SlotResult]) -> None:
        """Add the reports of an ended epoch."""
        self._queue.add([result.signal for result in results if result.signal is not None], len(results))

    def record(self) -> None:
        """Write the progress of the running signal together with the run's next status."""
        current = self._queue.current
        if current is not None and not current.ended:
            self._queue.report_progress()
            self._parts.writer.queue([KIND, self._parts.settings.name, current.id], current.to_json())

    def _read_topic(self) -> None:
        accepted = None if self._topic is None else self._topic.poll()
        if accepted is None:
            return
        parts = self._parts
        refusals = accepted.refused[-MOST_ENDED:]
        forgotten = self._fold.forget_ends(len(refusals))
        parts.retry(
            lambda: parts.control.accept_signals(
                accepted.position, accepted.requests, accepted.targets, refusals, forgotten
            )
        )
        # the consumer reads them once more, which changes nothing
        self._fold.requests.update({signal.id: signal for signal in accepted.requests})
        self._fold.targets.update(accepted.targets)
        for refused in refusals:
            self._fold.ends[refused.id] = refused
            self._notify(Turn.FAILED, Signal(refused.id, ()), refused, "")

    def _notify(self, turn: Turn, signal: Signal, status: SignalStatus, cache: str) -> None:
        emit_turn(self._parts.settings.name, turn, signal, status)
        self.notifications.send(signal.id, AD_HOC, turn, turn_details(signal, status, cache))

    def _end(self, end: SignalStatus, forgotten: ForgottenEnds) -> None:
        parts = self._parts
        parts.retry(lambda: parts.control.end_signal(end, forgotten))
        try:
            parts.writer.forget(parts.settings.name, [end.id], KIND)
        except IgniteKafkaError as error:  # nobody shows the progress of a signal that has ended
            log.warning("the progress of signal %s stays in the status topic: %s", end.id, error)

    def close(self) -> None:
        """Close the consumer of the signal topic, and wait a short time for the last notifications' confirmation."""
        self.notifications.close()
        if self._topic is not None:
            self._topic.close()
