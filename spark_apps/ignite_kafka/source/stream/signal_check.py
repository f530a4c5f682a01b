"""Check of a signal before it is taken up: whether the connector copies its caches, and can evaluate its conditions."""

from __future__ import annotations

from ...convert.filter import entry_filter_of
from ...errors import IgniteKafkaError
from ...ignite.cluster import Cluster
from ...plan.source_plan import TransferPlan
from ...settings.suggestions import did_you_mean
from ...state.signal_records import CacheSelection, Signal

NEEDS_SERVICE = (
    "ad-hoc snapshots need the backlog service on the nodes (docs/deploy.md): with continuous queries nothing tells "
    "which changes of a key were made before its entry was read, and each new epoch is a gap in the stream "
    "(docs/queries.md)"
)


def signal_fault(signal: Signal, plan: TransferPlan, cluster: Cluster, *, has_service: bool) -> str:
    """Return why a signal cannot be done; empty if it can.

    :param has_service: whether the backlog service captures the changes.
    """
    if not has_service:
        return NEEDS_SERVICE
    return next(filter(None, (_selection_fault(selection, plan, cluster) for selection in signal.caches)), "")


def _selection_fault(selection: CacheSelection, plan: TransferPlan, cluster: Cluster) -> str:
    cache = next((cache for cache in plan.caches if cache.name == selection.cache), None)
    if cache is None:
        hint = did_you_mean(selection.cache, [cache.name for cache in plan.caches])
        return f"the connector does not copy a cache {selection.cache!r}. {hint}".strip()
    beyond = [partition for partition in selection.partitions if partition >= cache.partitions]
    if beyond:
        return f"cache {cache.name} has partitions 0 to {cache.partitions - 1}, and no partition {beyond[0]}"
    try:
        entry_filter = entry_filter_of(selection.where)
        if entry_filter is not None:
            entry_filter.check(cluster.cache(cache.name), cluster)
    except IgniteKafkaError as error:
        # while nodes do not answer, the tasks find what is wrong
        return f"the condition for cache {cache.name}: {error}" if error.final else ""
    return ""
