"""Compare topics with caches in one process, without Spark: every committed record with its entry.

`ignite-kafka verify` compares at any size. Here the last record of each key is in memory, so the two share only the
judgement of single keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Message

from ignite_kafka.ignite.binary import decode_rows
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.types.model import Page
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.verification.entry_comparison import PairDifferences, compare_last_records


def verify(
    plan: TransferPlan,
    cluster: Cluster,
    clients: KafkaClients,
    on_result: Callable[[PairDifferences], None] = lambda _: None,
) -> list[PairDifferences]:
    """Compare each cache of a plan with its topic; call ``on_result`` with each result."""
    results = []
    topics = Topics(clients)
    for cache in plan.caches:
        info = cluster.cache(cache.name)
        messages = read_to_end(clients, topics, cache.topic, list(range(topics.partitions(cache.topic))))
        pages = scan_partitions(cluster, info, range(info.partitions), page_bytes=plan.settings.page_bytes)
        result = compare(plan, cache, cluster, messages, pages)
        results.append(result)
        on_result(result)
    return results


def compare(
    plan: TransferPlan,
    cache: CachePlan,
    cluster: Cluster,
    messages: Iterable[Message],
    pages: Iterable[Page],
    decode: Callable[..., Iterable[tuple[Any, Any]]] = decode_rows,
) -> PairDifferences:
    """Compare the records of a topic with the entries of its cache.

    :param messages: all records, in the order of each partition; read before the pages.
    :param pages: all entries.
    :param decode: decodes keys and values of pages row by row.
    """
    result = PairDifferences(cache.name, cache.topic)
    last: dict[bytes, bytes | None] = {}
    for message in messages:
        key = message.key() or b""
        result.records += 1
        result.repeated += key in last
        last[key] = message.value()
    compare_last_records(result, plan, cache, cluster, last, pages, decode)
    return result
