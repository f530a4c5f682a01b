"""A capture that a part of the benchmark begins and ends, with the highest fill of the node's buffers meanwhile."""

from __future__ import annotations

import re
import threading
from types import TracebackType
from typing import Self

import numpy as np

from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.backlog_units import GIVEN_UP
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint

_POLL_S = 0.1
_NODE = re.compile(r" entries=(\d+) bytes=(\d+) written=\d+ fill=([\d.]+)")


class Capture:
    """The capture of one cache for one connector, with the service's default settings; a context manager.

    :ivar most_entries: highest number of changes in the node's buffers; `most_bytes` and `most_fill`: the same of their
        bytes and fill.
    :ivar given_up: number of units whose changes were given up.
    """

    def __init__(self, address: str, connector: str, cache: str) -> None:
        self._connection = ThinConnection(IgniteEndpoint((address,)), IgniteCredentials())
        self._service = BacklogService(self._connection)
        self._connector, self._cache = connector, cache
        self._lock, self._done, self._on = threading.Lock(), threading.Event(), False
        self._thread = threading.Thread(target=self._poll, name="capture")
        self.most_entries = self.most_bytes = self.given_up = 0
        self.most_fill = 0.0

    def begin(self) -> None:
        """Begin the capture again, with an empty backlog."""
        self.end()
        with self._lock:
            self._service.start(self._connector, {}, [self._cache])
            self._on = True

    def end(self) -> None:
        """End the capture, if it was begun."""
        with self._lock:
            if self._on:
                self._service.barrier(self._connector)
                marks = self._service.units(self._connector).marks
                self.given_up = max(self.given_up, int(np.count_nonzero(marks & GIVEN_UP)))
            self._on = False
            # a run of the connector may have given the capture a secret
            self._service.force_stop(self._connector, True)

    def barrier(self) -> None:
        """Return when all captured changes are in the backlog."""
        with self._lock:
            self._service.barrier(self._connector)

    def _poll(self) -> None:
        while not self._done.wait(_POLL_S):
            with self._lock:
                lines = self._service.status(self._connector)["nodes"] if self._on else []
            for entries, held, fill in (found.groups() for found in map(_NODE.search, lines) if found):
                self.most_entries = max(self.most_entries, int(entries))
                self.most_bytes = max(self.most_bytes, int(held))
                self.most_fill = max(self.most_fill, float(fill))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        self.end()
        self._connection.close()
