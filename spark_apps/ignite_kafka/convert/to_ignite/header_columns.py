"""Reader of record headers as Connect columns, for transforms.

A header that cannot be read makes a bad record only if it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...common.arrow_layout import list_sizes
from ...kafka.records import Consumed
from ..connect.columns import ConnectColumn, Deserializer
from ..transforms.batch import Header
from .header_keys import KeyHeaderDeserializer, with_remedy

_NULL = pa.scalar(None, pa.binary())


@dataclass(frozen=True)
class HeaderReader:
    """Reader of the headers of a batch of records.

    :param key: name of the header used as key; empty: no header is.
    """

    deserializer: Deserializer
    key: str = ""

    def read(self, consumed: Consumed) -> list[tuple[RowIndex, tuple[Header, ...]]]:
        """Return the headers of all records, grouped by equal names, order and schemas of headers."""
        count = len(consumed)
        if consumed.headers is None:
            return [(np.arange(count), ())]
        sizes = list_sizes(consumed.headers)
        flat = consumed.headers.flatten()
        names = flat.field(0).to_pylist()
        part_of = np.full(len(flat), -1)
        place = np.zeros(len(flat), np.int64)
        parts: list[Header] = []
        for at, part in self._deserialize(flat, consumed.topic):
            part_of[at], place[at] = len(parts), np.arange(at.size)
            parts.append(part)
        forms: dict[tuple[tuple[str, int], ...], list[int]] = {}
        ends = np.cumsum(sizes)
        for row, (start, end) in enumerate(zip((ends - sizes).tolist(), ends.tolist(), strict=True)):
            forms.setdefault(tuple(zip(names[start:end], part_of[start:end].tolist(), strict=True)), []).append(row)
        groups = []
        for form, form_rows in forms.items():
            rows = np.array(form_rows, np.int64)
            first = (ends - sizes)[rows]
            headers = [_take_header(name, parts, number, place[first + at]) for at, (name, number) in enumerate(form)]
            groups.append((rows, tuple(headers)))
        return groups

    def _deserialize(self, flat: pa.StructArray, topic: str) -> Iterator[tuple[RowIndex, Header]]:
        """Yield the deserialized header values by schema, with their places among all headers."""
        has_value: Mask = np.asarray(flat.field(1).is_valid())
        of_key: Mask = np.asarray(pc.equal(flat.field(0), self.key)) & bool(self.key)
        readers = (
            (self.deserializer, has_value & ~of_key),
            (KeyHeaderDeserializer(self.deserializer, self.key), has_value & of_key),
        )
        for reader, mask in readers:
            at = np.flatnonzero(mask)
            deserialized = reader.deserialize(flat.field(1).take(pa.array(at)), topic)
            for part in deserialized.parts:
                yield at[part.rows], Header("", part.column)
            if deserialized.bad:
                reasons = pa.array([with_remedy(why) for _, why in deserialized.bad], pa.string())
                yield at[[row for row, _ in deserialized.bad]], Header("", ConnectColumn(reasons, None), unread=True)


def _take_header(name: str, parts: list[Header], number: int, places: RowIndex) -> Header:
    """Return a header with its values at the given places of a column; all null if `number` is -1."""
    if number < 0:
        return Header(name, ConnectColumn(pa.repeat(_NULL, places.size), None))
    part = parts[number]
    return replace(part, name=name, column=replace(part.column, data=part.column.data.take(pa.array(places))))
