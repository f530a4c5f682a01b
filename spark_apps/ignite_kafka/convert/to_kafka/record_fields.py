"""Fields of entries that become a record's key or timestamp, instead of the cache key and the send time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Int64Array
from ...errors import UnsupportedType
from ...ignite.binary import EntryGroup, TypeRef
from ...ignite.types.type_table import mark_of
from ..rules.omitted_nulls import null_rows

_DAY_MS = 86_400_000
_KEY = "key."


@dataclass(frozen=True)
class RecordFields:
    """Fields that settings record_key and record_timestamp_field name.

    :param key: fields for the record's key: fields of the value, or of the key with ``key.`` before their names; empty:
        the entry's key.
    :param timestamp: field of the value with the record's time: a date, a timestamp, or milliseconds as long; empty:
        the time of sending.
    """

    key: tuple[str, ...] = ()
    timestamp: str = ""

    @property
    def of_values(self) -> tuple[str, ...]:
        """Names of the value fields that keys and timestamps of records need."""
        names = *(name for name in self.key if not name.startswith(_KEY)), self.timestamp
        return tuple(name for name in names if name)

    def record_key(self, group: EntryGroup) -> tuple[pa.Array, TypeRef]:
        """Return a group's record keys: the one field, or objects of several fields.

        :raises UnsupportedType: a field is null or missing.
        """
        columns = [_of_key(group, name) if name.startswith(_KEY) else _of_value(group, name) for name in self.key]
        for name, (array, _) in zip(self.key, columns, strict=True):
            if null_rows(array).any():
                raise UnsupportedType(
                    f"field {name}, which is to make the record's key (record_key), is null", _REMEDY, field=name
                )
        if len(columns) == 1:
            array, field = columns[0]
            return array, TypeRef(group.value_type.code, field.name, None, mark_of(field))
        fields = [field for _, field in columns]
        return pa.StructArray.from_arrays([array for array, _ in columns], fields=fields), TypeRef(
            group.value_type.code, "key", None, None
        )

    def has_objects(self, group: EntryGroup) -> bool:
        """Return whether a group's record keys contain objects from the values.

        It raises the errors of :meth:`record_key`.
        """
        self.record_key(group)
        return any(_holds_objects(_of_value(group, name)[0].type) for name in self.key if not name.startswith(_KEY))

    def times_ms(self, group: EntryGroup) -> Int64Array:
        """Return a group's record timestamps in milliseconds since 1970; 0 for removals, sent with the send time.

        :raises UnsupportedType: the field is missing, null, of another type, or not after 1970-01-01.
        """
        if pa.types.is_null(group.value.type):
            return np.zeros(len(group.value), np.int64)
        array, field = _of_value(group, self.timestamp)
        times = _milliseconds(array, field)
        if times is None:
            what = (
                f"field {self.timestamp}, which is to be the record's time (record_timestamp_field), is of type "
                f"{array.type}"
            )
            raise UnsupportedType(what, "Name a date, a timestamp or a long of milliseconds.", field=self.timestamp)
        if times.null_count or pc.any(pc.less_equal(times, 0)).as_py():
            what = (
                f"field {self.timestamp}, which is to be the record's time (record_timestamp_field), is null or not "
                "after 1970-01-01"
            )
            raise UnsupportedType(what, _REMEDY, field=self.timestamp)
        return np.asarray(times)


_REMEDY = "Correct the entry, or name another field; error_handling_policy passes over such entries."


def _holds_objects(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) or any(_holds_objects(kind.field(at).type) for at in range(kind.num_fields))


def _of_key(group: EntryGroup, name: str) -> tuple[pa.Array, pa.Field]:
    return _field(group.key, name.removeprefix(_KEY), "key")


def _of_value(group: EntryGroup, name: str) -> tuple[pa.Array, pa.Field]:
    return _field(group.value, name, "value")


def _field(array: pa.Array, name: str, part: str) -> tuple[pa.Array, pa.Field]:
    """Return a field of objects by its name in any case, as Ignite does."""
    if pa.types.is_struct(array.type):
        for number, field in enumerate(array.type):
            if field.name.lower() == name.lower():
                return array.field(number), field
    names = [field.name for field in array.type] if pa.types.is_struct(array.type) else []
    what = f"the entry's {part} has no field {name}" + (f" (but {', '.join(names)})" if names else ": it is no object")
    raise UnsupportedType(what, "Correct record_key or record_timestamp_field.", field=name)


def _milliseconds(array: pa.Array, field: pa.Field) -> pa.Array | None:
    kind = array.type
    types = pa.types
    if types.is_timestamp(kind):
        return pc.floor_temporal(array, unit="millisecond").cast(pa.timestamp("ms", kind.tz)).cast(pa.int64())
    if types.is_date32(kind):
        return pc.multiply(array.cast(pa.int32()).cast(pa.int64()), _DAY_MS)
    return array if types.is_int64(kind) and not mark_of(field) else None
