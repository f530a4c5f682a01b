"""Targets: conversions of whole columns of one Connect schema to one Ignite type.

A nested schema has a target of its own. A target is made once for each schema and type; it converts whole columns, and
explains a single wrong value as a column with one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.arrow_layout import list_starts, null_mask
from ...common.redaction import in_message
from ...ignite.binary.encode import encoded
from ...ignite.binary.encode_sparse import Schemas
from ...ignite.binary.object_layout import optional
from ...ignite.types.type_table import object_field
from ..connect.schema import ConnectSchema
from ..ignite_types.row_encoder import ENCODED
from ..json.values import Refused, null_error
from .connect_casts import Cast, Converted, kind_of
from .connect_numbers import none_wrong

_MOST_SHOWN = 40


class Target(Protocol):
    """Conversion of columns of one Connect schema to one Ignite type."""

    def convert(self, array: pa.Array) -> Converted:
        """Convert a column to the Ignite type, and mark the values that do not fit; nulls always fit."""

    def explain(self, array: pa.Array) -> None:
        """Raise Refused, with field and value, if the only value of a column does not fit."""


@dataclass(frozen=True)
class ScalarTarget:
    """Conversion of scalar values to an Ignite type.

    :param ignite_type: name of the type in Ignite, for messages.
    """

    schema: ConnectSchema
    cast: Cast
    ignite_type: str

    def convert(self, array: pa.Array) -> Converted:
        """Convert a column by the cast."""
        return self.cast(array)

    def explain(self, array: pa.Array) -> None:
        """Raise Refused, with value, schema and Ignite type, if the only value does not fit."""
        if self.cast(array).wrong[0]:
            what = f"is {_show(array)} ({label(self.schema)}), which {self.ignite_type} does not hold"
            raise Refused(f"{what}: cast it where the topic is written, or declare a type that holds it", of_value=True)


@dataclass(frozen=True)
class RefusingTarget:
    """Conversion that refuses every value, because its schema cannot be stored; nulls are accepted."""

    name: str
    reason: str

    def convert(self, array: pa.Array) -> Converted:
        """Return nulls, and a mask in which all other values are wrong."""
        return Converted(pa.nulls(len(array)), pa.field(self.name, pa.null()), np.array(array.is_valid()))

    def explain(self, array: pa.Array) -> None:
        """Raise Refused with the reason why the schema cannot be stored."""
        raise Refused(self.reason, of_value=True)


@dataclass(frozen=True)
class Member:
    """A field of a binary type, with the conversion of its values from a STRUCT's field.

    :param place: index of the STRUCT's field; None: the STRUCT does not have the field, which is null then.
    :param optional: objects do not have the field if it is null.
    """

    name: str
    place: int | None
    target: Target | None
    nullable: bool = True
    optional: bool = False


@dataclass(frozen=True)
class ObjectTarget:
    """Conversion of STRUCTs to objects of a binary type.

    :param members: the fields to write, in order.
    :param unwritten: fields of the STRUCT that the type does not accept: index, name and refusing target.
    """

    name: str
    type_name: str
    members: tuple[Member, ...]
    unwritten: tuple[tuple[int, str, Target], ...] = ()

    def convert(self, array: pa.StructArray) -> Converted:
        """Convert a column of STRUCTs to a column of the binary type's objects."""
        missing = null_mask(array)
        # the fields of a null struct are undefined
        columns = (
            array.flatten() if missing is not None else [array.field(place) for place in range(array.type.num_fields)]
        )
        wrong = none_wrong(array)
        converted: list[Converted] = []
        for member in self.members:
            if member.target is None or member.place is None:
                converted.append(Converted(pa.nulls(len(array)), pa.field(member.name, pa.null()), wrong))
            else:
                converted.append(member.target.convert(columns[member.place]))
                wrong = wrong | converted[-1].wrong
            if not member.nullable and converted[-1].data.null_count:
                wrong = wrong | np.asarray(converted[-1].data.is_null())
        for place, _, target in self.unwritten:
            wrong = wrong | target.convert(columns[place]).wrong
        if missing is not None:
            wrong = wrong & ~np.asarray(missing)
        fields = [
            optional(column.field.with_nullable(True)) if member.optional else column.field.with_nullable(True)
            for member, column in zip(self.members, converted, strict=True)
        ]
        data = pa.StructArray.from_arrays([column.data for column in converted], fields=fields, mask=missing)
        return Converted(data, object_field(self.name, self.type_name, fields), wrong)

    def explain(self, array: pa.StructArray) -> None:
        """Raise Refused for the first field whose value does not fit."""
        columns = array.flatten()
        for place, name, target in self.unwritten:
            _explain(target, columns[place], name)
        for member in self.members:
            column = None if member.place is None else columns[member.place]
            if column is not None and member.target is not None:
                _explain(member.target, column, member.name)
            if not member.nullable and (column is None or column.null_count):
                raise null_error().within(member.name)


@dataclass(frozen=True)
class ListTarget:
    """Conversion of ARRAYs to a collection or an array.

    :param field: field of the list; only the type of its elements is replaced.
    :param generic: elements are written with their own types, as in an Object[]; a java.sql.Date is midnight in this
        time zone.
    :param empty: field of an element, for an array whose elements have no target, so that an empty one can be written.
    :param schemas: schemas of objects among generic elements (:func:`~ignite_kafka.ignite.binary.encode.encoded`).
    """

    field: pa.Field
    element: Target
    generic: str | None = None
    nullable: bool = True
    empty: pa.Field | None = None
    schemas: Schemas | None = None

    def convert(self, array: pa.ListArray) -> Converted:
        """Convert a column of ARRAYs, element by element."""
        elements = array.flatten()
        inner = self.element.convert(elements)
        bad = inner.wrong
        if not self.nullable and inner.data.null_count:
            bad = bad | np.asarray(inner.data.is_null())
        data = inner.data
        field = inner.field
        if self.empty is not None:
            data = pa.nulls(len(data), self.empty.type)
            field = self.empty
        elif self.generic is not None:
            data, field = _encode_elements(inner, bad, self.generic, self.schemas)
        field = field.with_name("item")
        mask = null_mask(array)
        lists = pa.ListArray.from_arrays(list_starts(array), data, type=pa.list_(field), mask=mask)
        return Converted(lists, self.field.with_type(lists.type), _mark_rows(array, bad))

    def explain(self, array: pa.ListArray) -> None:
        """Raise Refused for the first element that does not fit."""
        elements = array.flatten()
        for at in range(len(elements)):
            element = elements.slice(at, 1)
            _explain(self.element, element, f"[{at}]")
            if not self.nullable and element.null_count:
                raise null_error().within(f"[{at}]")


@dataclass(frozen=True)
class MapTarget:
    """Conversion of MAPs to Ignite maps.

    :param schemas: schemas of objects used as keys (:func:`~ignite_kafka.ignite.binary.encode.encoded`).
    """

    name: str
    key: Target
    value: Target
    schemas: Schemas | None = None

    def convert(self, array: pa.MapArray) -> Converted:
        """Convert a column of MAPs, keys and values separately."""
        lists = _cast_to_lists(array)
        pairs = lists.flatten()
        key = self.key.convert(pairs.field(0))
        value = self.value.convert(pairs.field(1))
        wrong = key.wrong | value.wrong
        # only wrong keys are null; Arrow ends the process for a null key
        if key.data.null_count or pa.types.is_null(key.data.type):
            key = Converted(encoded(key.data, key.field, schemas=self.schemas), ENCODED, key.wrong)
        starts = list_starts(lists)
        if array.null_count:
            starts = pa.array(np.asarray(starts), mask=np.append(np.asarray(array.is_null()), False))
        kind = pa.map_(key.field.with_name("key").with_nullable(False), value.field.with_name("value"))
        maps = pa.MapArray.from_arrays(starts, key.data, value.data, kind)
        return Converted(maps, pa.field(self.name, maps.type), _mark_rows(lists, wrong))

    def explain(self, array: pa.MapArray) -> None:
        """Raise Refused for the first key or value that does not fit."""
        pairs = _cast_to_lists(array).flatten()
        for at in range(len(pairs)):
            # keys of other types may be beyond Python's range
            name = pairs.field(0)[at].as_py() if pa.types.is_string(pairs.field(0).type) else f"[{at}]"
            _explain(self.key, pairs.field(0).slice(at, 1), name)
            _explain(self.value, pairs.field(1).slice(at, 1), name)


def label(schema: ConnectSchema) -> str:
    """Return a schema's type as messages name it, such as INT32, Decimal or STRUCT org.example.Person."""
    kind = kind_of(schema)
    if kind != schema.type:
        return (schema.name or kind).rpartition(".")[2]
    return schema.type.name + (f" {schema.name}" if schema.name else "")


def reasons(target: Target, array: pa.Array, rows: Sequence[int]) -> list[tuple[int, str]]:
    """Return, for each row with a wrong value, the reason why the value does not fit."""
    explained = []
    for row in rows:
        try:
            target.explain(array.slice(row, 1))
        except Refused as error:
            explained.append((row, error.reason))
        else:
            raise AssertionError("a wrong value has no reason")
    return explained


def _show(array: pa.Array) -> str:
    """Return a scalar as text for messages, by Arrow, because a date may be beyond Python's range."""
    kind = array.type
    if pa.types.is_binary(kind):
        return f"{len(array[0].as_py())} bytes"
    text = str(array.cast(pa.string())[0].as_py())
    return in_message(text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}...")


def _explain(target: Target, array: pa.Array, name: str) -> None:
    if array.null_count:
        return
    try:
        target.explain(array)
    except Refused as error:
        raise error.within(name) from None


def _encode_elements(inner: Converted, bad: Mask, zone: str, schemas: Schemas | None) -> tuple[pa.Array, pa.Field]:
    """Encode each element with its own type; wrong elements, which cannot be encoded, become null."""
    data = inner.data
    if bad.any():
        data = data.take(pa.array(np.arange(len(data)), mask=bad))
    return encoded(data, inner.field, date_zone=zone, schemas=schemas), ENCODED


def _mark_rows(array: pa.ListArray, bad: Mask) -> Mask:
    """Return a mask of the lists that contain an element marked as bad."""
    wrong = none_wrong(array)
    if bad.any():
        wrong[np.asarray(pc.list_parent_indices(array))[bad]] = True
    return wrong


def _cast_to_lists(array: pa.MapArray) -> pa.ListArray:
    kind = array.type
    return array.cast(pa.list_(pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False)))
