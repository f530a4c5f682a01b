"""Headers with the version of a record's write, which active-active sources send and sinks store.

Both are decimal texts, whatever header_converter is: programs in any language read them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Mask
from ..ignite.entry_versions import MOST_CLUSTER, NO_ORDER, EntryVersions
from .headers import last_values, same_headers

ORDER = "ignite_kafka.version.order"
CLUSTER = "ignite_kafka.version.cluster"
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


def _numbers(headers: pa.ListArray, name: str) -> tuple[np.ndarray, Mask]:
    texts, _ = last_values(headers, name)
    valid = pc.fill_null(pc.match_substring_regex(texts, _DIGITS), False)
    numbers = pc.if_else(valid, texts, pa.scalar(str(NO_ORDER).encode(), pa.binary())).cast(pa.string())
    return numbers.cast(pa.int64()).to_numpy(), np.array(valid)
