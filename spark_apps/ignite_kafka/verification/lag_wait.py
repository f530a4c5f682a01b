"""Wait of a comparison beside a run, until the lag of the connector has passed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ..admin.backlog import flush_captured
from ..admin.connector_lag import ahead_of, marks_of, read_lag
from ..admin.target_state import newest_run
from ..common.deadline import Clock, Deadline
from ..errors import IgniteKafkaError
from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..settings.connector import ConnectorSettings
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings

log = logging.getLogger(__name__)
_POLL_S = 0.5


class LagWait:
    """Waits for a connector's lag as it is at each call; all calls together take at most a limited time.

    The lag of a stream by continuous queries is unknown. For it, the first call waits for all the time.

    :param connect: opens the Ignite cluster.
    :param wait_s: maximum time of all calls, in seconds.
    """

    def __init__(
        self,
        settings: ConnectorSettings,
        clients: KafkaClients,
        connect: Callable[[], Cluster],
        wait_s: float,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._clients = clients
        self._connect = connect
        self._left_s = wait_s
        self._clock = clock
        self._sleep = sleep

    @staticmethod
    def of(
        settings: ConnectorSettings, clients: KafkaClients, connect: Callable[[], Cluster], wait_s: float
    ) -> LagWait | None:
        """Return the wait for a connector that copies changes now; None if no run of it is active.

        :raises KafkaUnavailable: a broker did not answer.
        """
        newest = newest_run(clients, Topics(clients), settings.internal_topic_prefix, settings.name)
        copies = isinstance(settings, SinkSettings) or settings.streams
        return (
            LagWait(settings, clients, connect, wait_s) if copies and not newest.unknown and not newest.ended else None
        )

    def __call__(self) -> bool:
        """Wait, and return whether the connector has copied the whole lag that it had at the call."""
        deadline = Deadline.after(self._left_s, self._clock)
        try:
            return self._wait(deadline)
        finally:
            self._left_s = deadline.remaining()

    def _wait(self, deadline: Deadline) -> bool:
        settings = self._settings
        if isinstance(settings, SourceSettings) and settings.failover_policy != "BACKLOG":
            self._sleep(deadline.remaining())
            return True
        marks: dict[str, int] | None = None
        while True:
            try:
                if marks is None:
                    marks = self._read_marks()
                lag = read_lag(self._clients, settings.internal_topic_prefix, settings.name, self._connect)
                if lag.loaded and not ahead_of(lag, marks):
                    return True
            except IgniteKafkaError as error:
                log.warning("the lag could not be read: %s", error)
            if deadline.expired:
                log.warning(
                    "the connector has not copied in time what it had to copy when keys were found to differ, so "
                    "differences may be changes on their way: compare with a longer wait"
                )
                return False
            self._sleep(min(_POLL_S, deadline.remaining()))

    def _read_marks(self) -> dict[str, int]:
        """Read the positions at which the present lag is copied."""
        settings = self._settings
        if isinstance(settings, SourceSettings):
            with self._connect() as cluster:
                flush_captured(cluster, settings.name)
        return marks_of(read_lag(self._clients, settings.internal_topic_prefix, settings.name, self._connect))
