"""Record headers in Arrow: a list of names and values per record; null for a record without headers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Message

from ..common.arrays import Int64Array
from ..common.arrow_layout import list_sizes

Header = tuple[str, str | bytes | None]
"""Name and value of a header; from confluent-kafka, values are bytes."""

HEADERS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]))
"""Arrow type of the headers of records, as in Spark's Kafka source with ``includeHeaders``."""
_HEADER = HEADERS.value_type


def headers_of(counts: Int64Array, keys: pa.StringArray, values: pa.BinaryArray) -> pa.ListArray:
    """Build the headers of N records from their counts, and from flat columns of names and values.

    :param counts: N numbers of headers, one per record.
    :param keys: names of all headers, record by record.
    :param values: their values in the same order; null: a header without a value.
    """
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    absent = pa.array(np.asarray(counts) == 0)
    entries = pa.StructArray.from_arrays([keys, values], fields=list(_HEADER))
    return pa.ListArray.from_arrays(pa.array(starts), entries, mask=absent).cast(HEADERS)


def same_headers(names: Sequence[str], values: Sequence[pa.BinaryArray], count: int) -> pa.ListArray:
    """Build the headers of N records that all have the same header names in the same order.

    :param values: N values of each name.
    """
    number = len(names)
    keys = pa.array(names, pa.string()).take(pa.array(np.tile(np.arange(number), count)))
    flat = pa.concat_arrays(values) if number else pa.array([], pa.binary())
    row_by_row = (np.arange(count)[:, None] + count * np.arange(number)[None, :]).ravel()
    return headers_of(np.full(count, number, np.int64), keys, flat.take(pa.array(row_by_row)))


def joined_headers(first: pa.ListArray | None, second: pa.ListArray | None) -> pa.ListArray | None:
    """Append headers to the headers of the same N records; None if no record has any."""
    if first is None or second is None:
        return second if first is None else first
    sizes = list_sizes(first), list_sizes(second)
    record = np.concatenate([np.repeat(np.arange(len(first)), size) for size in sizes])
    flat = pa.concat_arrays([first.flatten(), second.flatten()]).take(pa.array(np.argsort(record, kind="stable")))
    return headers_of((sizes[0] + sizes[1]).astype(np.int64), flat.field(0), flat.field(1))


def pairs(headers: pa.ListArray) -> list[list[Header]]:
    """Return the headers of each record as confluent-kafka expects them."""
    flat = headers.flatten()
    every = list(zip(flat.field(0).to_pylist(), flat.field(1).to_pylist(), strict=True))
    ends = np.cumsum(list_sizes(headers)).tolist()
    return [every[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def from_messages(messages: Sequence[Message]) -> pa.ListArray:
    """Convert the headers of confluent-kafka's messages to Arrow."""
    rows = [list(message.headers() or ()) for message in messages]
    keys = pa.array([key for row in rows for key, _ in row], pa.string())
    values = pa.array([value for row in rows for _, value in row], pa.binary())
    return headers_of(np.array([len(row) for row in rows], np.int64), keys, values)


def header_bytes(headers: pa.ListArray) -> Int64Array:
    """Return the size of each record's headers in bytes, names included."""
    flat = headers.flatten()
    sizes = np.asarray(
        pc.add(pc.binary_length(flat.field(0)), pc.fill_null(pc.binary_length(flat.field(1)), 0))
    ).astype(np.int64)
    ends = np.cumsum(list_sizes(headers))
    total = np.concatenate(([0], np.cumsum(sizes)))
    of_records: Int64Array = (
        total[ends] - total[np.concatenate(([0], ends[:-1]))] if len(headers) else np.zeros(0, np.int64)
    )
    return of_records


def last_values(headers: pa.ListArray, name: str) -> tuple[pa.BinaryArray, np.ndarray]:
    """Return each record's last value of a header, and a mask of the records that have it."""
    flat = headers.flatten()
    of_row = np.repeat(np.arange(len(headers)), list_sizes(headers))
    at = np.flatnonzero(np.asarray(pc.equal(flat.field(0), name)))
    place = np.full(len(headers), -1, np.int64)
    place[of_row[at]] = at  # a later header of the record overwrites an earlier one
    present = place >= 0
    return flat.field(1).take(pa.array(np.where(present, place, 0), mask=~present)) if at.size else pa.nulls(
        len(headers), pa.binary()
    ), present
