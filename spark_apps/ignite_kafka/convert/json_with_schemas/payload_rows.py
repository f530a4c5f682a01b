"""Reader of single payloads of JSON with schemas, where columns cannot hold them or a reason is needed.

It serves schemas that columns cannot hold, and finds the reasons of bad records.

A value is refused if Kafka's JsonConverter would silently read another one (a text as the number 0, 1.5 as 1, 300 as
the INT8 44). NaN and infinities, which JsonConverter writes in quotes and reads as 0, are read correctly.

Source: org.apache.kafka.connect.json.JsonConverter.convertToConnect (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ...ignite.binary.decode_decimals import MAX_MAGNITUDE
from ..connect import ConnectSchema, ConnectType
from ..connect.schema import DECIMAL, arrow_type, scale_of, text_type
from ..json.values import MOST_DIGITS, DuplicateNames, Refused, bytes_of, number_of, parsed, scalar_reader, text_of
from ..rules.parsed_json import Number

_DAY_MS = 86_400_000
_NODES = {
    dict: "OBJECT",
    DuplicateNames: "OBJECT",
    list: "ARRAY",
    Number: "NUMBER",
    str: "STRING",
    bool: "BOOLEAN",
    type(None): "NULL",
}

_Read = Callable[[Any], Any]


class PayloadReader:
    """Reader that converts parsed JSON payloads to values of a schema.

    :param defaults: read a null of a field with a default as the default (``replace.null.with.default``).
    """

    def __init__(self, schema: ConnectSchema, *, defaults: bool = True) -> None:
        self._defaults = defaults
        self._read = self._reader(schema)

    def value(self, item: Any) -> Any:
        """Convert a parsed JSON payload to a value of the schema, for :func:`array_of`.

        Dates and times are numbers, a decimal is a Decimal, a map a list of pairs, and a struct a dict.

        :param item: JSON parsed by :func:`~.json.read_rows.parse`.
        :raises Refused: the item does not fit the schema; the reason names the field.
        """
        return self._read(item)

    def _reader(self, schema: ConnectSchema) -> _Read:
        read_present = self._present_reader(schema)
        missing = self._missing(schema)
        return lambda item: missing() if item is None else read_present(item)

    def _missing(self, schema: ConnectSchema) -> Callable[[], Any]:
        if schema.default is not None and self._defaults:
            return lambda: schema.default
        if schema.optional:
            return lambda: None
        text = f"is null: Invalid null value for required {schema.type.name} field"

        def refuse_null() -> Any:
            raise Refused(text, of_value=True)

        return refuse_null

    def _present_reader(self, schema: ConnectSchema) -> _Read:
        if schema.type is ConnectType.STRUCT:
            return self._struct(schema)
        if schema.type is ConnectType.ARRAY:
            assert schema.value_schema
            return _array(self._reader(schema.value_schema))
        if schema.type is ConnectType.MAP:
            return self._map(schema)
        if schema.name == DECIMAL:
            return _decimal(schema)
        kind = arrow_type(schema)
        if pa.types.is_temporal(kind):
            return _temporal(kind)
        if schema.type is ConnectType.BYTES:
            return _bytes
        read = scalar_reader(kind, None)
        return lambda item: read(_whole(item)) if pa.types.is_integer(kind) else read(item)

    def _struct(self, schema: ConnectSchema) -> _Read:
        readers = [(field.name, self._reader(field.schema)) for field in schema.fields]

        def read(item: Any) -> dict[str, Any]:
            if type(item) is DuplicateNames:  # members unknown to the schema are ignored, as in columns
                item.refuse(name for name, _ in readers)
            elif type(item) is not dict:
                raise _wrong("Structs should be encoded as JSON objects", item)
            return {name: _within(name, reader, item.get(name)) for name, reader in readers}

        return read

    def _map(self, schema: ConnectSchema) -> _Read:
        assert schema.key_schema
        assert schema.value_schema
        key = self._reader(schema.key_schema)
        value = self._reader(schema.value_schema)

        def named(item: Any) -> list[tuple[Any, Any]]:
            if type(item) is DuplicateNames:
                item.refuse()
            if type(item) is not dict:
                raise _wrong("Maps with string fields should be encoded as JSON objects", item)
            return [
                (_within("{key}", text_of, name), _within(f"{{{name}}}", value, content))
                for name, content in item.items()
            ]

        def paired(item: Any) -> list[tuple[Any, Any]]:
            if type(item) is not list:
                raise _wrong("Maps with non-string fields should be encoded as JSON array of tuples", item)
            pairs = [_pair(number, entry, key, value) for number, entry in enumerate(item)]
            last: dict[str, tuple[Any, Any]] = {}
            for pair in pairs:  # NaN equals NaN, 0.0 is not -0.0, and 1.0 is not 1.00, as in Java
                last[repr(pair[0])] = pair
            return list(last.values())

        return named if schema.key_schema.type is ConnectType.STRING else paired


def array_of(values: Sequence[Any], schema: ConnectSchema) -> pa.Array:
    """Return values of a schema as an Arrow array; decimals become text if the type cannot hold one of them."""
    try:
        return pa.array(values, arrow_type(schema))
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([_with_texts(value, schema) for value in values], text_type(schema))


def _with_texts(value: Any, schema: ConnectSchema) -> Any:
    if value is None:
        return None
    if schema.type is ConnectType.STRUCT:
        return {field.name: _with_texts(value[field.name], field.schema) for field in schema.fields}
    if schema.type is ConnectType.ARRAY and schema.value_schema:
        return [_with_texts(item, schema.value_schema) for item in value]
    if schema.type is ConnectType.MAP and schema.key_schema and schema.value_schema:
        return [(_with_texts(key, schema.key_schema), _with_texts(item, schema.value_schema)) for key, item in value]
    return str(value) if type(value) is Decimal else value


def _within(name: str, read: _Read, item: Any) -> Any:
    try:
        return read(item)
    except Refused as error:
        raise error.within(name) from None


def _array(read: _Read) -> _Read:
    def items(item: Any) -> list[Any]:
        if type(item) is not list:
            raise _wrong("Arrays should be encoded as JSON arrays", item)
        return [_within(f"[{number}]", read, element) for number, element in enumerate(item)]

    return items


def _pair(number: int, item: Any, key: _Read, value: _Read) -> tuple[Any, Any]:
    if type(item) is not list:
        raise _wrong("Found invalid map entry instead of array tuple", item, " ")
    if len(item) != 2:
        raise Refused(f"holds: Found invalid map entry, expected length 2 but found :{len(item)}", of_value=True)
    first = _within(f"[{number}][0]", key, item[0])
    if first is None:
        raise Refused("has a null key, which Arrow's maps cannot hold", of_value=True)
    return first, _within(f"[{number}][1]", value, item[1])


def _wrong(rule: str, item: Any, but_found: str = ", but found ") -> Refused:
    return Refused(f"is wrong: {rule}{but_found}{_NODES[type(item)]}", of_value=True)


def _whole(item: Any) -> Any:
    """Return a number such as 1.0 or 1e3 as an integer's digits; other JSON values unchanged."""
    if type(item) is not Number or item.lstrip("-").isdecimal():
        return item
    value = parsed(item)
    if value is None or value.adjusted() > 20 or value != value.to_integral_value():
        return item
    return Number(int(value))


def _temporal(kind: pa.DataType) -> _Read:
    bits = kind.bit_width - 1
    low, high = (0, _DAY_MS) if pa.types.is_time(kind) else (-(1 << bits), (1 << bits) - 1)
    read = scalar_reader(pa.int64(), None)
    name = "Timestamp" if pa.types.is_timestamp(kind) else "Time" if pa.types.is_time(kind) else "Date"

    def number(item: Any) -> int:
        if type(item) is not Number:
            raise _wrong(f"Invalid type for {name}, underlying representation should be integer", item, " but was ")
        value: int = read(item)
        if not low <= value <= high:
            raise Refused(f"is {value}, beyond the range of a {name}", of_value=True)
        return value

    return number


def _decimal(schema: ConnectSchema) -> _Read:
    scale = scale_of(schema)
    if scale is None:
        raise Refused("the schema of a Decimal has no parameter scale")

    def read(item: Any) -> Decimal:
        if type(item) is Number:
            return _numeric(item, scale)
        if type(item) is not str:
            rule = "Invalid type for Decimal, underlying representation should be numeric or bytes"
            raise _wrong(rule, item, " but was ")
        data = _bytes(item)
        if not 0 < len(data) <= MAX_MAGNITUDE:
            raise Refused(f"holds {len(data)} bytes: Invalid bytes for Decimal field", of_value=True)
        return _of_scale(int.from_bytes(data, "big", signed=True), scale)

    return read


def _numeric(digits: str, scale: int) -> Decimal:
    """Return a decimal with the schema's scale if it is exact there; otherwise with its own scale."""
    value = number_of(digits)
    sign, figures, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + scale
    unscaled = int(Decimal((sign, figures, 0)))
    if 0 <= shift <= MOST_DIGITS:
        return _of_scale(unscaled * int(10**shift), scale)
    if shift < 0 and not unscaled % 10 ** min(-shift, len(figures) + 1):
        return _of_scale(unscaled // 10**-shift if unscaled else 0, scale)
    return value


def _of_scale(unscaled: int, scale: int) -> Decimal:
    digits = Decimal(unscaled).as_tuple()
    return Decimal((digits.sign, digits.digits, -scale))


def _bytes(item: Any) -> bytes:
    if type(item) is not str:
        raise _wrong("Bytes should be encoded as base64 text", item)
    try:
        return bytes_of(item)
    except Refused as error:
        raise error.because("Invalid bytes field") from None
