"""Java classes seen in a batch, recorded in the types topic because JSON lacks them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ...ignite.binary import Containers, TypeRef
from ...ignite.types import type_codes as codes
from ...ignite.types.model import TypeUse
from ...ignite.types.type_table import TYPE_NAME, container_class, field_of, java_class
from ...java.hash_code import java_hash

OTHER = "?"
"""Name for values of a class that a sink could not create."""


def uses_of(side: str, values: pa.Array, kind: TypeRef, containers: Containers) -> Iterator[TypeUse]:
    """Yield the Java classes and binary types that occur in the keys or values of some entries.

    Nothing is yielded if all values are null, because metadata does not name the enum of a field.

    :param values: a column of :class:`~ignite_kafka.ignite.binary.EntryGroup`.
    :param containers: containers of the column, see :class:`~ignite_kafka.ignite.binary.EntryGroup`.
    """
    name = kind.name if kind.code == codes.OBJECT else kind.enum
    column = field_of("", values.type, kind.mark)
    named = column if name is None else column.with_metadata({**(column.metadata or {}), TYPE_NAME: name.encode()})
    yield from _within(side, "", named, values, containers)


def _within(side: str, path: str, column: pa.Field, values: pa.Array, containers: Containers) -> Iterator[TypeUse]:
    kind = column.type
    types = pa.types
    if types.is_union(kind):  # values of several types: the path has several classes
        for number in range(kind.num_fields):
            yield from _within(side, path, kind.field(number), values.field(number), containers)
        return
    if values.null_count == len(values):
        return
    name = (column.metadata or {}).get(TYPE_NAME, b"").decode()
    if name:
        yield TypeUse(side, path, name, java_hash(name.lower()))
    elif types.is_list(kind) or types.is_map(kind):
        for name in sorted({container_class(code) for code in containers.get(path, ())} or {OTHER}):
            yield TypeUse(side, path, name)
    else:
        yield TypeUse(side, path, java_class(column) or OTHER)
    if types.is_struct(kind):
        for number, field in enumerate(kind):
            if field.name:  # the last child may be the order of the fields
                yield from _within(
                    side, f"{path}.{field.name}" if path else field.name, field, values.field(number), containers
                )
    elif types.is_list(kind):
        yield from _within(side, f"{path}[]", kind.value_field, values.flatten(), containers)
    elif types.is_map(kind):
        yield from _within(side, f"{path}{{key}}", kind.key_field, values.keys, containers)
        yield from _within(side, f"{path}{{value}}", kind.item_field, values.items, containers)
