"""Fences of strict sinks: their names in the Ignite cluster, and the token of a repair."""

from __future__ import annotations

from ..ignite.write_fence import WriterToken
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


def repair_token(generation: int, began_s: int) -> WriterToken:
    """Return the token of a repair, after the run of a generation and before the next run.

    Putting it in force ends the right of that run's tasks, should one still be alive. The next run ends the repair's.
    All tasks of a repair have the same token, because each key is written by one of them.

    :param began_s: time of the repair's begin in seconds since 1970.
    """
    return WriterToken(generation, epoch=_AFTER_EVERY_EPOCH, turn=began_s & _MOST_TURN)
