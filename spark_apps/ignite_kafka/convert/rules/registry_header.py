"""Header of a value in Confluent's wire format: a zero byte, then the schema id in four big-endian bytes.

Source: io.confluent.kafka.serializers.AbstractKafkaSchemaSerDe (MAGIC_BYTE, idSize); a registry has no negative
ids.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Int64Array
from ...ignite.binary.byte_columns import data_of, offsets_of

HEADER_BYTES = 5
_MAGIC = 0


def registry_header(schema_id: int) -> bytes:
    """Return the bytes that precede a value of this schema id."""
    return struct.pack(">bI", _MAGIC, schema_id)


def schema_ids(data: pa.BinaryArray) -> tuple[Int64Array, dict[int, str]]:
    """Return the schema id of each value, -1 without one, and the reasons for values without an id.

    :param data: N values without nulls.
    """
    letters = data_of(data)
    offsets = offsets_of(data).astype(np.int64)
    starts = offsets[:-1] - offsets[0]
    long_enough = np.asarray(pc.greater_equal(pc.binary_length(data), HEADER_BYTES)).astype(bool)
    padded = np.concatenate([letters, np.zeros(HEADER_BYTES, np.uint8)])
    first = padded[starts]
    windows = np.lib.stride_tricks.sliding_window_view(padded, 4)
    ids = windows[np.minimum(starts + 1, len(windows) - 1)].copy().view(">i4").ravel().astype(np.int64)
    right = long_enough & (first == _MAGIC) & (ids >= 0)
    reasons = {}
    for row in np.flatnonzero(~right).tolist():
        if not long_enough[row]:
            reasons[row] = (
                f"{offsets[row + 1] - offsets[row]} bytes, and a value of a schema registry has {HEADER_BYTES} before "
                "its body"
            )
        elif first[row] != _MAGIC:
            reasons[row] = f"the first byte is {first[row]}, and a value of a schema registry begins with {_MAGIC}"
        else:
            reasons[row] = "the schema id is negative"
    return np.where(right, ids, -1), reasons
