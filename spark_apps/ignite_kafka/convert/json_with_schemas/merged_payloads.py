"""Groups of JSON records with STRUCT schemas of one name, so that one merged schema reads each group."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, RowIndex
from ..connect.merged_schemas import MergedSchema, has_fields, merge
from ..connect.schema import ConnectSchema

_BEGIN = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"schema"[ \t\r\n]*:[ \t\r\n]*')
_MIDDLE = re.compile(rb',[ \t\r\n]*"payload"[ \t\r\n]*:')
_END = b"}"


@dataclass(frozen=True)
class PayloadGroup:
    """Records whose STRUCT schemas have the same name.

    :param rows: rows of the records, ascending. :param payloads: JSON text of each record's payload.
    :param schemas: distinct schemas in the order of their first records.
    :param numbers: index in `schemas` of each record's schema.
    """

    rows: RowIndex
    payloads: pa.BinaryArray
    schemas: Sequence[ConnectSchema]
    numbers: RowIndex

    @property
    def several(self) -> bool:
        """Whether the group's records have several schemas."""
        return len(self.schemas) > 1

    def merge(self) -> MergedSchema | None:
        """Return the merged schema of the group, with all fields; None if its schemas contradict each other."""
        return merge(self.schemas)

    def misfits(self, merged: MergedSchema, values: pa.Array, places: RowIndex) -> Mask:
        """Return a mask of the values that their own schema would read differently (:meth:`.MergedSchema.misfits`)."""
        return merged.misfits(values, self.numbers[places], len(self.schemas))

    def take(self, places: RowIndex) -> PayloadGroup:
        """Return a group with only the records at some places (ascending), and with their schemas."""
        distinct, first, numbers = np.unique(self.numbers[places], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        schemas = [self.schemas[number] for number in distinct[order].tolist()]
        return PayloadGroup(self.rows[places], self.payloads.take(pa.array(places)), schemas, rank[numbers])


def payloads_by_name(
    rows: RowIndex, texts: pa.BinaryArray, schema_of: Callable[[str], ConnectSchema | None]
) -> tuple[list[PayloadGroup], RowIndex, RowIndex]:
    """Group records by the name of their STRUCT schema.

    :param schema_of: function that returns the schema for a text, or None.
    :returns: the groups, the rows without a STRUCT, and the rows of another layout, whose schema is unknown.
    """
    groups: dict[str | None, _Group] = {}
    groups_of: dict[bytes, tuple[_Group, int] | None] = {}
    others = []
    unknown = []
    for row, text in zip(rows.tolist(), texts.to_pylist(), strict=True):
        begin = _BEGIN.match(text)
        middle = _MIDDLE.search(text)
        if begin is None or middle is None or not text.endswith(_END):
            unknown.append(row)
            continue
        # if a member of the schema itself is named payload, the text is cut within the schema, and describes no schema
        head = text[begin.end() : middle.start()]
        if head not in groups_of:
            groups_of[head] = _group_of(groups, head, schema_of)
        entry = groups_of[head]
        if entry is None:
            others.append(row)
        else:
            group, number = entry
            group.rows.append(row)
            group.payloads.append(text[middle.end() : -len(_END)])
            group.numbers.append(number)
    return [group.whole() for group in groups.values()], np.array(others, np.int64), np.array(unknown, np.int64)


def _group_of(
    groups: dict[str | None, _Group], head: bytes, schema_of: Callable[[str], ConnectSchema | None]
) -> tuple[_Group, int] | None:
    try:
        schema = schema_of(head.decode())
    except UnicodeDecodeError:
        return None
    if schema is None or not has_fields(schema):
        return None
    group = groups.setdefault(schema.name, _Group([], [], [], []))
    group.schemas.append(schema)
    return group, len(group.schemas) - 1


@dataclass
class _Group:
    """A group of records whose rows are still being collected."""

    rows: list[int]
    payloads: list[bytes]
    schemas: list[ConnectSchema]
    numbers: list[int]

    def whole(self) -> PayloadGroup:
        numbers = np.array(self.numbers, np.int64)
        return PayloadGroup(np.array(self.rows, np.int64), pa.array(self.payloads, pa.binary()), self.schemas, numbers)
