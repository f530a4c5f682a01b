"""Decoding of values at many positions to one Arrow column by numpy; inner values recursively."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from ...common.record_limits import MAX_DEPTH
from ...errors import DecodeError, UnsupportedType
from ..types import type_codes as codes
from ..types.model import BinaryType
from ..types.type_table import BY_CODE, code_name, declared_field, mark_of
from . import decode_scalars as scalars
from .column_assembly import list_of, spread, union
from .container_elements import Elements, element_places, ends_of, tree_places
from .decode_decimals import decimals
from .decode_scalars import Column, EnumPolicy
from .field_order import FieldOrder, field_orders, order_column
from .java_classes import TREE_MAP, TREE_SET, metadata, refreshed, type_name
from .object_headers import FieldPlaces, Headers, field_places, read_headers
from .optimized_temporal import are_temporal, optimized, rewrite
from .page_buffer import PageBuffer, Positions

_INDIRECT = (codes.NULL, codes.HANDLE, codes.WRAPPED)
_LISTS = codes.CODED_ARRAYS | codes.TYPED_ARRAYS | {codes.COLLECTION}
_ONE_KIND = {codes.ENUM: codes.BINARY_ENUM}
_CONTAINERS = _LISTS | {codes.MAP, codes.OBJECT, codes.WRAPPED}
_MOST_HOPS = 8
_COST_OF_COLUMN = 1024
_MOST_KINDS = 126  # a union has 128 at most; one is for null
_SIMPLE: dict[int, Callable[[PageBuffer, Positions, Positions], Column]] = {
    codes.CHAR: scalars.chars, codes.BOOL: scalars.booleans, codes.STRING: scalars.strings,
    codes.BYTE_ARRAY: scalars.binaries,
    codes.UUID: scalars.uuids, codes.TIMESTAMP: scalars.timestamps, codes.DECIMAL: decimals,
    codes.CLASS: scalars.classes,
}  # fmt: skip


@dataclass(frozen=True)
class ColumnDecoder:
    """Decoder of values in one buffer to Arrow columns.

    :param order: which fields decoded objects have, in which order.
    :param date_zone: time zone at whose midnight a java.sql.Date was made.
    :param fields: names in lower case of the only fields to decode in objects that are whole keys or values; None: all.
    :param containers: receives, by path (:class:`~ignite_kafka.ignite.types.model.TypeUse`), the type codes of decoded
        arrays, collections and maps, which their columns, lists or maps, do not show.
    """

    wire: PageBuffer
    enums: EnumPolicy = EnumPolicy.SHORT_NAME
    order: FieldOrder = FieldOrder.TYPE
    date_zone: str = "UTC"
    fields: Collection[str] | None = None
    containers: dict[str, set[int]] = field(default_factory=dict)

    def decode(
        self, at: Positions, end: Positions, declared: int = codes.OBJECT, depth: int = 0, path: str = ""
    ) -> Column:
        """Decode the values at positions `at` (-1: absent) to a column with a row for each.

        Each value ends before its `end`.
        `declared` is the type code in the metadata; it decides the column's type only if there is no value. Null and
        absent values are null.
        Values of several kinds become a dense union marked mixed.
        """
        if depth > 1 and at.size:
            self.wire.spend(_COST_OF_COLUMN + at.size, int(at[0]))
        if at.size and at.min() >= 0:
            self.wire.require(at, at + 1, end, "A value")
            code = self.wire.data[at]
            if code[0] not in _INDIRECT and (code == code[0]).all():
                return self._decode_code(int(code[0]), at, end, depth, path)
        return self._decode_with_nulls(at, end, declared, depth, path)

    def _decode_with_nulls(self, at: Positions, end: Positions, declared: int, depth: int, path: str) -> Column:
        rows = np.flatnonzero(at >= 0)
        place = at[rows]
        limit = end[rows]
        place, limit = self.resolve(place, limit)
        code = self.wire.data[place]
        is_valid = code != codes.NULL
        rows = rows[is_valid]
        place = place[is_valid]
        limit = limit[is_valid]
        code = code[is_valid]
        if rows.size == 0:
            none = declared_field("", declared, ordinals=self.enums is EnumPolicy.ORDINAL)
            return Column(pa.nulls(at.size, none.type), mark_of(none))
        if (code == code[0]).all():
            return spread(self._decode_code(int(code[0]), place, limit, depth, path), rows, at.size)
        for code_from, code_to in _ONE_KIND.items():
            code = np.where(code == code_from, code_to, code)
        kinds = np.unique(code)
        if kinds.size == 1:
            return spread(self._decode_code(int(kinds[0]), place, limit, depth, path), rows, at.size)
        parts = [(code == kind) for kind in kinds]
        columns = [
            self._decode_code(int(kind), place[part], limit[part], depth, path)
            for kind, part in zip(kinds, parts, strict=True)
        ]
        return union([code_name(int(kind)) for kind in kinds], columns, [rows[part] for part in parts], at.size)

    def resolve(self, place: Positions, limit: Positions) -> tuple[Positions, Positions]:
        """Follow handles (code 102) and unwrap objects (code 27): return the positions of the plain values.

        A handle has an int32, the number of bytes back to an earlier value.
        """
        self.wire.require(place, place + 1, limit, "A value")
        place = place.copy()
        limit = limit.copy()
        for _ in range(_MOST_HOPS):
            code = self.wire.data[place]
            handles = np.flatnonzero(code == codes.HANDLE)
            wrapped = np.flatnonzero(code == codes.WRAPPED)
            if not handles.size and not wrapped.size:
                return place, limit
            if handles.size:
                self._follow(place, limit, handles)
            if wrapped.size:
                self._unwrap(place, limit, wrapped)
        raise self.wire.error(int(place[0]), "Handles lead to handles without end")

    def _follow(self, place: Positions, limit: Positions, rows: Positions) -> None:
        start = place[rows]
        self.wire.require(start, start + 5, limit[rows], "A handle")
        back = self.wire.ints(start + 1)
        wrong = (back <= 0) | (back > start)
        if wrong.any():
            raise self.wire.error(int(start[np.flatnonzero(wrong)[0]]), "A handle leads outside its page")
        place[rows] = target = start - back
        wrong = ~np.isin(self.wire.data[target], list(_CONTAINERS))
        if wrong.any():
            raise self.wire.error(int(start[np.flatnonzero(wrong)[0]]), "A handle leads to a value that has no handles")
        inside = ends_of(self.wire, target) > start
        if inside.any():
            raise self.wire.unsupported(int(start[np.flatnonzero(inside)[0]]), "A value contains itself")

    def _unwrap(self, place: Positions, limit: Positions, rows: Positions) -> None:
        start = place[rows]
        length = scalars.lengths(self.wire, start, limit[rows], 5, 1, "A wrapped object")
        stop = start + 5 + length
        self.wire.require(start, stop + 4, limit[rows], "A wrapped object")
        offset = self.wire.ints(stop)
        wrong = (offset < 0) | (offset >= length)
        if wrong.any():
            raise self.wire.error(
                int(start[np.flatnonzero(wrong)[0]]), "The offset of a wrapped object is outside its payload"
            )
        place[rows], limit[rows] = start + 5 + offset, stop

    def _decode_code(self, code: int, at: Positions, end: Positions, depth: int, path: str) -> Column:
        """Decode values of one type code, none of which is null or absent."""
        if code in scalars.NUMPY:
            return scalars.fixed(self.wire, code, at, end)
        if code in _SIMPLE:
            return _SIMPLE[code](self.wire, at, end)
        if code in (codes.ENUM, codes.BINARY_ENUM):
            return scalars.enums(self.wire, at, end, self.enums, named=self.order is not FieldOrder.TYPE)
        if code in _LISTS or code in codes.ELEMENT_WIDTH or code == codes.MAP:
            self._note(path, code)
        if code in codes.ELEMENT_WIDTH:
            return self._decode_primitive_array(code, at, end)
        if depth >= MAX_DEPTH:
            raise self.wire.unsupported(
                int(at[0]), f"A value is nested deeper than {MAX_DEPTH} levels, or contains itself"
            )
        if code == codes.OPTIMIZED:
            return self._decode_optimized(at, end, depth, path)
        if code in _LISTS:
            return self._decode_list(code, at, end, depth, path)
        if code == codes.MAP:
            return self._decode_map(at, end, depth, path)
        if code == codes.OBJECT:
            return self._decode_objects(at, end, depth, path)
        if code in codes.KNOWN:
            raise self.wire.unsupported(int(at[0]), f"A value of type code {code} has no column form")
        raise self.wire.error(int(at[0]), f"There is no type code {code}")

    def _decode_optimized(self, at: Positions, end: Positions, depth: int, path: str) -> Column:
        """Decode values of the optimized marshaller (code 254): dates directly, others rewritten in binary format."""
        temporal = are_temporal(self.wire, at, end)
        if temporal.all():
            return optimized(self.wire, at, end, self.date_zone)
        rows = np.flatnonzero(~temporal)
        rewritten = rewrite(self.wire, at[rows])
        stops = rewritten.starts[1:]
        try:
            column = replace(self, wire=rewritten).decode(rewritten.starts[:-1], stops, codes.OBJECT, depth + 1, path)
        except (DecodeError, UnsupportedType) as error:
            raise self.wire.moved(error, int(at[rows[0]])) from None
        if rows.size == at.size:
            return column
        others = np.flatnonzero(temporal)
        parts = [column, optimized(self.wire, at[others], end[others], self.date_zone)]
        return union(["collection", "java.time"], parts, [rows, others], at.size)

    def _decode_primitive_array(self, code: int, at: Positions, end: Positions) -> Column:
        width = codes.ELEMENT_WIDTH[code]
        element = BY_CODE[code].element
        count = scalars.lengths(self.wire, at, end, 5, width, f"A {BY_CODE[code].name}")
        offsets, data = self.wire.ragged(at + 5, count * width)
        if element == codes.BOOL:
            inner = Column(scalars.packed(self.wire, at, data))
        elif element == codes.CHAR:
            inner = Column(pa.array(data.view("<u2").astype(np.int32)), "char")
        else:
            inner = Column(pa.array(data.view(scalars.NUMPY[element or 0])))
        return list_of(offsets // np.int32(width), inner)

    def _decode_list(self, code: int, at: Positions, end: Positions, depth: int, path: str) -> Column:
        return self._build_list(
            element_places(self.wire, code, at, end), BY_CODE[code].element or codes.OBJECT, depth, path
        )

    def _build_list(self, places: Elements, element: int, depth: int, path: str) -> Column:
        inner = self.decode(places.at, places.end, element, depth + 1, f"{path}[]")
        return list_of(places.offsets.astype(np.int32), inner)

    def _decode_map(self, at: Positions, end: Positions, depth: int, path: str) -> Column:
        return self._build_map(element_places(self.wire, codes.MAP, at, end), at, depth, path)

    def _build_map(self, places: Elements, at: Positions, depth: int, path: str) -> Column:
        keys = self.decode(places.at[0::2], places.end[0::2], codes.OBJECT, depth + 1, f"{path}{{key}}")
        items = self.decode(places.at[1::2], places.end[1::2], codes.OBJECT, depth + 1, f"{path}{{value}}")
        if keys.data.null_count:
            raise self.wire.unsupported(int(at[0]), "A Map has a null key, which no map column can hold")
        if pa.types.is_null(keys.data.type):  # every map is empty, and Arrow takes no key of the null type
            keys = Column(pa.array([], pa.string()))
        kind = pa.map_(keys.field("key", False), items.field("value"))
        offsets = pa.array((places.offsets // 2).astype(np.int32))
        return Column(pa.MapArray.from_arrays(offsets, keys.data, items.data, kind))

    def _decode_objects(self, at: Positions, end: Positions, depth: int, path: str) -> Column:
        headers = read_headers(self.wire, at, end)
        type_ids = np.unique(headers.type_id)
        if type_ids.size == 1:
            return self.struct(headers, depth, path)
        if type_ids.size > _MOST_KINDS:
            raise self.wire.unsupported(
                int(at[0]), f"Objects of {type_ids.size} types in one field, more than {_MOST_KINDS}"
            )
        parts = [np.flatnonzero(headers.type_id == type_id) for type_id in type_ids]
        columns = [self.struct(headers.of(part), depth, path) for part in parts]
        return union([type_name(self.wire.types, int(type_id)) for type_id in type_ids], columns, parts, at.size)

    def places(self, type_id: int, headers: Headers) -> tuple[BinaryType, FieldPlaces]:
        """Find the fields of objects of one type; outdated metadata of the type is read again.

        :returns: the type's metadata, and the positions of the fields.
        """
        binary = metadata(self.wire.types, type_id)
        try:
            return binary, field_places(self.wire, binary, headers)
        except DecodeError:
            fresh = refreshed(self.wire.types, type_id)
            if fresh == binary:
                raise
            return fresh, field_places(self.wire, fresh, headers)

    def struct(self, headers: Headers, depth: int, path: str = "") -> Column:
        """Decode objects of one type id to a struct column; a TreeMap becomes a map, a TreeSet a list.

        If the orders of rows differ, the last child, marked ``order``, has the order of each row (field_order.py).
        """
        if headers.type_id[0] == TREE_MAP:
            self._note(path, codes.MAP)
            return self._build_map(tree_places(self.wire, headers.start, headers.stop, 2), headers.start, depth, path)
        if headers.type_id[0] == TREE_SET:
            self._note(path, codes.COLLECTION)
            return self._build_list(tree_places(self.wire, headers.start, headers.stop, 1), codes.OBJECT, depth, path)
        binary, places = self.places(int(headers.type_id[0]), headers)
        orders, order_of = field_orders(binary, places, self.order)
        shown: Sequence[int] = orders[0] if order_of is None else sorted(set().union(*orders))
        if depth == 0 and self.fields is not None:
            shown = [index for index in shown if binary.fields[index].name.lower() in self.fields]
            order_of = None
        names = [binary.fields[index].name for index in shown]
        prefix = f"{path}." if path else ""
        columns = [
            self.decode(places.at[index], headers.footer, binary.fields[index].type_code, depth + 1, f"{prefix}{name}")
            for index, name in zip(shown, names, strict=True)
        ]
        if not columns:
            return Column(pa.array([{}] * headers.start.size, pa.struct([])), type_name=self._shown_name(binary))
        if order_of is not None:
            columns = [*columns, order_column(orders, order_of, shown)]
            names = [*names, ""]
        fields = [column.field(name) for name, column in zip(names, columns, strict=True)]
        return Column(
            pa.StructArray.from_arrays([column.data for column in columns], fields=fields),
            type_name=self._shown_name(binary),
        )

    def _note(self, path: str, code: int) -> None:
        self.containers.setdefault(path, set()).add(code)

    def _shown_name(self, binary: BinaryType) -> str | None:
        """Return a column's type name; None for tables, where types with equal columns share a column."""
        return None if self.order is FieldOrder.TYPE else binary.name
