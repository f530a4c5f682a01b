"""Polling of an Ignite cluster's caches through an Airflow connection, for sensor and trigger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from airflow_provider_ignite_kafka.hooks.ignite_connection import IgniteConnection
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import AuthenticationFailed, IgniteKafkaError, SettingsError
from ignite_kafka.plan.cache_changes import KINDS, CacheLists, CacheState, Polled, poll_all

FATAL = (SettingsError, AuthenticationFailed)  # errors that a later poll would have, too
TRANSIENT = (IgniteKafkaError, OSError)  # all other errors of these classes: nodes that start, stop or do not answer
POLL_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class CachePoller:
    """Polls the state of caches that match a watcher's lists.

    :param ignite_conn_id: id of a connection of type `ignite`.
    :param secrets_file: path of a secrets file, whose user and passwords override the connection's.
    """

    ignite_conn_id: str
    lists: CacheLists
    secrets_file: str | None = None

    @classmethod
    def of(
        cls,
        ignite_conn_id: str,
        whitelist: str | Sequence[str],
        blacklist: str | Sequence[str],
        backlog_cache_name: str,
        secrets_file: str | None = None,
    ) -> CachePoller:
        """Make a poller from the arguments of a sensor or trigger."""
        lists = CacheLists(tuple(as_list(whitelist)), tuple(as_list(blacklist)), backlog_cache_name)
        return cls(ignite_conn_id, lists, secrets_file or None)

    @property
    def cluster(self) -> tuple[str, str | None]:
        """Identity of the cluster and the login; pollers with the same identity can share polls."""
        return self.ignite_conn_id, self.secrets_file

    def poll(self, timeout_s: float = POLL_TIMEOUT_S) -> dict[str, CacheState]:
        """Read the current states of the matching caches, by name. Blocks, and closes its connections.

        :raises IgniteKafkaError, OSError: see `FATAL` and `TRANSIENT`.
        """
        answer = self.poll_all([self.lists], timeout_s)[self.lists]
        if isinstance(answer, SettingsError):
            raise answer
        return answer

    def poll_all(self, several: Iterable[CacheLists], timeout_s: float) -> Polled:
        """Read the states of caches for several watchers' lists over one connection. Blocks.

        :param timeout_s: seconds after which no further cache is read; a single request may take as long once more.
        :raises IgniteKafkaError, OSError: see `FATAL` and `TRANSIENT`.
        """
        deadline = Deadline.after(timeout_s)
        with IgniteConnection.read(self.ignite_conn_id).cluster(self.secrets_file, timeout_s) as cluster:
            return poll_all(cluster, several, deadline)

    def state_key(self, initial: object, kinds: Iterable[str] = KINDS) -> str:
        """Derive the key of a watcher's stored state from connection, lists, initial state and kinds of change.

        If all kinds are chosen, they are left out, as in the keys of earlier versions.
        """
        chosen = sorted(kinds)
        identity = [self.ignite_conn_id, asdict(self.lists), initial, *([chosen] if chosen != sorted(KINDS) else [])]
        return f"ignite-cache-watch-{hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]}"


def as_list(patterns: str | Sequence[str] | None) -> list[str]:
    """Convert patterns to a list; a text is split at commas."""
    parts = patterns.split(",") if isinstance(patterns, str) else patterns or ()
    return [part.strip() for part in parts if part.strip()]


def checked_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Check that kinds of change exist, and return them as a tuple.

    :raises ValueError: no kind, or an unknown one.
    """
    result = tuple(kinds)
    unknown = [kind for kind in result if kind not in KINDS]
    if unknown or not result:
        raise ValueError(f"kinds is {result!r}; allowed: one or more of {', '.join(KINDS)}")
    return result
