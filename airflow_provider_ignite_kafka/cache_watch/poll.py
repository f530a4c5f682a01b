"""Poller of an Ignite cluster's caches through an Airflow connection, for sensor and trigger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from ignite_kafka.errors import AuthenticationFailed, IgniteKafkaError, SettingsError
from ignite_kafka.plan.cache_changes import KINDS, CacheLists, CacheState, poll_caches

FATAL = (SettingsError, AuthenticationFailed)  # errors that no later poll cures
TRANSIENT = (IgniteKafkaError, OSError)  # all others of these: nodes that start, stop or are away


@dataclass(frozen=True)
class CachePoller:
    """Polls the chosen caches of a cluster.

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
        """The poller for the arguments of sensor and trigger."""
        lists = CacheLists(tuple(as_list(whitelist)), tuple(as_list(blacklist)), backlog_cache_name)
        return cls(ignite_conn_id, lists, secrets_file or None)

    def poll(self) -> dict[str, CacheState]:
        """States of the caches now, by cache name. Blocks; connections are closed afterwards.

        :raises IgniteKafkaError, OSError: see `FATAL` and `TRANSIENT`.
        """
        with IgniteHook(self.ignite_conn_id).connect(self.secrets_file) as cluster:
            return poll_caches(cluster, self.lists)

    def state_key(self, known: object) -> str:
        """Key of a watcher's stored state, unique for connection, chosen caches and initial state."""
        identity = json.dumps([self.ignite_conn_id, asdict(self.lists), known], sort_keys=True)
        return f"ignite-cache-watch-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"


def as_list(patterns: str | Sequence[str] | None) -> list[str]:
    """Patterns as a list; a text is split at commas."""
    parts = patterns.split(",") if isinstance(patterns, str) else patterns or ()
    return [part.strip() for part in parts if part.strip()]


def checked_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Kinds of change as a tuple.

    :raises ValueError: no kind, or an unknown one.
    """
    result = tuple(kinds)
    unknown = [kind for kind in result if kind not in KINDS]
    if unknown or not result:
        raise ValueError(f"kinds is {result!r}; allowed: one or more of {', '.join(KINDS)}")
    return result
