"""Reports of a comparison in the status topic, for a submitter that cannot read the app's output."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..common.deadline import Interval
from ..errors import IgniteKafkaError
from ..kafka.clients import BRIEF_S, KafkaClients
from ..kafka.topics import Topics
from ..settings.connector import ConnectorSettings
from ..state.comparisons import ComparisonStatus, forget_comparisons, write_comparison
from ..state.status import COMPLETED, FAILED, RUNNING, StatusWriter, now_ms
from .result import VerifyResult

log = logging.getLogger(__name__)


class ComparisonReport:
    """Writer of the status records of one comparison; not thread-safe.

    :param run_id: key of the record.
    """

    def __init__(self, settings: ConnectorSettings, clients: KafkaClients, run_id: str) -> None:
        self._clients = clients
        self._prefix = settings.internal_topic_prefix
        self._status = ComparisonStatus(RUNNING, settings.name, run_id, started_ms=now_ms())
        self._due = Interval(settings.progress_interval_ms / 1000)
        topics = Topics(clients)
        StatusWriter.ensure_topic(topics, self._prefix, settings.replication_factor)
        self._writer = StatusWriter(clients, self._prefix)

    @contextmanager
    def errors_reported(self) -> Iterator[None]:
        """Context that writes a comparison's first status record and, if the comparison fails, its last."""
        write_comparison(self._writer, self._status)
        try:
            yield
        except IgniteKafkaError as error:
            self._end(replace(self._status, state=FAILED, error=error.to_dict()))
            raise

    def progress(self, step: str, done: int, tasks: int) -> None:
        """Write the progress of a step to the status record, at most once in `progress_interval_ms`."""
        self._status = replace(self._status, step=step, done=done, tasks=tasks)
        if not self._due.due():
            return
        try:
            write_comparison(self._writer, self._status, BRIEF_S)
        except IgniteKafkaError as error:
            log.warning("the progress could not be reported: %s", error)

    def completed(self, result: VerifyResult) -> None:
        """Write the comparison's result as its last record, and remove records of old comparisons.

        :raises KafkaUnavailable: the broker did not confirm the result.
        """
        self._end(replace(self._status, state=COMPLETED, result=result.to_dict()))

    def _end(self, status: ComparisonStatus) -> None:
        write_comparison(self._writer, replace(status, ended_ms=now_ms()))
        forget_comparisons(self._clients, self._prefix, status.connector)
