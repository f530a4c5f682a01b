"""Computation of the records that a cache's entries should have, for comparison with the topic's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..common.redaction import in_message
from ..convert import Converters
from ..convert.json.write_rows import json_value
from ..convert.rules.decimal_scales import declared_scales
from ..convert.to_kafka.bad_entries import ENTRY_ERRORS
from ..convert.to_kafka.selected_fields import SelectedFields
from ..errors import DecodeError
from ..ignite.binary import entry_cuts
from ..ignite.binary.row_values import Document
from ..ignite.cluster import Cluster
from ..ignite.types import type_codes as codes
from ..ignite.types.model import CacheInfo, Page
from ..settings.source import LAZY, SourceSettings
from ..sql import SelectedField, parse_columns
from .record_equality import Form, RecordEquality, choose_form, is_equal


class EntryReader:
    """Computes the expected record key and value of each entry of one cache.

    :param settings: the connector's settings.
    :param decode: decodes keys and values of pages row by row.
    :ivar equality: compares expected values with those of records.
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
        self._key_form, self._value_form = (choose_form(settings, side) for side in ("key", "value"))
        self.equality = RecordEquality(settings, topic, self._value_form)
        self._selected = parse_columns(settings.select) if settings.select else None
        self._scales_of = SelectedFields(self._selected).of_cache(info) if self._selected else info

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
        """Return the record key and the expected value of each entry of a page, for :attr:`equality`.

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
            if self._key_form is not Form.BYTES and not is_equal(key, text, self._key_form):
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


def _null_values(page: Page, cache: str) -> Page:
    """Replace all values of a page by null, so that only keys are converted."""
    cuts = entry_cuts(page, cache)
    null = bytes([codes.NULL])
    data = b"".join(bytes(page.data[start:end]) + null for start, end in zip(cuts[:-1:2], cuts[1::2], strict=True))
    return Page(page.partition, page.rows, memoryview(data), True)
