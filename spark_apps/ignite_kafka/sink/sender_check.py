"""Check that no cluster with the number of the sink's cluster sends it records."""

from __future__ import annotations

import numpy as np

from ..errors import SettingsError
from ..kafka.records import Consumed
from ..kafka.version_headers import read_senders
from ..settings.sink import SinkSettings


def check_senders(consumed: Consumed, cluster_id: int, settings: SinkSettings) -> None:
    """Refuse records of another cluster with the number of the sink's cluster, before any is stored.

    Versions of two such clusters can be equal, and neither source sends what the other cluster wrote. In a ring,
    records of the sink's own cluster come back, but from the source of another one.

    :param consumed: records of one topic partition, with headers.
    :param cluster_id: number of the sink's cluster.
    :raises SettingsError: a record comes from such a source.
    """
    assert consumed.headers is not None
    rows = np.flatnonzero(read_senders(consumed.headers) == cluster_id)
    if rows.size:
        raise SettingsError(
            f"the cluster of the topic's source and the cluster of this sink have the same number, {cluster_id}, so "
            "their writes cannot be told apart",
            "Set IGNITE_KAFKA_ACTIVE_ACTIVE_CLUSTER to a number that no other cluster has, on all server nodes of one "
            "of them; this needs a restart of all of its nodes (docs/active-active.md)",
            topic=consumed.topic,
            partition=consumed.partition,
            offset=int(consumed.offsets[rows[0]]),
            sink_cluster=", ".join(settings.ignite_addresses),
        )
