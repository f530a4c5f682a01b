"""Cache entries as one table: its schema, and conversion of decoded groups to batches of the schema.

Columns: ``_key`` (a struct where keys are objects); the fields of the values, those of several types unified;
``_value`` where values are no objects; ``_type`` (the value's type name) where the values are of several types. Two
types that have a field of one name share its column where one Arrow type holds both exactly; otherwise the second
type's field has a column ``<field>_<Type>``. So does a field named ``_key``, ``_value`` or ``_type``. Names are
compared without case, as Spark does. Types are in the order of their names, and the fields of a type in the order of
its metadata: no node and no entry decides about the order of columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from ...errors import UnknownBinaryType, UnsupportedType
from ...java.hash_code import java_hash
from ..types import type_codes as codes
from ..types.model import CacheInfo, QueryEntity, QueryField, TypeSource
from ..types.type_table import declared_field, field_of, java_field, spark_field
from .decode import EntryGroup
from .decode_scalars import simple_name
from .unify_types import cast_exactly, unify_fields

KEY = "_key"
VALUE = "_value"
TYPE = "_type"
_OURS = frozenset({KEY, VALUE, TYPE})
_TYPES_METADATA = b"ignite.types"


def entries_schema(cache: CacheInfo, types: TypeSource, groups: Sequence[EntryGroup]) -> pa.Schema:
    """Determine a table schema for all entries of a cache, from its query entities and a decoded sample.

    :raises UnsupportedType: the cache is empty and has no query entity, or its keys are of several kinds that no column
        can hold.
    """
    key: pa.Field | None = None
    columns: dict[str, pa.Field] = {}
    own: dict[str, dict[str, str]] = {}
    for name, key_field, value_field in [*_sampled_kinds(cache, groups), *_declared_kinds(cache, types)]:
        key = key_field if key is None else _join_keys(key, key_field, cache)
        moved = own.setdefault(name, {})
        for field in value_field.type if pa.types.is_struct(value_field.type) else [value_field]:
            _add_column(columns, field, name, moved)
    if key is None:
        raise UnsupportedType(
            "The cache is empty and has no query entity, so its columns are not known",
            "Give a schema",
            cache=cache.name,
        )
    fields = [key, *columns.values()]
    if len(own) > 1:
        fields.append(pa.field(TYPE, pa.string()))
    return pa.schema([spark_field(field) for field in fields], {_TYPES_METADATA: json.dumps(own).encode()})


def is_own(schema: pa.Schema) -> bool:
    """Return whether :func:`entries_schema` made a schema, so that it has the marks of Ignite types."""
    return _TYPES_METADATA in (schema.metadata or {})


def to_batch(group: EntryGroup, schema: pa.Schema) -> pa.RecordBatch:
    """Convert a group of decoded entries to a batch of exactly the table's schema.

    :raises UnsupportedType: a value or field that a column cannot hold, or a type that the schema was not made for;
        names it.
    """
    name = group.value_type.name
    type_names = json.loads((schema.metadata or {}).get(_TYPES_METADATA, b"null"))
    if type_names is not None and name not in type_names:
        raise UnsupportedType(
            f"Values of type {name} are not in the schema, which has {', '.join(type_names)}", _REMEDY, value_type=name
        )
    moved = type_names[name] if type_names else {}
    arrays: dict[str, pa.Array] = {KEY: group.key}
    names = {column.lower(): column for column in schema.names}
    for field, array in _fields(group):
        column = moved.get(field) or names.get(field.lower())
        if column is not None and (field == VALUE or column not in _OURS):
            arrays[column] = array
        elif array.null_count < len(array):
            raise UnsupportedType(
                f"Field {field} of {name} is not in the schema", _REMEDY, field=field, value_type=name
            )
    size = len(group.value)
    if TYPE in schema.names:
        arrays[TYPE] = pa.repeat(pa.scalar(name, pa.string()), size)
    columns = [
        cast_exactly(arrays[field.name], field.type, field.name) if field.name in arrays else pa.nulls(size, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


_REMEDY = "Take the schema from more rows (sample_rows), give the cache a query entity, or copy it as JSON"
_Kind = tuple[str, pa.Field, pa.Field]


def _fields(group: EntryGroup) -> list[tuple[str, pa.Array]]:
    if not pa.types.is_struct(group.value.type):
        return [(VALUE, group.value)]
    return [(field.name, group.value.field(index)) for index, field in enumerate(group.value.type)]


def _sampled_kinds(cache: CacheInfo, groups: Sequence[EntryGroup]) -> list[_Kind]:
    scales = {
        field.name.lower(): field for entity in cache.query_entities for field in entity.fields if not field.is_key
    }
    samples = []
    for group in sorted(groups, key=_kind_name):  # in an order that the entries of the sample do not decide
        value = field_of(VALUE, group.value.type, group.value_type.mark)
        if pa.types.is_struct(value.type):
            value = value.with_type(pa.struct([_refine(field, scales.get(field.name.lower())) for field in value.type]))
        samples.append((group.value_type.name, field_of(KEY, group.key.type, group.key_type.mark), value))
    return samples


def _kind_name(group: EntryGroup) -> tuple[bool, str, str]:
    return group.value_type.code != codes.OBJECT, group.value_type.name, group.key_type.name


def _refine(field: pa.Field, declared: QueryField | None) -> pa.Field:
    """Use a field's declared type where the sample has no value, and the declared scale of a BigDecimal."""
    if declared is None:
        return field
    java = java_field(field.name, declared.java_type, declared.scale)
    if pa.types.is_null(field.type) or (
        pa.types.is_decimal(java.type) and declared.java_type == "java.math.BigDecimal"
    ):
        return java
    return field


def _declared_kinds(cache: CacheInfo, types: TypeSource) -> list[_Kind]:
    """Return types of entries that the query entities declare, as the sample may lack them."""
    return [
        (_shown_name(entity.value_type, types), _entity_field(KEY, entity, types), _entity_field(VALUE, entity, types))
        for entity in cache.query_entities
    ]  # fmt: skip


def _shown_name(type_name: str, types: TypeSource) -> str:
    """Return the name that decoded groups of entries have for a declared value type."""
    simple = java_field("", type_name)
    if not pa.types.is_null(simple.type):
        return simple_type_name(type_name)
    try:
        return types.binary_type(java_hash(type_name.lower())).name
    except UnknownBinaryType:
        return type_name


def simple_type_name(java_type: str) -> str:
    """Translate a scalar Java class to its name in the type table."""
    boxes = {
        "java.lang.Integer": "int",
        "java.lang.Character": "char",
        "java.math.BigDecimal": "BigDecimal",
        "[B": "byte[]",
    }
    if java_type in boxes:
        return boxes[java_type]
    name = java_type.rpartition(".")[2]
    return name.lower() if java_type.startswith("java.lang.") and name != "String" else name


def _entity_field(column: str, entity: QueryEntity, types: TypeSource) -> pa.Field:
    java_type = entity.key_type if column == KEY else entity.value_type
    simple = java_field(column, java_type)
    if not pa.types.is_null(simple.type):
        return simple
    declared = {field.name.lower(): field for field in entity.fields if field.is_key == (column == KEY)}
    try:
        binary = types.binary_type(java_hash(java_type.lower()))
    except UnknownBinaryType:
        return pa.field(
            column, pa.struct([java_field(field.name, field.java_type, field.scale) for field in declared.values()])
        )
    arrow = [
        _refine(_metadata_field(field.name, field.type_code), declared.get(field.name.lower()))
        for field in binary.fields
    ]
    return pa.field(column, pa.struct(arrow))


def _metadata_field(name: str, code: int) -> pa.Field:
    return pa.field(name, pa.null()) if code == codes.DECIMAL else declared_field(name, code)


def _join_keys(first: pa.Field, second: pa.Field, cache: CacheInfo) -> pa.Field:
    joined = unify_fields(first, second)
    if joined is None:
        what = f"Keys are of kinds that no column unites: {first.type} and {second.type}"
        raise UnsupportedType(what, "Copy it as JSON", cache=cache.name)
    return joined


def _add_column(columns: dict[str, pa.Field], field: pa.Field, type_name: str, moved: dict[str, str]) -> None:
    """Add a type's field to the column of its name, or to a new column if the types do not fit.

    The new column is noted in `moved` (field to column).
    """
    column = moved.get(field.name, field.name)
    before = columns.get(column.lower())
    is_reserved = column.lower() in _OURS and field.name != VALUE
    joined = field if before is None else unify_fields(before, field)
    if not is_reserved and joined is not None:
        columns[column.lower()] = joined
        return
    own = f"{field.name}_{simple_name(type_name)}"
    if own == column or own.lower() in columns:
        raise UnsupportedType(
            f"Field {field.name} of {type_name} has values of several kinds", "Copy it as JSON", field=field.name
        )
    moved[field.name] = own
    columns[own.lower()] = field.with_name(own)
