"""Kafka Connect's transforms and setting select, applied by a sink to the records of a topic.

:class:`.record_converter.RecordConverter` converts the results. Sides that transforms read or change become Connect
columns and pass through the chain; other sides stay bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, RowIndex
from ...common.redaction import in_message
from ...kafka.records import Consumed
from ...settings.converters import JSON
from ...settings.transforms import TransformSettings, touches
from ...sql import SelectedField
from ..connect.columns import ConnectColumn, ConnectPart, Deserialized, Deserializer
from ..ignite_types.entries import BadRecord
from ..json.parser import parsed
from ..json.read_rows import parse, without_leading_zeros
from ..json.values import Refused
from ..rules.failure_stages import Stage
from ..transforms.batch import NO_TIME, BadRow, ConnectBatch, Header, Position
from ..transforms.chain import Step, apply_chain
from ..transforms.json_objects import split_objects
from ..transforms.json_split import split
from ..transforms.json_tokens import without_nulls
from ..transforms.select_fields import ALIAS, SelectFields, select_step
from ..transforms.sides import by_topic
from ..transforms.steps import asks_for_tombstones, reads_headers
from .conversion_rules import ConversionRules, SideRules
from .header_columns import HeaderReader
from .record_sides import ReadSide

Deserializers = Callable[[str, SideRules], Deserializer | None]
_BINARY = pa.binary()
_ANY_OBJECT = pa.struct([("\0", pa.null())])  # with a name that no object has, all members are checked and none is kept


class PlainJson:
    """Deserializer of JSON without schemas, for transforms.

    :param whole: whether values stay whole texts; otherwise objects may be split into members, as transforms accept.
    """

    name = JSON

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Return the JSON texts as values without a schema; a text that is not JSON is bad."""
        if self._whole:
            return _parse_each(data, np.arange(len(data)))
        right = np.flatnonzero(_are_objects(data))
        objects = split(data if right.size == len(data) else data.take(pa.array(right)))
        rows = right[objects.fit]
        if not rows.size:
            return _parse_each(data, np.arange(len(data)))
        part = ConnectPart(rows, split_objects(rows.size, objects).column())
        if rows.size == len(data):
            return Deserialized((part,))
        rest = _parse_each(data, np.setdiff1d(np.arange(len(data)), rows))
        return Deserialized((part, *rest.parts), rest.bad)


def _are_objects(data: pa.BinaryArray) -> Mask:
    """Return a mask of the texts that certainly are valid JSON objects."""
    masks: list[Mask] = []
    for part, array in parsed(data, _ANY_OBJECT, ignore=True):
        masks.append(np.full(part.stop - part.start, array is not None))
    return np.concatenate(masks) if masks else np.zeros(0, bool)


def _parse_each(data: pa.BinaryArray, rows: RowIndex) -> Deserialized:
    """Check JSON texts one by one, and return the valid texts as one column."""
    bad = []
    good = []
    texts = []
    for row in rows.tolist():
        text = data[row].as_py()
        try:
            parse(text)
        except Refused as error:
            bad.append((row, error.reason))
        else:
            good.append(row)
            texts.append(without_leading_zeros(text))
    column = ConnectColumn(without_nulls(pa.array(texts, _BINARY)), None)
    return Deserialized((ConnectPart(np.array(good, np.int64), column),), tuple(bad))


@dataclass(frozen=True)
class Routed:
    """Records of one batch that the transforms have routed to the same topic.

    :param rows: row in the batch of each record, ascending.
    :param consumed: the records; the bytes of the sides in `read` are null.
    :param read: the sides in :attr:`TransformingReader.sides`, as :meth:`.RecordConverter.convert` takes them.
    """

    topic: str
    rows: RowIndex
    consumed: Consumed
    read: Mapping[str, ReadSide]


class TransformingReader:
    """Transforms of a sink, applied to one topic's records. Threads must not share it.

    :param settings: settings of the steps, in the same order.
    :param deserializers: function that returns the deserializer of a side.
    :param select: fields to select after the transforms; empty for all.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        settings: Sequence[TransformSettings],
        rules: ConversionRules,
        deserializers: Deserializers,
        select: tuple[SelectedField, ...] = (),
    ) -> None:
        self._steps = (*steps, *([select_step(select)] if select else ()))
        self._classes = {transform.alias: transform.type for transform in settings}
        self._header_key = rules.key_policy == "header"
        sides = {"key": rules.key, "value": rules.value, "header": rules.header}
        uses = {
            "key": touches(settings, "key"),
            "value": bool(select) or touches(settings, "value") or asks_for_tombstones(settings),
            "header": self._header_key or reads_headers(settings),
        }
        self._readers = {
            side: deserializers(side, sides[side]) or PlainJson(whole=side == "header")
            for side, used in uses.items()
            if used
        }
        headers = self._readers.get("header")
        self._key_header = rules.key_fields[0] if self._header_key else ""
        self._headers = headers and HeaderReader(headers, self._key_header)

    @property
    def sides(self) -> frozenset[str]:
        """Which of keys, values and headers are deserialized, because transforms or cache keys use them."""
        return frozenset(self._readers)

    @property
    def with_headers(self) -> bool:
        """Whether transforms or cache keys need the records' headers."""
        return "header" in self._readers

    def read(self, consumed: Consumed) -> tuple[list[Routed], list[BadRecord]]:
        """Apply the transforms to a batch; records that a transform drops are left out.

        :returns: the records by their topics after the transforms, and the bad records by row.
        """
        bad: dict[int, BadRecord] = {}
        keys = self._deserialize("key", consumed.keys, consumed.topic, Stage.KEY, bad)
        values = self._deserialize("value", consumed.values, consumed.topic, Stage.VALUE, bad)
        headers = self._headers.read(consumed) if self._headers else [(np.arange(len(consumed)), ())]
        by_name: dict[str, list[ConnectBatch]] = {}
        for batch in _make_batches(consumed, keys, values, headers, sorted(bad)):
            result = apply_chain(batch, self._steps)
            for bad_row in result.bad:
                bad.setdefault(bad_row.row, self._refuse(bad_row))
            for done in result.batches:
                for topic, part in by_topic(done):
                    by_name.setdefault(topic, []).append(part)
        routed = [self._route(topic, consumed.partition, parts) for topic, parts in by_name.items()]
        return routed, [bad[row] for row in sorted(bad)]

    def _refuse(self, bad_row: BadRow) -> BadRecord:
        if bad_row.transform == ALIAS:
            where = {"setting": "select", "transform_class": f"{SelectFields.__module__}.{SelectFields.__name__}"}
            return BadRecord(bad_row.row, Stage.TRANSFORMATION, in_message(bad_row.reason), where)
        what = f"transform {bad_row.transform} throws {bad_row.exception}: {in_message(bad_row.reason)}"
        where = {
            "transform": bad_row.transform,
            "transform_class": self._classes[bad_row.transform],
            "exception": bad_row.exception,
        }
        return BadRecord(bad_row.row, Stage.TRANSFORMATION, what, where)

    def _deserialize(
        self, side: str, data: pa.BinaryArray, topic: str, stage: Stage, bad: dict[int, BadRecord]
    ) -> list[ConnectPart]:
        """Deserialize keys or values for the transforms; if no transform uses them, return a column of their bytes."""
        reader = self._readers.get(side)
        rows = np.flatnonzero(np.asarray(data.is_valid()))
        if reader is None:
            return [ConnectPart(np.arange(len(data)), ConnectColumn(data, None))]
        whole = rows.size == len(data)
        deserialized = reader.deserialize(data if whole else data.take(pa.array(rows)), topic)
        for row, why in deserialized.bad:
            bad.setdefault(int(rows[row]), BadRecord(int(rows[row]), stage, why))
        parts = [ConnectPart(rows[part.rows], part.column) for part in deserialized.parts if part.rows.size]
        if not whole:
            nulls = np.setdiff1d(np.arange(len(data)), rows)
            parts.append(ConnectPart(nulls, ConnectColumn(pa.nulls(nulls.size, _BINARY), None)))
        return parts

    def _route(self, topic: str, partition: int, batches: Sequence[ConnectBatch]) -> Routed:
        """Return all records routed to one topic, in their order."""
        rows = np.concatenate([batch.rows for batch in batches])
        order = np.argsort(rows)
        places: RowIndex = np.empty(rows.size, np.int64)  # place of each record in the order of rows
        places[order] = np.arange(rows.size)
        data: dict[str, pa.BinaryArray] = {}
        read: dict[str, ReadSide] = {}
        for side in ("key", "value"):
            columns = [getattr(batch, side) for batch in batches]
            if side in self._readers:
                data[side] = pa.nulls(rows.size, _BINARY)
                read[side] = _join_side(batches, [Header("", column) for column in columns], places)
            else:
                data[side] = pa.concat_arrays([column.data for column in columns]).take(pa.array(order))
        if self._header_key:
            read["header"] = _join_side(
                batches, [_find_last(batch.headers, self._key_header) for batch in batches], places
            )
        offsets = np.concatenate([batch.position.offsets for batch in batches if batch.position is not None])[order]
        return Routed(topic, rows[order], Consumed(topic, partition, data["key"], data["value"], offsets), read)


def _find_last(headers: Sequence[Header], name: str) -> Header | None:
    return next((header for header in reversed(headers) if header.name == name), None)


def _join_side(batches: Sequence[ConnectBatch], columns: Sequence[Header | None], places: RowIndex) -> ReadSide:
    """Join the keys, values or one header of several batches.

    :param columns: values of each batch; None: the batch's records do not have the header.
    :param places: place in the result of each record, batch by batch.
    """
    valid = np.zeros(places.size, bool)
    present = np.zeros(places.size, bool)
    parts: list[ConnectPart] = []
    bad: list[tuple[int, str]] = []
    end = 0
    for batch, header in zip(batches, columns, strict=True):
        rows = places[end : end + len(batch)]
        end += len(batch)
        if header is None:
            continue
        present[rows] = True
        data = header.column.data
        if data.null_count:
            rows = rows[np.asarray(data.is_valid())]
            data = data.drop_null()
        valid[rows] = True
        if header.unread:
            bad += zip(rows.tolist(), data.to_pylist(), strict=True)
        elif rows.size:
            parts.append(ConnectPart(rows, replace(header.column, data=data)))
    return ReadSide(Deserialized(tuple(parts), tuple(sorted(bad))), valid, present)


def _make_batches(
    consumed: Consumed,
    keys: Sequence[ConnectPart],
    values: Sequence[ConnectPart],
    headers: Sequence[tuple[RowIndex, tuple[Header, ...]]],
    bad: Sequence[int],
) -> Iterable[ConnectBatch]:
    """Yield batches of the good records: each has one key schema, one value schema and equal headers."""
    count = len(consumed)
    good = np.ones(count, bool)
    good[list(bad)] = False
    of_key, key_at = _locate(keys, count)
    of_value, value_at = _locate(values, count)
    of_headers, header_at = _locate(
        [ConnectPart(rows, ConnectColumn(pa.nulls(rows.size), None)) for rows, _ in headers], count
    )
    form = (of_key * (len(values) + 1) + of_value) * (len(headers) + 1) + of_headers
    times = np.full(count, NO_TIME, np.int64) if consumed.times_ms is None else consumed.times_ms
    for number in np.unique(form[good]).tolist():
        rows = np.flatnonzero(good & (form == number))
        first = int(rows[0])
        at = header_at[rows]
        yield ConnectBatch(
            rows,
            _take(keys[of_key[first]].column, key_at[rows]),
            _take(values[of_value[first]].column, value_at[rows]),
            pa.repeat(pa.scalar(consumed.topic), rows.size),
            times[rows],
            tuple(replace(header, column=_take(header.column, at)) for header in headers[of_headers[first]][1]),
            Position(np.full(rows.size, consumed.partition, np.int32), consumed.offsets[rows]),
        )


def _locate(parts: Sequence[ConnectPart], count: int) -> tuple[RowIndex, RowIndex]:
    """Return the number of the column that each row is in, and its place there."""
    part_of = np.zeros(count, np.int64)
    place = np.zeros(count, np.int64)
    for number, part in enumerate(parts):
        part_of[part.rows], place[part.rows] = number, np.arange(part.rows.size)
    return part_of, place


def _take(column: ConnectColumn, rows: RowIndex) -> ConnectColumn:
    if rows.size == len(column.data) and np.array_equal(rows, np.arange(rows.size)):
        return column
    return replace(column, data=column.data.take(pa.array(rows)))
