"""Records of a topic through Kafka Connect's transforms and setting select, ready for :class:`.record_converter.RecordConverter`.

The sides that transforms read or change become Connect columns, pass the chain, and are given on as references: the
bytes of a transformed record name its place in the columns, and :class:`References` is the deserializer that finds it
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...common.redaction import in_message
from ...kafka.headers import same_headers
from ...kafka.records import Consumed
from ...settings.converters import JSON
from ...settings.transforms import TransformSettings, touches
from ...sql import SelectedField
from ..connect.columns import ConnectColumn, ConnectPart, Deserialized, Deserializer
from ..ignite_types.entries import BadRecord
from ..json.parser import parsed
from ..json.read_rows import parse, without_leading_zeros
from ..json.values import Refused
from ..rules.stage import Stage
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

Deserializers = Callable[[str, SideRules], Deserializer | None]
_BINARY = pa.binary()
_ANY_OBJECT = pa.struct([("\0", pa.null())])  # a name that no object has: all members are checked, none is kept


class References:
    """Reads bytes that name places in columns."""

    name = "references"

    def __init__(self) -> None:
        self._columns: list[ConnectColumn] = []
        self._unread: set[int] = set()

    def clear(self) -> None:
        """Forget the columns of the batch before."""
        self._columns = []
        self._unread = set()

    def add(self, column: ConnectColumn, *, unread: bool = False) -> pa.BinaryArray:
        """Eight bytes for each value of a column; null for null.

        :param unread: the column has reasons why values cannot be read.
        """
        number = len(self._columns)
        count = len(column.data)
        self._columns.append(column)
        if unread:
            self._unread.add(number)
        places = (np.int64(number) << 32) + np.arange(count)
        offsets = np.arange(count + 1, dtype=np.int32) * 8
        made = pa.Array.from_buffers(_BINARY, count, [None, pa.py_buffer(offsets), pa.py_buffer(places.tobytes())])
        return pc.if_else(column.data.is_valid(), made, pa.scalar(None, _BINARY)) if column.data.null_count else made

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """The values at these places."""
        places = np.frombuffer(b"".join(data.to_pylist()), np.int64)
        numbers = places >> 32
        rows = places & 0xFFFFFFFF
        parts: list[ConnectPart] = []
        bad: list[tuple[int, str]] = []
        for number in np.unique(numbers).tolist():
            mine = np.flatnonzero(numbers == number)
            column = self._columns[number]
            values = column.data.take(pa.array(rows[mine]))
            if number in self._unread:
                bad += zip(mine.tolist(), values.to_pylist(), strict=True)
            else:
                parts.append(ConnectPart(mine, replace(column, data=values)))
        return Deserialized(tuple(parts), tuple(sorted(bad)))


class PlainJson:
    """Reads JSON texts as values without a schema.

    :param whole: values are whole texts; otherwise objects may be split into members, which transforms accept.
    """

    name = JSON

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """The texts themselves; one that is not JSON is bad, and the text null is null."""
        if self._whole:
            return _one_by_one(data, np.arange(len(data)))
        right = np.flatnonzero(_are_objects(data))
        found = split(data if right.size == len(data) else data.take(pa.array(right)))
        rows = right[found.fit]
        if not rows.size:
            return _one_by_one(data, np.arange(len(data)))
        part = ConnectPart(rows, split_objects(rows.size, found).column())
        if rows.size == len(data):
            return Deserialized((part,))
        rest = _one_by_one(data, np.setdiff1d(np.arange(len(data)), rows))
        return Deserialized((part, *rest.parts), rest.bad)


def _are_objects(data: pa.BinaryArray) -> Mask:
    """Mask of texts that are certainly valid JSON objects."""
    found: list[Mask] = []
    for part, array in parsed(data, _ANY_OBJECT, ignore=True):
        found.append(np.full(part.stop - part.start, array is not None))
    return np.concatenate(found) if found else np.zeros(0, bool)


def _one_by_one(data: pa.BinaryArray, rows: RowIndex) -> Deserialized:
    """The texts of some rows as one column."""
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
    """Records of one batch that have one topic after the transforms.

    :param rows: rows of the batch, one for each record, rising.
    :param consumed: the records, for a converter made with :attr:`TransformingReader.deserializers`.
    """

    topic: str
    rows: RowIndex
    consumed: Consumed


class TransformingReader:
    """Applies the transforms of one topic's records. For one thread.

    :param settings: of the steps, in the same order.
    :param deserializers: makes the deserializer of a side.
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
        self._classes = {one.alias: one.type for one in settings}
        self._makes = deserializers
        self._header_key = rules.key_policy == "header"
        sides = {"key": rules.key, "value": rules.value, "header": rules.header}
        wanted = {
            "key": touches(settings, "key"),
            "value": bool(select) or touches(settings, "value") or asks_for_tombstones(settings),
            "header": self._header_key or reads_headers(settings),
        }
        self._readers = {
            side: deserializers(side, sides[side]) or PlainJson(whole=side == "header")
            for side, used in wanted.items()
            if used
        }
        headers = self._readers.get("header")
        self._headers = headers and HeaderReader(headers, rules.key_fields[0] if self._header_key else "")
        self._references: Mapping[str, References] = {side: References() for side in self._readers}

    def deserializers(self, side: str, rules: SideRules) -> Deserializer | None:
        """The deserializer of a side of :attr:`Routed.consumed`: of references, or of the bytes of a side that no transform touches."""
        found = self._references.get(side)
        return found if found is not None else self._makes(side, rules)

    @property
    def with_headers(self) -> bool:
        """Whether it needs the records' headers."""
        return "header" in self._readers

    def read(self, consumed: Consumed) -> tuple[list[Routed], list[BadRecord]]:
        """The records of a batch by their topics after the transforms, without those that were dropped, and the bad ones by row.

        References are valid until the next call.
        """
        for references in self._references.values():
            references.clear()
        bad: dict[int, BadRecord] = {}
        keys = self._side("key", consumed.keys, consumed.topic, Stage.KEY, bad)
        values = self._side("value", consumed.values, consumed.topic, Stage.VALUE, bad)
        headers = self._headers.read(consumed) if self._headers else [(np.arange(len(consumed)), ())]
        made: dict[str, list[tuple[RowIndex, Consumed]]] = {}
        for batch in _batches(consumed, keys, values, headers, sorted(bad)):
            result = apply_chain(batch, self._steps)
            for one in result.bad:
                bad.setdefault(one.row, self._refused(one))
            for done in result.batches:
                for topic, part in by_topic(done):
                    made.setdefault(topic, []).append((part.rows, self._given_on(part, topic, consumed)))
        return [_joined(topic, parts) for topic, parts in made.items()], [bad[row] for row in sorted(bad)]

    def _refused(self, one: BadRow) -> BadRecord:
        if one.transform == ALIAS:
            where = {"setting": "select", "transform_class": f"{SelectFields.__module__}.{SelectFields.__name__}"}
            return BadRecord(one.row, Stage.TRANSFORMATION, in_message(one.reason), where)
        what = f"transform {one.transform} throws {one.exception}: {in_message(one.reason)}"
        where = {
            "transform": one.transform,
            "transform_class": self._classes[one.transform],
            "exception": one.exception,
        }
        return BadRecord(one.row, Stage.TRANSFORMATION, what, where)

    def _side(
        self, side: str, data: pa.BinaryArray, topic: str, stage: Stage, bad: dict[int, BadRecord]
    ) -> list[ConnectPart]:
        """Connect columns of a side; of one that no transform touches a placeholder for each value."""
        reader = self._readers.get(side)
        rows = np.flatnonzero(np.asarray(data.is_valid()))
        if reader is None:
            return [ConnectPart(np.arange(len(data)), ConnectColumn(data, None))]
        whole = rows.size == len(data)
        found = reader.deserialize(data if whole else data.take(pa.array(rows)), topic)
        for row, why in found.bad:
            bad.setdefault(int(rows[row]), BadRecord(int(rows[row]), stage, why))
        parts = [ConnectPart(rows[part.rows], part.column) for part in found.parts if part.rows.size]
        if not whole:
            nulls = np.setdiff1d(np.arange(len(data)), rows)
            parts.append(ConnectPart(nulls, ConnectColumn(pa.nulls(nulls.size, _BINARY), None)))
        return parts

    def _given_on(self, batch: ConnectBatch, topic: str, consumed: Consumed) -> Consumed:
        """The records of a transformed batch, as references where a side is not as it was read."""
        keys = self._references["key"].add(batch.key) if "key" in self._references else batch.key.data
        values = self._references["value"].add(batch.value) if "value" in self._references else batch.value.data
        headers = None
        if self._header_key:
            written = [self._references["header"].add(one.column, unread=one.unread) for one in batch.headers]
            headers = same_headers([one.name for one in batch.headers], written, len(batch))
        assert batch.position is not None
        return Consumed(topic, consumed.partition, keys, values, batch.position.offsets, batch.times_ms, headers)


def _batches(
    consumed: Consumed,
    keys: Sequence[ConnectPart],
    values: Sequence[ConnectPart],
    headers: Sequence[tuple[RowIndex, tuple[Header, ...]]],
    bad: Sequence[int],
) -> Iterable[ConnectBatch]:
    """Batches of the good records, each with one schema of keys, one of values, and the same headers."""
    count = len(consumed)
    good = np.ones(count, bool)
    good[list(bad)] = False
    of_key, key_at = _places(keys, count)
    of_value, value_at = _places(values, count)
    of_headers, header_at = _places(
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
            _taken(keys[of_key[first]].column, key_at[rows]),
            _taken(values[of_value[first]].column, value_at[rows]),
            pa.repeat(pa.scalar(consumed.topic), rows.size),
            times[rows],
            tuple(replace(one, column=_taken(one.column, at)) for one in headers[of_headers[first]][1]),
            Position(np.full(rows.size, consumed.partition, np.int32), consumed.offsets[rows]),
        )


def _places(parts: Sequence[ConnectPart], count: int) -> tuple[RowIndex, RowIndex]:
    """Part of each row, and its place there."""
    part_of = np.zeros(count, np.int64)
    place = np.zeros(count, np.int64)
    for number, part in enumerate(parts):
        part_of[part.rows], place[part.rows] = number, np.arange(part.rows.size)
    return part_of, place


def _taken(column: ConnectColumn, rows: RowIndex) -> ConnectColumn:
    if rows.size == len(column.data) and np.array_equal(rows, np.arange(rows.size)):
        return column
    return replace(column, data=column.data.take(pa.array(rows)))


def _joined(topic: str, parts: Sequence[tuple[RowIndex, Consumed]]) -> Routed:
    """Records of one topic, in their order."""
    rows = np.concatenate([rows for rows, _ in parts])
    order = np.argsort(rows)
    index = pa.array(order)
    made = [one for _, one in parts]
    headers = [one.headers for one in made if one.headers is not None]
    consumed = Consumed(
        topic,
        made[0].partition,
        pa.concat_arrays([one.keys for one in made]).take(index),
        pa.concat_arrays([one.values for one in made]).take(index),
        np.concatenate([one.offsets for one in made])[order],
        headers=pa.concat_arrays(headers).take(index) if headers else None,
    )
    return Routed(topic, rows[order], consumed)
