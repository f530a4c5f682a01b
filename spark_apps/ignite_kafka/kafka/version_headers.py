"""Headers with the version of a record's write, which active-active sources send and sinks store.

Numbers are decimal texts, whatever header_converter is: programs in any language read them. Rank and rule are sent for
caches whose nodes have a rule of their own (docs/active-active.md).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array, Mask
from ..ignite.entry_versions import MOST_CLUSTER, MOST_RANK, NO_ORDER, EntryVersions
from .headers import last_values, same_headers

ORDER = "ignite_kafka.version.order"
CLUSTER = "ignite_kafka.version.cluster"
RANK = "ignite_kafka.version.rank"
RULE = "ignite_kafka.version.rule"
SENDER = "ignite_kafka.version.sender"
"""Id of the source's cluster, from sources with `forward_foreign_changes`; without it, it is that of the version."""
_DIGITS = "^[0-9]{1,18}$"


def version_headers(versions: EntryVersions, rule: str) -> pa.ListArray:
    """Build the headers of N records from their versions.

    :param rule: the rule by which the nodes made ranks; empty: there is none.
    """
    numbers = {ORDER: versions.orders, CLUSTER: versions.clusters, **({RANK: versions.ranks} if rule else {})}
    columns = {name: pa.array(column).cast(pa.string()).cast(pa.binary()) for name, column in numbers.items()}
    if rule:
        columns[RULE] = pa.repeat(pa.scalar(rule.encode(), pa.binary()), len(versions))
    return same_headers(list(columns), list(columns.values()), len(versions))


def read_versions(headers: pa.ListArray) -> tuple[EntryVersions, Mask]:
    """Read the versions of N records from their headers.

    :returns: the versions, with rank 0 for a record without a rule, and a flag for each record: it has a valid one.
        Without, its version has no meaning.
    """
    orders, valid_orders = _numbers(headers, ORDER)
    clusters, valid = _numbers(headers, CLUSTER)
    ranks, valid_ranks = _numbers(headers, RANK)
    unranked = np.array(last_values(headers, RULE)[0].is_null())
    valid &= valid_orders & (clusters > 0) & (clusters <= MOST_CLUSTER)
    valid &= unranked | valid_ranks & (ranks <= MOST_RANK)
    ranks = np.where(valid & ~unranked, ranks, 0)
    return EntryVersions(orders, np.where(valid, clusters, 0).astype(np.int8), ranks), valid


def has_rule(headers: pa.ListArray, rule: str) -> Mask:
    """Return a flag for each of N records: its rank was made by this rule; an empty rule: it has none."""
    rules, _ = last_values(headers, RULE)
    return np.array(rules.is_null() if not rule else pc.fill_null(pc.equal(rules, rule.encode()), False))


def sender_headers(cluster_id: int, count: int) -> pa.ListArray:
    """Build headers with the id of their source's cluster for N records."""
    return same_headers([SENDER], [pa.array([b"%d" % cluster_id] * count, pa.binary())], count)


def read_senders(headers: pa.ListArray) -> Int64Array:
    """Read the ids of the source's clusters of N records; 0 for records without a version."""
    senders, named = _numbers(headers, SENDER)
    writers, valid = _numbers(headers, CLUSTER)
    return np.where(named, senders, np.where(valid, writers, 0))


def _numbers(headers: pa.ListArray, name: str) -> tuple[np.ndarray, Mask]:
    texts, _ = last_values(headers, name)
    valid = pc.fill_null(pc.match_substring_regex(texts, _DIGITS), False)
    numbers = pc.if_else(valid, texts, pa.scalar(str(NO_ORDER).encode(), pa.binary())).cast(pa.string())
    return numbers.cast(pa.int64()).to_numpy(), np.array(valid)
