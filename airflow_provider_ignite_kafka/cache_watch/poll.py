"""How sensor and trigger look at a cluster: through an Airflow connection, with what cannot be mended told from what passes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from ignite_kafka.errors import AuthenticationFailed, IgniteKafkaError, SettingsError
from ignite_kafka.plan.cache_changes import KINDS, CacheLists, CacheState, look

FATAL = (SettingsError, AuthenticationFailed)  # waiting mends neither
PASSING = (IgniteKafkaError, OSError)  # the rest of these may: nodes that start, stop or are away


@dataclass(frozen=True)
class CacheLooks:
    """Where to look and at which caches.

    :param ignite_conn_id: id of a connection of type `ignite`.
    :param secrets_file: path of a secrets file, whose user and passwords take the place of the connection's.
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
    ) -> CacheLooks:
        """Of the arguments that sensor and trigger take."""
        lists = CacheLists(tuple(as_list(whitelist)), tuple(as_list(blacklist)), backlog_cache_name)
        return cls(ignite_conn_id, lists, secrets_file or None)

    def __call__(self) -> dict[str, CacheState]:
        """Look once, over connections that are closed afterwards. Blocks.

        :raises IgniteKafkaError, OSError: see `FATAL` and `PASSING`.
        """
        with IgniteHook(self.ignite_conn_id).connect(self.secrets_file) as cluster:
            return look(cluster, self.lists)

    def key(self, known: object) -> str:
        """The name under which a watcher's state is kept: another for other caches, another connection or another beginning."""
        told = json.dumps([self.ignite_conn_id, asdict(self.lists), known], sort_keys=True)
        return f"ignite-cache-watch-{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def as_list(patterns: str | Sequence[str] | None) -> list[str]:
    """A list of patterns as it is, or written with commas between."""
    parts = patterns.split(",") if isinstance(patterns, str) else patterns or ()
    return [part.strip() for part in parts if part.strip()]


def checked_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """:raises ValueError: there is none, or one that is not known."""
    result = tuple(kinds)
    unknown = [kind for kind in result if kind not in KINDS]
    if unknown or not result:
        raise ValueError(f"kinds is {result!r}; allowed: one or more of {', '.join(KINDS)}")
    return result
