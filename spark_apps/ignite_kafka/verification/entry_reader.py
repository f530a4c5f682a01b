"""Computation of the records that a cache's entries should have, for comparison with the topic's."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from typing import Any

from ..common.redaction import in_message
from ..convert import Converters
from ..convert.json.write_rows import json_value, same_json
from ..convert.rules.decimal_scales import declared_scales
from ..convert.to_kafka.bad_entries import ENTRY_ERRORS
from ..convert.to_kafka.selected_fields import SelectedFields
from ..errors import DecodeError
from ..ignite.binary import entry_cuts
from ..ignite.binary.row_values import Document
from ..ignite.cluster import Cluster
from ..ignite.types import type_codes as codes
from ..ignite.types.model import CacheInfo, Page
from ..settings.converters import JSON
from ..settings.source import EAGER, LAZY, SourceSettings
from ..sql import SelectedField, parse_columns
from .value_reader import ValueReader, drop_missing_fields, drop_newer_fields


class Form(Enum):
    """How expected keys or values are given: as the converter's bytes, or as rows of the second decoder."""

    BYTES = "bytes of the converter"
    JSON = "rows as JSON"
    PAYLOAD = "rows as JSON, as the payload beside a schema"


class EntryReader:
    """Computes the expected record key and value of each entry of one cache.

    :param settings: the connector's settings.
    :param decode: decodes keys and values of pages row by row.
    """

    def __init__(
        self,
        settings: SourceSettings,
        topic: str,
        cluster: Cluster,
        info: CacheInfo,
        decode: Callable[..., Iterable[tuple[Any, Any]]],
    ) -> None:
        self._converter = Converters(settings).of(info.name)
        settings = settings.of(info.name)
        self._settings = settings
        self._topic = topic
        self._cluster = cluster
        self._info = info
        self._decode = decode
        self._key_form, self._value_form = (_choose_form(settings, side) for side in ("key", "value"))
        self._selected = parse_columns(settings.select) if settings.select else None
        self._scales_of = SelectedFields(self._selected).of_cache(info) if self._selected else info
        self._values = functools.cache(lambda: ValueReader(settings, topic))
        eager = settings.field_nullability_policy == EAGER
        self._restrict = (
            drop_missing_fields if not settings.is_schema_dynamic else drop_newer_fields if eager else _keep_value
        )

    @property
    def cache(self) -> str:
        """Name of the cache."""
        return self._info.name

    @property
    def by_rows(self) -> bool:
        """Whether expected keys or values come from the row decoder, which shares no code with the converter."""
        return self._key_form is not Form.BYTES or self._value_form is not Form.BYTES

    @property
    def json_keys(self) -> bool:
        """Whether keys are JSON texts without schemas."""
        return self._key_form is Form.JSON

    def entries(self, page: Page) -> list[tuple[bytes, Any]]:
        """Compute the record key and expected value of each entry of a page, for :meth:`compare_values`.

        Entries that transforms drop are left out.

        :raises DecodeError: an entry is broken, or columns and rows make different keys of it.
        :raises TransformFailed: a transform throws an exception for an entry.
        """
        by_rows = self._value_form is not Form.BYTES
        to_convert = _null_values(page, self.cache) if by_rows and not self._settings.record_key else page
        records = self._converter.convert([to_convert], self._info, self._cluster, topic=self._topic, in_order=True)
        for _, error in records.refused:
            raise error
        keys: list[bytes] = records.keys.to_pylist()
        if not by_rows and self._key_form is Form.BYTES:
            return list(zip(keys, records.values.to_pylist(), strict=True))
        rows = [
            (self._to_json(key, "key"), self._to_json(value, "value"))
            for key, value in self._decode([page], self._info, self._cluster)
        ]
        for text, (key, _) in zip(keys, rows, strict=True):
            if self._key_form is not Form.BYTES and not _is_equal(key, text, self._key_form):
                shown = in_message(repr(text.decode(errors="backslashreplace")))
                what = f"the columns make the key {shown} of an entry, the rows {in_message(repr(key))}"
                remedy = "This is a bug: report it with the type of the key."
                raise DecodeError(what, remedy, cache=self.cache, partition=page.partition)
        values = [value for _, value in rows] if by_rows else records.values.to_pylist()
        return list(zip(keys, values, strict=True))

    def can_convert(self, page: Page) -> bool:
        """Return whether the converter can convert all entries of a page, though the row decoder cannot."""
        try:
            return not self._converter.convert(
                [page], self._info, self._cluster, topic=self._topic, in_order=True
            ).refused
        except ENTRY_ERRORS:
            return False

    def compare_values(self, expected: Sequence[Any], records: Sequence[bytes | None]) -> list[bool]:
        """Compare N records with their expected values, and return a flag for each: they are equal.

        Fields added to the class after the record was written may be null.

        :param expected: N values of :meth:`entries`.
        """
        if self._value_form is not Form.BYTES:
            return [
                _is_equal(value, record, self._value_form, self._restrict)
                for value, record in zip(expected, records, strict=True)
            ]
        equal = [value == record for value, record in zip(expected, records, strict=True)]
        others = [row for row, is_equal in enumerate(equal) if not is_equal]
        if others:
            reader = self._values()
            entry_values = reader.read([expected[row] for row in others])
            record_values = reader.read([records[row] for row in others])
            for row, entry, record in zip(others, entry_values, record_values, strict=True):
                equal[row] = None not in (entry, record) and repr(self._restrict(entry, record)) == repr(record)
        return equal

    def describe_differences(self, expected: Any, written: bytes | None) -> list[str]:
        """Describe each differing field of an entry and its record; an empty list if either is no object.

        :param expected: a value of :meth:`entries`.
        """
        entry = expected
        record = None
        if self._value_form is Form.BYTES:
            entry, record = (value and value[1] for value in self._values().read([expected, written]))
        elif written is not None:
            with suppress(ValueError):  # a record of another program
                record = json.loads(written, parse_float=Decimal if _has_decimal(expected) else None)
            if self._value_form is Form.PAYLOAD and isinstance(record, dict):
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

    def _to_json(self, value: Any, side: str) -> Any:
        is_key = side == "key"
        if (self._key_form if is_key else self._value_form) is Form.BYTES:
            return None
        scales = declared_scales(
            self._info if is_key else self._scales_of,
            value.type_id if isinstance(value, Document) else None,
            key=is_key,
        )
        forms = (
            self._settings.converter_properties(side).get("decimal.format", self._settings.decimal_format),
            self._settings.enum_policy,
        )
        if self._selected is not None and isinstance(value, Document) and not is_key:
            value = _keep_fields(value, self._selected)
        lazy = self._settings.field_nullability_policy == LAZY
        return json_value(value, *forms, scales, is_key=is_key, omit_nulls=lazy and not is_key)


def _keep_fields(value: Document, selected: Sequence[SelectedField]) -> Document:
    """Keep only the fields of an object that the setting `select` names, ignoring case."""
    by_name = {name.lower(): (name, item) for name, item in value.fields.items()}
    present = [(field, *by_name[field.name.lower()]) for field in selected if field.name.lower() in by_name]
    fields = {field.renamed(name): item for field, name, item in present}
    return replace(value, fields=fields, own=len(fields))


def _format_field(fields: dict[str, Any], name: str) -> str:
    return repr(fields[name]) if name in fields else "absent"


def _choose_form(settings: SourceSettings, side: str) -> Form:
    # the row decoder knows neither keys made of fields nor transforms
    is_made_of_fields = side == "key" and settings.record_key
    if getattr(settings, f"{side}_converter") != JSON or is_made_of_fields or settings.transforms:
        return Form.BYTES
    return Form.PAYLOAD if settings.converter_properties(side)["schemas.enable"] == "true" else Form.JSON


def _null_values(page: Page, cache: str) -> Page:
    """Replace all values of a page by null, so that only keys are converted."""
    cuts = entry_cuts(page, cache)
    null = bytes([codes.NULL])
    data = b"".join(bytes(page.data[start:end]) + null for start, end in zip(cuts[:-1:2], cuts[1::2], strict=True))
    return Page(page.partition, page.rows, memoryview(data), True)


def _keep_value(expected: Any, _record: Any) -> Any:
    return expected


def _is_equal(
    expected: Any, record: bytes | None, form: Form, restrict: Callable[[Any, Any], Any] = _keep_value
) -> bool:
    """Return whether a record's JSON text equals the expected value.

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
