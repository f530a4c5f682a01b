"""Headers with the version of a record's write, which active-active sources send and sinks store.

Both are decimal texts, whatever header_converter is: programs in any language read them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array, Mask
from ..ignite.entry_versions import MOST_CLUSTER, NO_ORDER, EntryVersions
from .headers import last_values, same_headers

ORDER = "ignite_kafka.version.order"
CLUSTER = "ignite_kafka.version.cluster"
SENDER = "ignite_kafka.version.sender"
"""Id of the source's cluster, from sources with `forward_foreign_changes`; without it, it is that of the version."""
_DIGITS = "^[0-9]{1,18}$"


def version_headers(versions: EntryVersions) -> pa.ListArray:
    """Build the headers of N records from their versions."""
    columns = [pa.array(column).cast(pa.string()).cast(pa.binary()) for column in (versions.orders, versions.clusters)]
    return same_headers([ORDER, CLUSTER], columns, len(versions))


def read_versions(headers: pa.ListArray) -> tuple[EntryVersions, Mask]:
    """Read the versions of N records from their headers.

    :returns: the versions, and a flag for each record: it has a valid one. Without, its version has no meaning.
    """
    orders, valid_orders = _numbers(headers, ORDER)
    clusters, valid = _numbers(headers, CLUSTER)
    valid &= valid_orders & (clusters > 0) & (clusters <= MOST_CLUSTER)
    return EntryVersions(orders, np.where(valid, clusters, 0).astype(np.int8)), valid


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
