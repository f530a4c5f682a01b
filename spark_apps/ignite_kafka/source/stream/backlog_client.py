"""Client of the backlog service for a stream's task: reads changes, looks up keys, acknowledges what is committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ...common.arrays import Int64Array, Mask
from ...errors import CacheDestroyed
from ...ignite.backlog_changes import Changes
from ...ignite.backlog_service import BacklogService
from ...ignite.backlog_units import ChangedUnits, UnitStates
from ...ignite.cluster import Cluster
from ...ignite.entry_versions import EntryVersions, concat_versions
from ...plan.source_plan import CachePlan

_KEYS_AT_ONCE = 10_000  # in one look-up

T = TypeVar("T")


class BacklogClient:
    """Client of the backlog service for one connector, over one cluster connection; not thread-safe.

    Every call may be repeated: a call that loses its node is repeated on another node. Each raises the errors of
    :class:`~ignite_kafka.ignite.backlog_service.BacklogService`.

    :param service: makes the service of a connection, given the capture's secret.
    """

    def __init__(
        self, cluster: Cluster, connector: str, service: Callable[..., BacklogService] = BacklogService
    ) -> None:
        self.cluster = cluster
        self._connector = connector
        self._service = service

    def _ask(self, question: Callable[[BacklogService], T]) -> T:
        secret = self.cluster.credentials.backlog_secret
        return self.cluster.ask(lambda connection: question(self._service(connection, secret)))

    def changed(self, place: bytes) -> ChangedUnits:
        """Ask which cache partitions have changed since an earlier reply.

        :param place: position returned with that reply; empty: every unit.
        """
        return self._ask(lambda service: service.changed(self._connector, place))

    def read(self, units: npt.NDArray[np.void], most_bytes: int) -> Changes:
        """Read captured changes of cache partitions, lowest update numbers first.

        :param units: dtype UNIT.
        :param most_bytes: maximum size of the reply.
        """
        return self._ask(lambda service: service.read(self._connector, units, most_bytes))

    def units(self) -> UnitStates:
        """Return the backlog state of each cache partition that has captured changes or must be loaded again."""
        return self._ask(lambda service: service.units(self._connector))

    def servers(self) -> frozenset[str]:
        """Return the ids of the server nodes in the cluster now."""
        return frozenset(self._ask(lambda service: service.status(self._connector))["servers"])

    def look_up(self, cache: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Read the value of each key from its primary node; None for a key that the cache does not have.

        Keys and values are not wrapped.
        """
        parts = [keys[at : at + _KEYS_AT_ONCE] for at in range(0, len(keys), _KEYS_AT_ONCE)]
        return [value for part in parts for value in self._look_up(cache, part)]

    def _look_up(self, cache: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._ask(lambda service: service.lookup(self._connector, cache, keys))

    def entries(self, cache: str, keys: Sequence[bytes]) -> tuple[list[bytes | None], EntryVersions]:
        """Read value and version of each of N keys; a value is None for a key that the cache does not have.

        Keys and values are not wrapped.
        """
        parts = [keys[at : at + _KEYS_AT_ONCE] for at in range(0, len(keys), _KEYS_AT_ONCE)]
        read = [self._entries(cache, part) for part in parts]
        return [value for values, _ in read for value in values], concat_versions([versions for _, versions in read])

    def _entries(self, cache: str, keys: Sequence[bytes]) -> tuple[list[bytes | None], EntryVersions]:
        return self._ask(lambda service: service.entries(cache, keys))

    def locate(self, cache: str, keys: Sequence[bytes]) -> tuple[npt.NDArray[np.int32], Mask]:
        """Return the Ignite partition of each of N keys, and a flag for each: the cache has the key."""
        return self._ask(lambda service: service.locate(self._connector, cache, keys))

    def barrier(self) -> None:
        """Wait until every change made before the call can be read from the backlog."""
        self._ask(lambda service: service.barrier(self._connector))

    def acknowledge(self, sent: bytes) -> None:
        """Remove changes from the backlog, after their records were committed to Kafka.

        :param sent: from :meth:`~ignite_kafka.ignite.backlog_changes.Changes.acknowledgement`.
        """
        self._ask(lambda service: service.acknowledge(self._connector, sent))

    def clear(self, units: npt.NDArray[np.void], mark_numbers: Int64Array) -> None:
        """Remove marks and backlog of U cache partitions, before they are loaded from the cache again.

        :param units: dtype UNIT.
        :param mark_numbers: U numbers of the marks that were read; a mark that was set since stays.
        """
        self._ask(lambda service: service.clear(self._connector, units, mark_numbers))

    def check_same(self, cache: CachePlan) -> None:
        """Check that entries just read belong to the captured cache, not to a new cache of the same name.

        A cache that is created again under its name keeps its incarnation until the driver has it captured. Then it is
        sent from its beginning, and entries sent before under the old incarnation would come twice. A deployment id
        never returns, and every node has the new one before the new cache takes its first entry: so the check holds
        for all earlier reads.

        :raises CacheDestroyed: the entries may belong to another cache.
        """
        if not cache.deployment:
            return
        deployments = {name: deployment for name, _, deployment, *_ in self._ask(lambda service: service.caches())}
        if deployments.get(cache.name) != cache.deployment:
            how = "destroyed and made again" if cache.name in deployments else "destroyed"
            raise CacheDestroyed(f"the cache was {how} while it was read", "Start again.", cache=cache.name)
