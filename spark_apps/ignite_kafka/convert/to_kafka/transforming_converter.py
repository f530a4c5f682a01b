"""Conversion of a source's entries to records through Kafka Connect's transforms.

The steps are decoded columns, Connect columns, transforms, and the converters' bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Int64Array, RowIndex
from ...common.redaction import in_message
from ...errors import IgniteKafkaError, SettingsError, TransformFailed, UnsupportedType
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import CacheInfo, Page, TypeSource, TypeUse
from ...kafka.headers import same_headers
from ...kafka.records import KeyType, Records, concat_present, gather, take_rows
from ...settings.converters import SIMPLE, STRING
from ...settings.transforms import TransformSettings, touches
from ..connect.columns import ConnectColumn, ConnectPart, Serializer
from ..rules.failure_stages import Stage
from ..transforms.batch import NO_TIME, BadRow, ConnectBatch
from ..transforms.chain import Step, apply_chain
from ..transforms.sides import by_topic
from ..transforms.steps import routes_each
from .connect_side import ConnectSide
from .converter import SideContext, naming_cache, writing
from .entry_converter import DecodedGroup, EntryConverter
from .type_uses import uses_of

_REMEDY = "Correct the entry or the transform; to skip such entries set conversion_error_policy to DEAD_LETTER."


@dataclass(frozen=True)
class Chain:
    """Transforms of a cache, with the serializer of the headers that they add.

    :param settings: settings of the steps, in the same order.
    :param headers: serializer of header values.
    :param topic_of: function that returns the topic of a cache's records before the first transform.
    """

    steps: tuple[Step, ...]
    settings: tuple[TransformSettings, ...]
    headers: Serializer
    topic_of: Callable[[str], str]

    def class_of(self, alias: str) -> str:
        """Return the Java class or Python function of a transform, given by alias."""
        return next((transform.type for transform in self.settings if transform.alias == alias), "")


@dataclass
class _Output:
    """Records converted so far, not yet in the order of their entries."""

    keys: list[pa.Array] = field(default_factory=list)
    values: list[pa.Array] = field(default_factory=list)
    headers: list[pa.ListArray] = field(default_factory=list)
    times: list[Int64Array] = field(default_factory=list)
    rows: list[RowIndex] = field(default_factory=list)
    topics: list[pa.StringArray] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)
    kinds: set[KeyKind] = field(default_factory=set)
    key_types: set[KeyType] = field(default_factory=set)
    uses: set[TypeUse] = field(default_factory=set)


class TransformingConverter:
    """Converter of entries to records that applies transforms in between.

    A side that no transform reads or changes is converted by the converter without transforms, and record keys can be
    converted back. The exception is a chain that routes each record: then the converters write each record for its
    topic.

    :param plain: converter without transforms; neither side is ignite-binary.
    :param key: converter of keys that transforms read or change; `value` likewise.
    """

    def __init__(self, plain: EntryConverter, key: ConnectSide, value: ConnectSide, chain: Chain) -> None:
        self._plain = plain
        self._key = key
        self._value = value
        self._chain = chain
        self._routes_each = routes_each(chain.settings)
        self._touched = {side: self._routes_each or touches(chain.settings, side) for side in ("key", "value")}

    @property
    def key_name(self) -> str:
        """Name of the key converter in settings."""
        return self._plain.key_name

    @property
    def of_keys(self) -> EntryConverter | None:
        """Converter for turning record keys back; None if transforms may change keys."""
        return None if self._touched["key"] else self._plain

    def component(self, stage: Stage) -> type:
        """Return the class of the key converter for stage KEY, otherwise that of the value converter."""
        return self._plain.component(stage)

    def check(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Check the types of keys or values that no transform touches; raise UnsupportedType."""
        self._plain.check_sides(self._untouched, cache, types, topic)

    def register(self, cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Register the declared schemas of keys or values that no transform touches.

        See :meth:`.converter.Converter.register`.
        """
        self._plain.register_sides(self._untouched, cache, types, topic)

    @property
    def _untouched(self) -> tuple[str, ...]:
        return tuple(side for side, touched in self._touched.items() if not touched)

    def convert(
        self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, topic: str = "", in_order: bool = False
    ) -> Records:
        """Convert entries to records in their order; entries dropped by transforms are left out.

        `refused` has the entries for which a transform throws an exception.

        :raises DecodeError: an entry's bytes are broken.
        :raises UnsupportedType: Kafka Connect or the converter has no form for a value.
        :raises SettingsError: a transform gives a record a topic that differs from the plan's.
        """
        context = self._plain.context(cache, types, topic)
        output = _Output()
        for decoded in self._plain.decoded(pages, cache, types):
            with naming_cache(cache):
                self._convert(decoded, context, output)
        rows = np.concatenate([np.zeros(0, np.int64), *output.rows])
        times = np.concatenate([np.zeros(0, np.int64), *output.times])
        headers = concat_present(output.headers)
        records = Records(
            gather(output.keys),
            gather(output.values),
            key_kinds=frozenset(output.kinds),
            key_types=frozenset(output.key_types),
            headers=headers if headers is not None and headers.null_count < len(headers) else None,
            times_ms=np.maximum(times, 0) if (times != NO_TIME).any() else None,
            uses=frozenset(output.uses),
            rows=rows,
            refused=tuple((bad.row, self._error(bad)) for bad in sorted(output.bad, key=lambda bad: bad.row)),
            topics=pa.concat_arrays([pa.array([], pa.string()), *output.topics]) if self._routes_each else None,
        )
        return records if np.array_equal(rows, np.sort(rows)) else take_rows(records, np.argsort(rows))

    def _convert(self, decoded: DecodedGroup, context: SideContext, output: _Output) -> None:
        """Convert a group's entries, and add the records to the output."""
        group = decoded.group
        count = len(decoded.group.rows)
        plain_key, plain_value = self._plain_bytes(decoded, context, output)
        keys = (
            _placeholders(count) if plain_key is not None else self._key.columns(decoded.key, decoded.key_type, context)
        )
        removed = pa.types.is_null(group.value.type)
        nothing = removed or plain_value is not None
        of_values = self._plain.of_values(context)
        values = (
            _placeholders(count, present=not removed)
            if nothing
            else self._value.columns(group.value, group.value_type, of_values)
        )
        times = np.where(decoded.times_ms > 0, decoded.times_ms, NO_TIME)
        for rows, key_column, value_column in _share_schemas(keys, values, count):
            topics = pa.repeat(pa.scalar(self._chain.topic_of(context.cache.name)), len(rows))
            batch = ConnectBatch(group.rows[rows], key_column, value_column, topics, times[rows])
            result = apply_chain(batch, self._chain.steps)
            output.bad += result.bad
            for transformed in result.batches:
                if self._routes_each:
                    for topic, part in by_topic(transformed):
                        output.topics.append(part.topics)
                        self._add(part, group.rows, None, None, topic, output)
                elif len(transformed):
                    self._add(transformed, group.rows, plain_key, plain_value, context.topic, output)

    def _plain_bytes(
        self, decoded: DecodedGroup, context: SideContext, output: _Output
    ) -> tuple[pa.Array | None, pa.Array | None]:
        """Return a group's key bytes and value bytes; None where a transform touches them."""
        keys = None
        values = None
        group = decoded.group
        if not self._touched["key"]:
            keys, kinds, key_types = self._plain.keys(decoded, context)
            output.kinds |= kinds
            output.key_types |= key_types
            output.uses.update(uses_of("key", group.key, group.key_type, group.containers[0]))
        if not self._touched["value"]:
            values = self._plain.values(group, context)
            output.uses.update(uses_of("value", group.value, group.value_type, group.containers[1]))
        return keys, values

    def _add(
        self,
        batch: ConnectBatch,
        of_group: RowIndex,
        keys: pa.Array | None,
        values: pa.Array | None,
        topic: str,
        output: _Output,
    ) -> None:
        """Serialize a transformed batch, and add the records to the output."""
        if topic:
            self._check_topics(batch, topic)
        at = pa.array(np.searchsorted(of_group, batch.rows))
        output.keys.append(self._key.serialize(batch.key, topic) if keys is None else keys.take(at))
        output.values.append(self._value.serialize(batch.value, topic) if values is None else values.take(at))
        with writing():
            written = [_written(self._chain.headers, header.column, topic) for header in batch.headers]
        output.headers.append(same_headers([header.name for header in batch.headers], written, len(batch)))
        output.times.append(batch.times_ms)
        output.rows.append(batch.rows)

    def _check_topics(self, batch: ConnectBatch, topic: str) -> None:
        other = batch.topics.filter(pc.not_equal(batch.topics, topic))
        if len(other):
            what = (
                f"a transform gives a record topic {other[0].as_py()!r}, and all records of a cache go to one topic, "
                f"{topic!r}"
            )
            raise SettingsError(
                what, "Route at the sink, or name topics by RegexRouter, topic_names or overrides", setting="transforms"
            )

    def _error(self, bad: BadRow) -> IgniteKafkaError:
        return failed(bad, self._chain.class_of(bad.transform), _REMEDY)

    def key_forms(
        self, keys: Sequence[bytes], kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, *, topic: str = ""
    ) -> list[list[bytes]]:
        """Return for each record key all Ignite keys that it may stand for; none if transforms may change keys."""
        if self._touched["key"]:
            return [[] for _ in keys]
        return self._plain.key_forms(keys, kinds, cache, types, topic=topic)


def failed(bad: BadRow, class_name: str, remedy: str) -> TransformFailed:
    """Return the error of a record on which a transform throws an exception."""
    what = f"transform {bad.transform} throws {bad.exception}: {in_message(bad.reason)}"
    return TransformFailed(what, remedy, transform=bad.transform, transform_class=class_name, exception=bad.exception)


def _written(serializer: Serializer, column: ConnectColumn, topic: str) -> pa.BinaryArray:
    """Return the bytes of a header's values.

    JSON texts of values without a schema are written as ``Values.convertToString`` does, with strings unquoted.
    """
    if column.schema is not None or serializer.name not in (SIMPLE, STRING):
        return serializer.serialize(column, topic)
    if column.data.null_count == len(column.data):
        return pa.nulls(len(column.data), pa.binary())
    texts = column.data.to_pylist()
    if serializer.name == STRING and any(text is not None and text[:1] in (b"{", b"[") for text in texts):
        raise UnsupportedType(
            "header converter string has no form for an object or a list", "Use header_converter simple or json."
        )
    return pa.array(
        [json.loads(text).encode() if text is not None and text[:1] == b'"' else text for text in texts], pa.binary()
    )


def _placeholders(count: int, *, present: bool = False) -> list[ConnectPart]:
    """Return a column of placeholders for keys or values that no transform reads.

    The placeholders are null, or texts if there are values, because transforms may ask whether a value is null.
    """
    data = pa.repeat(pa.scalar(b"0", pa.binary()), count) if present else pa.nulls(count, pa.binary())
    return [ConnectPart(np.arange(count), ConnectColumn(data, None))]


def _share_schemas(
    keys: Sequence[ConnectPart], values: Sequence[ConnectPart], count: int
) -> list[tuple[RowIndex, ConnectColumn, ConnectColumn]]:
    """Return the rows for each combination of key schema and value schema, with their columns."""
    if len(keys) == len(values) == 1:
        return [(np.arange(count), keys[0].column, values[0].column)]
    shared = []
    for key in keys:
        for value in values:
            rows, key_at, value_at = np.intersect1d(key.rows, value.rows, assume_unique=True, return_indices=True)
            if rows.size:
                shared.append((rows, _take_rows(key.column, key_at), _take_rows(value.column, value_at)))
    return shared


def _take_rows(column: ConnectColumn, rows: RowIndex) -> ConnectColumn:
    return replace(column, data=column.data.take(pa.array(rows)))
