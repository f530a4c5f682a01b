"""Deletions of a server without a keeper: captures end after their runs, while no request waits for them."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field

from ..admin.connectors import finish_deletion
from ..common.deadline import Deadline
from ..errors import IgniteKafkaError
from .configuration import Operator

log = logging.getLogger(__name__)
PENDING_S = 900.0
"""Time in which a deletion is tried again, in seconds: longer than a lost or paused run is waited for."""
MOST_PENDING = 256
_POLL_S = 0.5
_AGAIN_S = 2.0
_SHARE = 0.1  # of the time since the deletion, until it is tried again


@dataclass
class _Pending:
    operator: Operator
    begun_s: float = field(default_factory=time.monotonic)
    again: Deadline = field(default_factory=lambda: Deadline.after(0.0))

    def postpone(self) -> None:
        """Wait longer the older the deletion is, because each try reads the internal topics."""
        self.again = Deadline.after(max(_AGAIN_S, (time.monotonic() - self.begun_s) * _SHARE))

    @property
    def expired(self) -> bool:
        return time.monotonic() - self.begun_s >= PENDING_S


class LateDeletions:
    """Unfinished deletions of a cluster's connectors, tried in turns by a thread that ends when none is left.

    A call of nodes that do not answer delays only the other deletions. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: dict[str, _Pending] = {}
        self._thread: threading.Thread | None = None

    def add(self, operator: Operator, name: str) -> None:
        """Finish the deletion of a connector once its run has ended, without waiting for it.

        :param operator: connections by which its capture is ended.
        """
        with self._lock:
            if name not in self._pending and len(self._pending) >= MOST_PENDING:
                _give_up(name, f"{MOST_PENDING} others wait for the ends of their runs")
                return
            self._pending[name] = _Pending(operator)
            if self._thread is None:
                # a daemon, because the end of the server must not wait for runs
                self._thread = threading.Thread(target=self._run, name="ignite-kafka-deletions", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._pending:
                    self._thread = None
                    return
                due = {name: pending for name, pending in self._pending.items() if pending.again.expired}
            for name, pending in due.items():
                if self._is_over(name, pending):
                    self._remove(name, pending)
            time.sleep(_POLL_S)

    def _is_over(self, name: str, pending: _Pending) -> bool:
        """Try to finish a deletion; return whether it is finished, undone by a new declaration, or given up."""
        reason = "its run has not ended"
        try:
            deletion = finish_deletion(pending.operator.connection_of(name), pending.operator.secrets)
            if deletion.ended:
                log.info("Connector %s is deleted; its offsets stay", name)
            if deletion.ended or deletion.declared_again:
                return True
        except IgniteKafkaError as error:
            reason = str(error)
            log.info("The capture of deleted connector %s cannot be ended yet: %s", name, reason)
        except Exception as error:  # the thread must outlive it, or no later deletion would be tried
            reason = f"a fault of this program, {type(error).__name__}"
            log.exception("Ending the capture of deleted connector %s failed", name)
        if pending.expired:
            _give_up(name, reason)
            return True
        pending.postpone()
        return False

    def _remove(self, name: str, pending: _Pending) -> None:
        with self._lock:
            if self._pending.get(name) is pending:  # otherwise it was declared and deleted again meanwhile
                del self._pending[name]


def _give_up(name: str, reason: str) -> None:
    log.warning(
        "The capture of deleted connector %s has not ended: %s. End it: ignite-kafka backlog cleanup %s",
        name,
        reason,
        name,
    )
