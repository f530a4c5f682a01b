"""Equality of a record with the record expected for its entry, by meaning: whether `verify` reports a difference.

Equal bytes are equal. Values in JSON are equal if they have equal members. Values with schemas whose bytes differ are
read as the consumers of records read them, and then compared: a class with a new field has another schema, with another
id in a registry, and older records keep the older id.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from typing import Any

import pyarrow as pa

from ..convert.connect_converters import deserializer
from ..convert.json.write_rows import same_json
from ..convert.to_ignite.conversion_rules import SideRules
from ..convert.to_kafka.key_values import python_values
from ..settings.converters import AVRO, JSON, JSON_SCHEMA
from ..settings.source import EAGER, SourceSettings


class Form(Enum):
    """How expected keys or values are given: as the converter's bytes, or as rows of the second decoder."""

    BYTES = "bytes of the converter"
    JSON = "rows as JSON"
    PAYLOAD = "rows as JSON, as the payload beside a schema"


class RecordEquality:
    """Comparison of the values of one topic's records with expected values.

    :param settings: the cache's settings.
    :param form: form of the expected values.
    """

    def __init__(self, settings: SourceSettings, topic: str, form: Form) -> None:
        self._form = form
        self._values = functools.cache(lambda: ValueReader(settings, topic))
        eager = settings.field_nullability_policy == EAGER
        self._restrict = (
            drop_missing_fields if not settings.is_schema_dynamic else drop_newer_fields if eager else _keep_value
        )

    def compare(self, expected: Sequence[Any], records: Sequence[bytes | None]) -> list[bool]:
        """Return whether each of N records has its expected value.

        Fields added to the class after the record was written may be null.

        :param expected: N values of :meth:`.EntryReader.entries`.
        """
        if self._form is not Form.BYTES:
            return [
                is_equal(value, record, self._form, self._restrict)
                for value, record in zip(expected, records, strict=True)
            ]
        equal = [value == record for value, record in zip(expected, records, strict=True)]
        others = [row for row, alike in enumerate(equal) if not alike]
        if others:
            reader = self._values()
            entry_values = reader.read([expected[row] for row in others])
            record_values = reader.read([records[row] for row in others])
            for row, entry, record in zip(others, entry_values, record_values, strict=True):
                equal[row] = None not in (entry, record) and repr(self._restrict(entry, record)) == repr(record)
        return equal

    def describe_differences(self, expected: Any, written: bytes | None) -> list[str]:
        """Describe each differing field of an entry and its record; an empty list if either is no object.

        :param expected: a value of :meth:`.EntryReader.entries`.
        """
        entry = expected
        record = None
        if self._form is Form.BYTES:
            entry, record = (value and value[1] for value in self._values().read([expected, written]))
        elif written is not None:
            with suppress(ValueError):  # a record of another program
                record = json.loads(written, parse_float=Decimal if _has_decimal(expected) else None)
            if self._form is Form.PAYLOAD and isinstance(record, dict):
                record = record.get("payload")
        if not isinstance(entry, dict) or not isinstance(record, dict):
            return []
        names = dict.fromkeys([*entry, *record])
        absent = object()
        return [
            f"{name} is {_format_field(entry, name)} in the entry, {_format_field(record, name)} in the record"
            for name in names
            if not same_json(*(values := (entry.get(name, absent), record.get(name, absent))))
            and repr(values[0]) != repr(values[1])
        ]


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


def choose_form(settings: SourceSettings, side: str) -> Form:
    """Return the form of the expected keys or values.

    :param side: "key" or "value".
    """
    # the row decoder knows neither keys made of fields nor transforms
    is_made_of_fields = side == "key" and settings.record_key
    if getattr(settings, f"{side}_converter") != JSON or is_made_of_fields or settings.transforms:
        return Form.BYTES
    return Form.PAYLOAD if settings.converter_properties(side)["schemas.enable"] == "true" else Form.JSON


def _keep_value(expected: Any, _record: Any) -> Any:
    return expected


def is_equal(
    expected: Any, record: bytes | None, form: Form, restrict: Callable[[Any, Any], Any] = _keep_value
) -> bool:
    """Return whether a record's JSON text has the expected key or value.

    :param restrict: called with the expected value and the record's; returns the expected value without fields that
        the record need not have.
    """
    if record is None:
        return expected is None
    try:
        value = json.loads(record, parse_float=Decimal if _has_decimal(expected) else None)
    except ValueError:  # a record of another program
        return False
    if form is Form.PAYLOAD:
        if not isinstance(value, dict) or value.keys() != {"schema", "payload"}:
            return False
        value = value["payload"]
    return same_json(restrict(expected, value), value)


def _has_decimal(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, Decimal) or any(map(_has_decimal, items))


def _format_field(fields: dict[str, Any], name: str) -> str:
    return repr(fields[name]) if name in fields else "absent"


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
