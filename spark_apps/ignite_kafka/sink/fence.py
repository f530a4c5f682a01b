"""Fences of strict sinks: their names in the Ignite cluster, and the token of a repair."""

from __future__ import annotations

import time
from collections.abc import Collection

from ..ignite.cluster import Cluster
from ..ignite.write_fence import WriteFence, WriterToken
from ..kafka.topics import Topics

_AFTER_EVERY_EPOCH = (1 << 31) - 1
_MOST_TURN = (1 << 31) - 1


def fence_name(topics: Topics, prefix: str, connector: str) -> str:
    """Return a sink's name in the fences of the Ignite cluster.

    Connectors of one name on several Kafka clusters, or under several prefixes of internal topics, have fences of their
    own.

    :raises KafkaUnavailable: no broker answers.
    """
    return f"{topics.cluster_id()}/{prefix}/{connector}"


def repair_fence(cluster: Cluster, name: str, generation: int, slots: int, caches: Collection[str]) -> WriteFence:
    """Return the right to write of a repair, after the run of a generation and before the next run.

    Establishing it ends the right of that run's tasks, should one still be alive. The next run ends the repair's.

    :param name: from :func:`fence_name`.
    :param slots: number of the connector's slots.
    """
    token = WriterToken(generation, epoch=_AFTER_EVERY_EPOCH, turn=int(time.time()) & _MOST_TURN)
    return WriteFence(cluster, name, range(max(1, slots)), token, caches)
