"""Deserialization of record values, to compare values whose bytes differ only in their schema id.

A class with a new field has another schema, with another id in a registry; older records keep the older id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..convert.connect_converters import deserializer
from ..convert.to_ignite.conversion_rules import SideRules
from ..convert.to_kafka.key_values import python_values
from ..settings.converters import AVRO, JSON, JSON_SCHEMA
from ..settings.source import SourceSettings


class ValueReader:
    """Deserializes values of one topic, for converters with schemas.

    :param topic: topic of the records.
    """

    def __init__(self, settings: SourceSettings, topic: str) -> None:
        name = settings.value_converter
        self._topic = topic
        rules = SideRules(name, settings.converter_properties("value"))
        self._deserializer = deserializer("value", rules) if name in (AVRO, JSON_SCHEMA, JSON) else None

    def read(self, values: Sequence[bytes | None]) -> list[Any]:
        """Deserialize N values to pairs of schema name and value; None where that is impossible."""
        results: list[Any] = [None] * len(values)
        if self._deserializer is None:
            return results
        rows = [row for row, value in enumerate(values) if value is not None]
        deserialized = self._deserializer.deserialize(pa.array([values[row] for row in rows], pa.binary()), self._topic)
        for part in deserialized.parts:
            schema = part.column.schema
            values_of_part = part.column.data.to_pylist() if schema is None else python_values(part.column.data, schema)
            for row, value in zip(part.rows.tolist(), values_of_part, strict=True):
                results[rows[row]] = (schema and schema.name, value)
        return results


def drop_newer_fields(expected: Any, record: Any) -> Any:
    """Drop null fields of the expected value that the record lacks, as they may be newer than the record.

    The class may have got these fields after the record was written.
    """
    return _restrict(expected, record, nulls_only=True)


def drop_missing_fields(expected: Any, record: Any) -> Any:
    """Drop all fields of the expected value that the record lacks, as its schema may lack them.

    A schema made of the type's first value lacks fields that this value did not have.
    """
    return _restrict(expected, record, nulls_only=False)


def _restrict(expected: Any, record: Any, *, nulls_only: bool) -> Any:
    if isinstance(expected, dict) and isinstance(record, dict):
        kept = {name: item for name, item in expected.items() if name in record or (nulls_only and item is not None)}
        return {name: _restrict(item, record.get(name), nulls_only=nulls_only) for name, item in kept.items()}
    if isinstance(expected, (list, tuple)) and isinstance(record, (list, tuple)) and len(expected) == len(record):
        return type(expected)(
            _restrict(item, item_of_record, nulls_only=nulls_only)
            for item, item_of_record in zip(expected, record, strict=True)
        )
    return expected
