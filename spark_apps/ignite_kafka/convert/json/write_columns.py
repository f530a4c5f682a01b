"""Writer of Arrow columns as JSON of Kafka's JsonConverter (schemas.enable=false), without Python objects per row.

A column is either *plain*: polars' serializer writes it correctly after a cheap change in Arrow (timestamps to
milliseconds, bytes to base64), or it becomes *text*: one JSON fragment per row, inserted between the plain columns.
Maps, NUMERIC decimals and floats that Java writes with an exponent are text, and so are columns that contain one of
them. Measured against joining all columns with pyarrow: docs/decisions/0003-json-from-columns.md.

Source of the forms: org.apache.kafka.connect.json.JsonConverter.convertToJson (4.3.1) and Jackson, which writes NaN and
Infinity quoted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrow_layout import list_starts, null_mask, union_layout
from ...errors import UnsupportedType
from ...ignite.binary.field_order import ORDER, orders_of
from ...ignite.types.type_table import mark_of
from ...java.jackson_text import as_jackson
from ...kafka.records import gather
from ..rules.connect_decimals import unscaled_bytes
from ..rules.decimal_scales import is_decimal, scale_of
from ..rules.json_bytes import bytes_to_json
from ..rules.json_times import instants_to_json, sql_times_to_json
from ..rules.omitted_nulls import is_regular, joined_members, null_names, null_rows, without_members
from ..rules.polars import pl
from .floats import floats, have_one_form

_BINARY = pa.binary()
_NOTHING = pa.scalar(b"", _BINARY)
_NULL = pa.scalar(b"null", _BINARY)


@dataclass(frozen=True)
class JsonFormat:
    """Options of the JSON written: form of decimals, nulls left out, form of maps.

    :param decimal_format: Connect's ``decimal.format``, BASE64 or NUMERIC.
    :param omit_nulls: leave out null fields of objects; nulls in arrays and maps stay.
    :param maps_by_type: the type of the keys decides the form of a map, even if it is empty; else its entries decide.
    """

    decimal_format: str = "BASE64"
    omit_nulls: bool = False
    maps_by_type: bool = False


def text(array: pa.Array, field: pa.Field, form: JsonFormat) -> pa.Array:
    """Return the JSON text of each value as ``pa.binary()``; ``null`` for null.

    The marks of `field` and of its inner fields are considered.

    :raises UnsupportedType: there is no JSON form for an Arrow type; the message names the field.
    """
    array = _decode(array)
    kind = array.type
    if pa.types.is_integer(kind) and not array.null_count and mark_of(field) != "time":
        return array.cast(pa.string()).cast(_BINARY)
    if pa.types.is_struct(kind):
        return _with_nulls(objects(array, field, form), array)
    easy = plain(array, field, form)
    if easy is not None:
        omitted = set(null_names(array, field)) if form.omit_nulls else ()
        # without {"": and }
        return pc.binary_slice(_encode(pa.StructArray.from_arrays([easy], names=[""]), omitted), 4, -1)
    if pa.types.is_floating(kind):
        return floats(array)
    if is_decimal(field):
        return _with_nulls(array.cast(pa.string()).cast(_BINARY), array)
    if pa.types.is_union(kind):
        return _union(array, field, form)
    if pa.types.is_map(kind):
        return _with_nulls(_maps(array, field, form), array)
    values, starts = _flat_list(array)
    return _with_nulls(_lists(text(values, field.type.value_field, form), starts, b"[", b"]"), array)


def objects(array: pa.StructArray, field: pa.Field, form: JsonFormat) -> pa.Array:
    """Return each struct as a JSON object; the caller must replace null structs."""
    fields = list(field.type)
    if not fields:
        return pa.array([b"{}"] * len(array), _BINARY)
    if _has_orders(fields):
        return _ordered_objects(array, fields, form)
    columns = [_decode(array.field(i)) for i in range(len(fields))]
    easy = [
        None if _cut_by_c(field) else plain(column, field, form) for column, field in zip(columns, fields, strict=True)
    ]
    if form.omit_nulls and (names := set(null_names(array, field))):
        return _objects_without_nulls(columns, easy, fields, form, names)
    parts: list[pa.Array | pa.Scalar] = []
    before = b"{"
    run: list[int] = []
    for i, column in enumerate(easy):
        if column is not None:
            run.append(i)
            continue
        if run:
            parts += [pa.scalar(before, _BINARY), pc.binary_slice(_run(run, easy, fields), 1, -1)]
            before = b","
            run = []
        parts += [pa.scalar(before + _name(fields[i].name) + b":", _BINARY), text(columns[i], fields[i], form)]
        before = b","
    if not parts:
        return _run(run, easy, fields)
    if run:
        parts += [pa.scalar(before, _BINARY), pc.binary_slice(_run(run, easy, fields), 1, -1)]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"}", _BINARY), _NOTHING)


def present_members(array: pa.StructArray, field: pa.Field, form: JsonFormat) -> pa.Array:
    """Return structs, none null, as JSON objects without their own null fields; deeper nulls are written.

    It raises the errors of :func:`text`.
    """
    fields = list(field.type)
    columns = [_decode(array.field(i)) for i in range(len(fields))]
    easy = [
        None if _cut_by_c(child) or any(null_names(column, child)) else plain(column, child, form)
        for column, child in zip(columns, fields, strict=True)
    ]
    names = [child.name for column, child in zip(columns, fields, strict=True) if null_rows(column).any()]
    return _objects_without_nulls(columns, easy, fields, form, names)


def _objects_without_nulls(
    columns: Sequence[pa.Array],
    easy: Sequence[pa.Array | None],
    fields: Sequence[pa.Field],
    form: JsonFormat,
    names: Collection[str],
) -> pa.Array:
    """Return structs as JSON objects without null fields.

    The parts of a row are runs of plain columns and single texts; each part may be empty.

    :param names: names of the fields that are null in some row, also in nested objects.
    """
    pieces: list[pa.Array] = []
    run: list[int] = []
    for at, column in enumerate([*easy, None]):
        if column is not None and is_regular(fields[at].name):
            run.append(at)
            continue
        if run:
            texts = _run(run, easy, fields, [name for name in names if is_regular(name)])
            if len(run) == len(fields):
                return texts
            pieces.append(pc.binary_slice(texts, 1, -1))
            run = []
        if at < len(fields):
            member = pc.binary_join_element_wise(
                pa.scalar(_name(fields[at].name) + b":", _BINARY), text(columns[at], fields[at], form), _NOTHING
            )
            pieces.append(pc.if_else(pa.array(null_rows(columns[at])), _NOTHING, member))
    return joined_members(pieces)


def _has_orders(fields: Sequence[pa.Field]) -> bool:
    return bool(fields) and mark_of(fields[-1]) == ORDER


def _ordered_objects(array: pa.StructArray, fields: Sequence[pa.Field], form: JsonFormat) -> pa.Array:
    """Return structs as JSON objects whose fields, or their order, differ from row to row.

    Members are written by column, and then taken row by row.
    """
    members = gather(
        [
            pc.binary_join_element_wise(
                pa.scalar(_name(field.name) + b":", _BINARY), text(array.field(i), field, form), _NOTHING
            )
            for i, field in enumerate(fields[:-1])
        ]
    )
    orders, order_of = orders_of(array.field(len(fields) - 1))
    sizes = np.array([len(order) for order in orders], np.int64)
    begins = np.cumsum(sizes) - sizes
    count = sizes[order_of]
    starts = np.concatenate(([0], np.cumsum(count)))
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], count)
    child = np.array([at for order in orders for at in order], np.int64)[np.repeat(begins[order_of], count) + within]
    row = np.repeat(np.arange(len(array)), count)
    if form.omit_nulls:
        is_present = ~np.stack([null_rows(array.field(i)) for i in range(len(fields) - 1)])[child, row]
        child = child[is_present]
        row = row[is_present]
        starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(array)))))
    ordered = members.take(pa.array(child * len(array) + row))
    return _lists(ordered, pa.array(starts, pa.int32()), b"{", b"}")


def plain(array: pa.Array, field: pa.Field, form: JsonFormat) -> pa.Array | None:
    """Return a column in a type that polars writes as Kafka's JsonConverter does; None if there is none."""
    array = _decode(array)
    kind = array.type
    if is_decimal(field):
        return (
            bytes_to_json(unscaled_bytes(array, scale_of(field), field.name))
            if form.decimal_format == "BASE64"
            else None
        )
    if mark_of(field) == "time":
        return sql_times_to_json(array)
    if pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return array
    if pa.types.is_floating(kind):
        return array if have_one_form(array) else None
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return bytes_to_json(array)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return instants_to_json(array)
    if pa.types.is_map(kind) or pa.types.is_union(kind):
        return None
    if pa.types.is_struct(kind):
        return _plain_struct(array, field, form)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        values, starts = _flat_list(array)
        easy = plain(values, field.type.value_field, form)
        return None if easy is None else pa.ListArray.from_arrays(starts, easy, mask=null_mask(array))
    if pa.types.is_large_string(kind):
        return array
    raise _no_form(field)


def _plain_struct(array: pa.StructArray, field: pa.Field, form: JsonFormat) -> pa.Array | None:
    fields = list(field.type)
    if not fields or _has_orders(fields) or any(_cut_by_c(field) for field in fields):
        return None
    if form.omit_nulls and not all(map(is_regular, null_names(array, field))):
        return None
    children = [
        plain(column, field, form) for column, field in zip(map(array.field, range(len(fields))), fields, strict=True)
    ]
    if any(child is None for child in children):
        return None
    return pa.StructArray.from_arrays(children, names=[field.name for field in fields], mask=null_mask(array))


def _run(
    indexes: Sequence[int], easy: Sequence[pa.Array | None], fields: Sequence[pa.Field], omitted: Collection[str] = ()
) -> pa.Array:
    return _encode(
        pa.StructArray.from_arrays([easy[i] for i in indexes], names=[fields[i].name for i in indexes]), omitted
    )


def _encode(rows: pa.StructArray, omitted: Collection[str] = ()) -> pa.Array:
    """Return each struct as a JSON object written by polars, as ``pa.binary()``.

    :param omitted: names of fields to leave out where they are null.
    """
    return as_jackson(without_members(pl.Series(values=rows).struct.json_encode(), omitted).to_arrow().cast(_BINARY))


def _name(name: str) -> bytes:
    quoted: bytes = text(pa.array([name]), pa.field("", pa.string()), JsonFormat())[0].as_py()
    return quoted


def _no_form(field: pa.Field) -> UnsupportedType:
    what = f"JSON has no form for a column of Arrow type {field.type}"
    return UnsupportedType(what, "Leave the field out, or choose another converter.", field=field.name)


def _cut_by_c(field: pa.Field) -> bool:
    """Return whether polars would cut a field's name, because a C string ends at a zero character."""
    return "\0" in field.name


def _decode(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _with_nulls(written: pa.Array, source: pa.Array) -> pa.Array:
    return pc.if_else(source.is_valid(), written, _NULL) if source.null_count else written


def _flat_list(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the values of all lists (entries of all maps, as structs), and where each list starts (int32).

    A null list has no values.
    """
    if pa.types.is_map(array.type):
        entries = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
        array = pa.ListArray.from_arrays(pa.array(np.array(array.offsets)), entries, mask=null_mask(array))
    return array.flatten(), list_starts(array)


def _lists(items: pa.Array, starts: pa.Array, opening: bytes, closing: bytes) -> pa.Array:
    """Join the JSON fragments of each list, with commas and between brackets."""
    joined = pc.binary_join(pa.ListArray.from_arrays(starts, items), b",")
    return pc.binary_join_element_wise(pa.scalar(opening, _BINARY), joined, pa.scalar(closing, _BINARY), _NOTHING)


def _union(array: pa.UnionArray, field: pa.Field, form: JsonFormat) -> pa.Array:
    """Return the JSON text of each value of a dense union, in the form of the value's own type."""
    kind = field.type
    children = [text(array.field(i), kind.field(i), form) for i in range(kind.num_fields)]
    first = np.cumsum([0, *(len(child) for child in children[:-1])])
    position = {code: i for i, code in enumerate(kind.type_codes)}
    kinds, offsets = union_layout(array)
    which = np.array([position.get(code, 0) for code in range(128)])[kinds]
    return pa.concat_arrays(children).take(pa.array(first[which] + offsets))


def _maps(array: pa.MapArray, field: pa.Field, form: JsonFormat) -> pa.Array:
    """Return each map as a JSON object if its keys are strings; otherwise as an array of [key, value].

    Without a schema each map is decided alone, as JsonConverter does: an entry's form never depends on other entries of
    its batch. With a schema the type of the keys decides for all maps.
    """
    entries, starts = _flat_list(array)
    key_field = field.type.key_field
    names = entries.field(0)
    keys = text(names, key_field, form)
    values = text(entries.field(1), field.type.item_field, form)
    others = np.concatenate(([0], np.cumsum(~_are_text(names, key_field))))
    bounds = np.asarray(starts)
    mixed = others[bounds[1:]] > others[bounds[:-1]]
    if form.maps_by_type:
        mixed = np.full(len(array), not _is_text(key_field))
    members = pc.binary_join_element_wise(keys, values, pa.scalar(b":", _BINARY))
    if not mixed.any():
        return _lists(members, starts, b"{", b"}")
    comma, opening, closing = (pa.scalar(c, _BINARY) for c in (b",", b"[", b"]"))
    pairs = _lists(pc.binary_join_element_wise(opening, keys, comma, values, closing, _NOTHING), starts, b"[", b"]")
    return pairs if mixed.all() else pc.if_else(pa.array(mixed), pairs, _lists(members, starts, b"{", b"}"))


def _are_text(keys: pa.Array, field: pa.Field) -> npt.NDArray[np.bool_]:
    """Return a mask of the keys that are strings for Connect: strings, UUIDs, names of enums or classes."""
    kind = field.type
    if pa.types.is_union(kind):
        by_code = np.zeros(128, bool)
        by_code[kind.type_codes] = [_is_text(kind.field(i)) for i in range(kind.num_fields)]
        return by_code[union_layout(keys)[0]]
    return np.full(len(keys), _is_text(field))


def _is_text(field: pa.Field) -> bool:
    kind = field.type
    return (pa.types.is_string(kind) or pa.types.is_large_string(kind)) and mark_of(field) != "decimal"
