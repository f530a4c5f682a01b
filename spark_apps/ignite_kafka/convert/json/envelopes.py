"""Recognition of envelopes of Kafka Connect's JsonConverter, which must not be stored as plain objects.

An envelope is ``{"schema": ..., "payload": ...}`` (``schemas.enable=true``). It is recognized as
`JsonConverter.toConnectData` of Kafka 4.3.1 does: an object with exactly these two members, whose schema is null or
names a type. Read as a plain object, it would become an entry with two fields, schema and payload.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import RowIndex
from ...ignite.types.model import CacheInfo
from .envelope_texts import BEGINS
from .read_rows import parse
from .values import Refused

_MEMBERS = frozenset({"schema", "payload"})


def envelopes(texts: pa.BinaryArray) -> RowIndex:
    """Return the rows of JSON texts that are envelopes of schema and payload."""
    begin = np.flatnonzero(np.asarray(pc.match_substring_regex(texts, BEGINS)))
    return np.array([row for row in begin.tolist() if _is_envelope(texts[row].as_py())], np.int64)


def refusal(side: str) -> str:
    """Return the reason why an envelope, as a key or value without schemas, is a bad record."""
    return (
        "an object of schema and payload, as Kafka Connect's JsonConverter writes by default: set schemas.enable to "
        f"true, or to auto where other records are plain, in {side}_converter_config ({side}.converter.schemas.enable "
        "in a file of Kafka Connect)"
    )


def are_columns(cache: CacheInfo, side: str) -> bool:
    """Return whether a query entity has columns schema and payload, so that such objects are no envelopes."""
    names = (
        {field.name.lower() for field in entity.fields if field.is_key == (side == "key")}
        for entity in cache.query_entities
    )
    return any(columns >= _MEMBERS for columns in names)


def _is_envelope(text: bytes) -> bool:
    try:
        item = parse(text)
    except Refused:
        return False
    if type(item) is not dict or item.keys() != _MEMBERS:
        return False
    schema = item["schema"]
    return schema is None or (isinstance(schema, Mapping) and type(schema.get("type")) is str)
