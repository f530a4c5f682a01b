"""Connect schemas of decoded Ignite columns: each row's schema, found column by column.

Rows of one column have several schemas if objects differ in fields or nulls, decimals in scales, or elements in types.
The schema of a key depends only on the key, so its bytes are the same in every batch, task and run. The schema of a
null or an empty list in a value may also depend on other values of its field. Python code runs once for each distinct
schema of a batch, not for each row.

Source: the reference's table of types (docs/types.md) and its settings isSchemaDynamic and fieldNullabilityPolicy.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.arrow_layout import list_sizes, null_mask, union_layout
from ...errors import UnknownBinaryType, UnsupportedType
from ...ignite.binary.field_order import ORDER, orders_of
from ...ignite.binary.java_classes import metadata
from ...ignite.types.model import BinaryField, TypeSource
from ...ignite.types.type_table import TYPE_NAME, mark_of
from ...java.hash_code import java_hash
from ..connect.schema import ConnectField, ConnectSchema, ConnectType, decimal
from ..rules.decimal_scales import is_decimal, scale_of, scale_of_text
from .declared_schemas import UNDEFINED, schema_of_code, simple_schema

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowSchemas:
    """Connect schema of each of a column's N values: `schemas[ids[row]]`; id 0 means null."""

    ids: Ids
    schemas: Sequence[ConnectSchema]


@dataclass(frozen=True)
class SchemaRules:
    """Options for the Connect schemas of entries' values.

    :param whole: objects have all fields of their decoded columns, even if null (EAGER, and keys under every policy).
    :param neighbours: a null may have the schema of other values of its field in the batch; not in keys.
    """

    types: TypeSource
    whole: bool = False
    neighbours: bool = True


_NO_SCHEMA = UNDEFINED  # schemas[0] of every column: never used for a value


def row_schemas(array: pa.Array, field: pa.Field, rules: SchemaRules, path: str = "") -> RowSchemas:
    """Return the Connect schema of each value in a column.

    :param field: the column's field with its marks (ignite/types/type_table.py).
    :param path: name of the field for errors.
    :raises UnsupportedType: the elements of a list or map have several schemas, which Kafka Connect does not allow.
    """
    if pa.types.is_dictionary(array.type):
        array, field = array.dictionary_decode(), field.with_type(array.type.value_type)
    kind = array.type
    simple = simple_schema(field)
    if simple is not None:
        return RowSchemas(_valid(array), (_NO_SCHEMA, simple))
    if pa.types.is_null(kind):
        return RowSchemas(np.zeros(len(array), np.int64), (_NO_SCHEMA,))
    if is_decimal(field):
        return _decimals(array, field)
    if pa.types.is_struct(kind):
        return _structs(array, field, rules, path)
    if pa.types.is_union(kind):
        return _unions(array, field, rules, path)
    if pa.types.is_map(kind):
        return _maps(array, field, rules, path)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(array, field, rules, path)
    raise UnsupportedType(
        f"Kafka Connect has no type for a column of Arrow type {kind}", "Leave the field out.", field=path or field.name
    )


def _valid(array: pa.Array) -> Ids:
    return np.asarray(array.is_valid()).astype(np.int64) if array.null_count else _all(1, len(array))


@functools.lru_cache(maxsize=64)
def _all(number: int, count: int) -> Ids:
    """Return the same number for all rows, as a read-only array that needs no memory."""
    return np.broadcast_to(np.int64(number), count)


def _decimals(array: pa.Array, field: pa.Field) -> RowSchemas:
    """Return the schemas of decimals: with the declared scale, else with each value's own scale."""
    declared = scale_of(field)
    if declared is None and pa.types.is_decimal(array.type):
        declared = array.type.scale
    if declared is not None:
        return RowSchemas(_valid(array), (_NO_SCHEMA, decimal(declared, optional=True)))
    texts = array.dictionary_encode()
    scales = [scale_of_text(text) for text in texts.dictionary.to_pylist()]
    distinct = list(dict.fromkeys(scales))
    number = np.array([0, *(distinct.index(scale) + 1 for scale in scales)], np.int64)
    ids = number[np.asarray(texts.indices.fill_null(-1)).astype(np.int64) + 1]
    return RowSchemas(ids, (_NO_SCHEMA, *(decimal(scale, optional=True) for scale in distinct)))


def _unions(array: pa.UnionArray, field: pa.Field, rules: SchemaRules, path: str) -> RowSchemas:
    kind_of, offset = union_layout(array)
    ids = np.zeros(len(array), np.int64)
    schemas = [_NO_SCHEMA]
    for at, code in enumerate(array.type.type_codes):
        rows = np.flatnonzero(kind_of == code)
        child = row_schemas(array.field(at), field.type.field(at), rules, path)
        child_ids = child.ids[offset[rows]]
        ids[rows] = np.where(child_ids > 0, child_ids + len(schemas) - 1, 0)
        schemas += child.schemas[1:]
    return _number_schemas(ids, schemas[1:])


def _structs(array: pa.StructArray, field: pa.Field, rules: SchemaRules, path: str) -> RowSchemas:
    fields = list(field.type)
    ordered = bool(fields) and mark_of(fields[-1]) == ORDER
    shown = fields[:-1] if ordered else fields
    children = [
        row_schemas(array.field(at), child, rules, f"{path}.{child.name}" if path else child.name)
        for at, child in enumerate(shown)
    ]
    orders, order_of = (
        orders_of(array.field(len(shown))) if ordered else ([list(range(len(shown)))], _all(0, len(array)))
    )
    name = (field.metadata or {}).get(TYPE_NAME)
    objects = _ObjectSchemas(str(name, "utf-8") if name else None, shown, children, rules)
    numbers, combinations = _number_combinations([order_of, *objects.ids()], len(array))
    schemas = [objects.of(orders[int(row[0])], row[1:]) for row in combinations]
    return _number_schemas(np.where(_valid(array) > 0, numbers + 1, 0), schemas)


def _number_schemas(ids: Ids, schemas: Sequence[ConnectSchema]) -> RowSchemas:
    """Return each row's schema, with equal schemas under one id.

    :param ids: number of each row's schema in `schemas`, counted from 1; 0 means null.
    """
    place: dict[ConnectSchema, int] = {}
    number = np.array([0, *(place.setdefault(schema, len(place) + 1) for schema in schemas)], np.int64)
    return RowSchemas(number[ids], (_NO_SCHEMA, *place))


def _number_combinations(columns: Sequence[Ids], count: int) -> tuple[Ids, npt.NDArray[np.int64]]:
    """Number the distinct combinations of several columns' values; return each row's number, and the combinations.

    Constant columns take almost no time.
    """
    if not count:
        return np.zeros(0, np.int64), np.zeros((0, len(columns)), np.int64)
    varying = [at for at, column in enumerate(columns) if column.strides[0] and (column != column[0]).any()]
    if not varying:
        return _all(0, count), np.array([[column[0] for column in columns]], np.int64)
    numbers = np.zeros(count, np.int64)
    for at in varying:
        column = columns[at]
        numbers = np.unique(numbers * (int(column.max()) + 1) + column, return_inverse=True)[1].ravel()
    _, first = np.unique(numbers, return_index=True)
    return numbers, np.stack([column[first] for column in columns], axis=1)


@dataclass(frozen=True)
class _ObjectSchemas:
    """Schemas of the objects in one column, which may differ in fields and nulls."""

    type_name: str | None
    fields: Sequence[pa.Field]
    children: Sequence[RowSchemas]
    rules: SchemaRules

    def ids(self) -> list[Ids]:
        """Return the schema ids of each field; a null shares its field's id where both have the same schema.

        A null gets the id of its field's only other schema if it has the same schema, so that there is no further
        combination.
        """
        columns = []
        for at, child in enumerate(self.children):
            alike = len(child.schemas) == 2 and self._schema(at, 0) == child.schemas[1]
            columns.append(_all(1, len(child.ids)) if alike else child.ids)
        return columns

    def of(self, order: Sequence[int], ids: Sequence[int]) -> ConnectSchema:
        """Return the schema of objects that have the fields in `order`, given each field's schema id."""
        fields = []
        for at in order:
            schema = self._schema(at, int(ids[at]))
            if schema is not None:
                fields.append(ConnectField(self.fields[at].name, schema))
        return ConnectSchema(ConnectType.STRUCT, True, self.type_name, fields=tuple(fields))

    def _schema(self, at: int, number: int) -> ConnectSchema | None:
        """Return a field's schema; None for a null field that the schema omits."""
        if number:
            return self.children[at].schemas[number]
        if not self.rules.whole:
            return None
        others = self.children[at].schemas[1:]
        if self.rules.neighbours and len(others) == 1:
            return others[0]
        return self._declared(self.fields[at])

    def _declared(self, field: pa.Field) -> ConnectSchema:
        """Return a null field's schema from the binary metadata; UNDEFINED if the field holds objects."""
        scale = scale_of(field)
        if is_decimal(field) and scale is not None:
            return decimal(scale, optional=True)
        binary = self._metadata(field.name)
        if binary is None:
            return UNDEFINED
        return schema_of_code(binary.type_code, field) or UNDEFINED

    def _metadata(self, name: str) -> BinaryField | None:
        if self.type_name is None:
            return None
        try:
            kind = metadata(self.rules.types, java_hash(self.type_name.lower()))
        except UnknownBinaryType:
            return None
        return next((field for field in kind.fields if field.name == name), None)


def _lists(array: pa.Array, field: pa.Field, rules: SchemaRules, path: str) -> RowSchemas:
    elements = row_schemas(array.flatten(), field.type.value_field, rules, f"{path}[]")
    ids, schemas = _content(array, elements, field.type.value_field, rules, path)
    array_schemas = [ConnectSchema(ConnectType.ARRAY, True, value_schema=schema) for schema in schemas]
    return _number_schemas(np.where(_valid(array) > 0, ids + 1, 0), array_schemas)


def _maps(array: pa.MapArray, field: pa.Field, rules: SchemaRules, path: str) -> RowSchemas:
    entries = pa.ListArray.from_arrays(
        pa.array(np.asarray(array.offsets)),
        pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"]),
        mask=null_mask(array),
    )
    flat = entries.flatten()
    keys = row_schemas(flat.field(0), field.type.key_field, rules, f"{path}{{key}}")
    values = row_schemas(flat.field(1), field.type.item_field, rules, f"{path}{{}}")
    key_ids, key_schemas = _content(entries, keys, field.type.key_field, rules, f"{path}{{key}}")
    value_ids, value_schemas = _content(entries, values, field.type.item_field, rules, f"{path}{{}}")
    numbers, combinations = _number_combinations([key_ids, value_ids], len(array))
    map_schemas = [
        ConnectSchema(
            ConnectType.MAP,
            True,
            key_schema=key_schemas[int(key)].as_optional(False),
            value_schema=value_schemas[int(value)],
        )
        for key, value in combinations
    ]
    return _number_schemas(np.where(_valid(array) > 0, numbers + 1, 0), map_schemas)


def _content(
    lists: pa.Array, elements: RowSchemas, element: pa.Field, rules: SchemaRules, path: str
) -> tuple[Ids, list[ConnectSchema]]:
    """Return the index of each list's element schema, and these schemas."""
    count = len(lists)
    parent = np.repeat(np.arange(count), list_sizes(lists))
    pairs = np.unique(np.stack([parent, elements.ids], axis=1)[elements.ids > 0], axis=0)
    distinct = np.bincount(pairs[:, 0], minlength=count) if pairs.size else np.zeros(count, np.int64)
    number = np.full(count, -1, np.int64)
    number[pairs[:, 0]] = pairs[:, 1]
    schemas = list(elements.schemas[1:])
    number = np.where(number > 0, number - 1, -1)
    for row in np.flatnonzero(distinct > 1).tolist():
        several = [elements.schemas[int(schema_id)] for schema_id in pairs[pairs[:, 0] == row, 1]]
        schemas.append(_merge(several, path))
        number[row] = len(schemas) - 1
    if (number < 0).any():
        schemas.append(_unknown_content(elements, element, rules))
        number[number < 0] = len(schemas) - 1
    return number, schemas


def _unknown_content(elements: RowSchemas, element: pa.Field, rules: SchemaRules) -> ConnectSchema:
    """Return the element schema for lists that are empty or hold only nulls."""
    if not rules.neighbours:
        return UNDEFINED
    if len(elements.schemas) == 2:
        return elements.schemas[1]
    return simple_schema(element) or UNDEFINED


def _merge(schemas: Sequence[ConnectSchema], path: str) -> ConnectSchema:
    """Merge the schemas of a list's elements into one, as Connect requires.

    Objects of one type may differ in fields, or in the order of fields. If a null or an empty list leaves a schema
    open, in any depth, the other elements decide.
    """
    distinct = list(dict.fromkeys(schema for schema in schemas if schema.as_optional() != UNDEFINED))
    if len(distinct) <= 1:
        return distinct[0] if distinct else schemas[0]
    first = distinct[0]
    alike = len({(schema.type, schema.name) for schema in distinct}) == 1
    if alike and first.type is ConnectType.STRUCT:
        return _merge_objects(distinct, path)
    if alike and first.type in (ConnectType.ARRAY, ConnectType.MAP):
        inner = [_merge([schema.value_schema for schema in distinct if schema.value_schema], f"{path}[]")]
        keys = [schema.key_schema for schema in distinct if schema.key_schema]
        inner += [_merge(keys, f"{path}{{key}}").as_optional(False)] if keys else []
        return replace(first, value_schema=inner[0], key_schema=inner[1] if keys else None)
    shown = " and ".join(
        dict.fromkeys(f"{schema.name or schema.type.upper()}{dict(schema.parameters) or ''}" for schema in distinct)
    )
    what = (
        f"field {path.rstrip('[]{}') or '(whole)'} holds elements of {shown}, and an array or map of Kafka Connect has "
        "one schema"
    )
    raise UnsupportedType(what, "Use converter json without schemas, or ignite-binary.", field=path)


def _merge_objects(schemas: Sequence[ConnectSchema], path: str) -> ConnectSchema:
    fields: dict[str, ConnectSchema] = {}
    for schema in schemas:
        for field in schema.fields:
            earlier = fields.get(field.name)
            fields[field.name] = (
                field.schema
                if earlier is None or earlier == field.schema
                else _merge([earlier, field.schema], f"{path}.{field.name}")
            )
    return replace(schemas[0], fields=tuple(ConnectField(name, schema) for name, schema in sorted(fields.items())))
