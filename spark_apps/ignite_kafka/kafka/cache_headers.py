"""Headers with the name of a record's cache, which tell the records of several caches in one topic apart.

The value is the name in UTF-8, whatever header_converter is: programs in any language read it. Of several headers of
the name, the last one counts, as for all readers of Kafka Connect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Mask
from .headers import Header, joined_headers, last_values, same_headers
from .records import Records


def with_cache_header(records: Records, header: str, cache: str) -> Records:
    """Append the header with the name of their cache to records.

    :param header: name of the header; empty: the records get none.
    """
    if not header or not len(records):
        return records
    names = pa.repeat(pa.scalar(cache.encode(), pa.binary()), len(records))
    added = same_headers([header], [names], len(records))
    return replace(records, headers=joined_headers(records.headers, added))


def is_of_cache(headers: pa.ListArray, header: str, cache: str) -> Mask:
    """Return a flag for each of N records: its header has the name of the cache."""
    values, _ = last_values(headers, header)
    mask: Mask = pc.fill_null(pc.equal(values, cache.encode()), False).to_numpy(zero_copy_only=False)
    return mask


def cache_in(headers: Iterable[Header] | None, header: str) -> str | bytes | None:
    """Return the last value of the header among those of one record; None without one."""
    return next((value for name, value in reversed(list(headers or ())) if name == header), None)
