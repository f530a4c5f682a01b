"""Deletions that the server finishes: the captures of deleted connectors end after their runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping

from ..admin.connectors import finish_deletion
from ..errors import IgniteKafkaError
from .configuration import Operator

log = logging.getLogger(__name__)
_AGAIN_S = 60.0
_MOST_THREADS = 4


class Deletions:
    """Unfinished deletions, each in a thread of its own, at most :data:`_MOST_THREADS` at a time.

    A call of nodes that do not answer lasts until its client's deadline. The keeper does not wait for it, nor does the
    end of the server: the next server finishes what is left. Only the keeper's thread calls :meth:`advance`.
    """

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._threads: dict[str, threading.Thread] = {}
        self._again_at: dict[str, float] = {}

    def advance(self, names: Iterable[str], dead_runs: Mapping[str, str]) -> None:
        """Try to finish deletions, without waiting for them; each is tried again after :data:`_AGAIN_S` seconds.

        :param names: deleted connectors whose captures may not have ended, and that have no process here.
        :param dead_runs: ids of the runs whose processes have ended here, by connector.
        """
        unfinished = set(names)
        for name in self._again_at.keys() - unfinished:
            del self._again_at[name]  # it is finished, or declared again: its next deletion is another one
        self._threads = {name: thread for name, thread in self._threads.items() if thread.is_alive()}
        now = time.monotonic()
        for name in sorted(unfinished - self._threads.keys()):
            if len(self._threads) >= _MOST_THREADS:
                return
            if now >= self._again_at.get(name, 0.0):
                self._again_at[name] = now + _AGAIN_S
                arguments = (name, dead_runs.get(name, ""))
                thread = threading.Thread(target=self._finish, args=arguments, name=f"deletion-{name}", daemon=True)
                self._threads[name] = thread
                thread.start()

    def _finish(self, name: str, dead_run: str) -> None:
        try:
            done = finish_deletion(self._operator.connection_of(name), self._operator.secrets, dead_run)
        except IgniteKafkaError as error:
            log.warning("The capture of deleted connector %s has not ended: %s", name, error)
            return
        if done.ended:
            log.info("Connector %s is deleted; its offsets stay", name)
