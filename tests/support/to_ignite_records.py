"""Binary types without a cluster, and Kafka records to convert to entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ignite_kafka.convert.connect_converters import deserializer
from ignite_kafka.convert.to_ignite import ConversionRules, Entries, RecordConverter, SideRules
from ignite_kafka.ignite.binary import decode_rows
from ignite_kafka.ignite.schema import merged_type
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, Page, QueryEntity, QueryField, TypeSource
from ignite_kafka.kafka.records import Consumed
from tests.support.ignite_bytes import NULL, Types

record_converter = partial(RecordConverter, deserializers=deserializer)
"""Makes a converter as a sink does."""

TRADE = {
    "id": "java.lang.Long", "symbol": "java.lang.String", "price": "java.lang.Double", "qty": "java.lang.Integer",
    "ts": "java.sql.Timestamp", "note": "java.lang.String",
}  # fmt: skip


class GrowingTypes(Types):
    """Types that accept registrations and merge them as a cluster does, without its check for conflicts."""

    def register(self, kind: BinaryType, *, unless_known: bool = False) -> BinaryType:
        held = self.known.get(kind.type_id)
        if held is not None:
            if unless_known:
                return held
            kind = merged_type(held, kind)
            known = {field.field_id for field in held.fields}
            fields = held.fields + tuple(field for field in kind.fields if field.field_id not in known)
            schemas, values = {**held.schemas, **kind.schemas}, {**held.enum_values, **kind.enum_values}
            kind = replace(held, fields=fields, schemas=schemas, enum_values=values)
        self.known[kind.type_id] = kind
        return kind


def cache_of(fields: Mapping[str, str], *, key: str = "java.lang.Long", value: str = "Trade", scale: int = -1) -> CacheInfo:
    """Return a cache with a query entity of these columns: name to Java class."""
    columns = tuple(QueryField(name, kind, scale=scale) for name, kind in fields.items())
    return CacheInfo("tested", 1, query_entities=(QueryEntity(key, value, fields=columns),))


def rules(key: str = "json", value: str = "json", *, decimal_format: str = "BASE64", **more: Any) -> ConversionRules:
    """Return rules with these converters; without schemas, and JSON's decimals in that form on both sides."""
    properties = {"decimal.format": decimal_format}
    return ConversionRules(SideRules(key, properties), SideRules(value, properties), **more)


def consumed(values: Sequence[bytes | None], keys: Sequence[bytes | None] | None = None) -> Consumed:
    """Return records with these values, and by default the keys 0, 1, 2, ..."""
    given = [str(row).encode() for row in range(len(values))] if keys is None else keys
    return Consumed("topic", 3, pa.array(given, pa.binary()), pa.array(values, pa.binary()), np.arange(len(values)) + 100)


def decoded(entries: Entries, types: TypeSource) -> list[tuple[Any, Any]]:
    """Decode keys and values by the row decoder; a removal is None."""
    data = [
        (key, NULL if value is None else value) for key, value in zip(entries.keys.to_pylist(), entries.values.to_pylist(), strict=True)
    ]
    page = Page(0, len(data), memoryview(b"".join(key + value for key, value in data)), True)
    return list(decode_rows([page], CacheInfo("tested", 1), types))
