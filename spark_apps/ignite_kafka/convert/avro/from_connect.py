"""Conversion of Connect schemas into Avro schemas, as Confluent's AvroData.fromConnectSchema does it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ...common.python_compat import UTC
from ...errors import UnsupportedType
from ..connect.schema import DATE, DECIMAL, SCALE, TIME, TIMESTAMP, ConnectSchema, ConnectType
from ..rules.connect_decimals import unscaled_of
from . import names
from .options import AvroOptions
from .types import NO_DEFAULT, NULL, AvroField, AvroType

_KINDS = {
    ConnectType.INT8: "int", ConnectType.INT16: "int", ConnectType.INT32: "int", ConnectType.INT64: "long",
    ConnectType.FLOAT32: "float",
    ConnectType.FLOAT64: "double", ConnectType.BOOLEAN: "boolean", ConnectType.STRING: "string",
    ConnectType.BYTES: "bytes",
}  # fmt: skip
_LOGICAL = {DECIMAL: names.DECIMAL_TYPE, DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


def from_connect(schema: ConnectSchema, options: AvroOptions = AvroOptions()) -> AvroType:  # noqa: B008
    """Convert a Connect schema into the Avro schema that Confluent's converter would register.

    :raises UnsupportedType: Avro refuses a name.
    """
    return _Mapping(options).of(schema)


def is_union(schema: ConnectSchema) -> bool:
    """Return whether a STRUCT represents an Avro union, with one field for each branch."""
    return schema.type is ConnectType.STRUCT and (
        schema.name == names.UNION or any(name == names.GENERALIZED_UNION for name, _ in schema.parameters)
    )


def is_avro_map(schema: ConnectSchema, options: AvroOptions) -> bool:
    """Return whether a MAP becomes an Avro map; otherwise it becomes an array of entries."""
    key = schema.key_schema
    return key is not None and key.type is ConnectType.STRING and (not key.optional or options.allow_optional_map_keys)


def fixed_size(schema: ConnectSchema) -> int | None:
    """Return the size in bytes if a BYTES schema represents an Avro fixed; None for another schema."""
    size = dict(schema.parameters).get(names.FIXED_SIZE)
    return int(size) if schema.type is ConnectType.BYTES and schema.name is not None and size is not None else None


class _Mapping:
    """Converter of one schema tree; it reuses the Avro types already made, and numbers structs without a name."""

    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._types: dict[str, AvroType] = {}
        self._unnamed = 0

    def of(self, schema: ConnectSchema, *, ignore_optional: bool = False) -> AvroType:
        key = repr(schema)
        if key in self._types:
            return self._types[key]
        if is_union(schema):
            nulls = (NULL,) if schema.optional else ()
            branches = (self.of(field.schema.as_optional(False), ignore_optional=True) for field in schema.fields)
            return AvroType("union", branches=(*nulls, *branches))
        if schema.optional and schema.type is ConnectType.STRUCT:
            return AvroType("union", branches=(NULL, self.of(schema.as_optional(False))))
        avro = self._with_properties(self._base(schema), schema)
        if schema.optional and not ignore_optional:
            return AvroType("union", branches=(NULL, avro) if schema.default is None else (avro, NULL))
        self._types[key] = avro
        return avro

    def _base(self, schema: ConnectSchema) -> AvroType:
        makers: dict[ConnectType, Callable[[ConnectSchema], AvroType]] = {
            ConnectType.STRING: self._string,
            ConnectType.BYTES: self._bytes,
            ConnectType.ARRAY: lambda array: AvroType("array", items=self.of(_content(array))),
            ConnectType.MAP: self._map,
            ConnectType.STRUCT: self._record,
        }
        maker = makers.get(schema.type)
        return maker(schema) if maker is not None else AvroType(_KINDS[schema.type])

    def _string(self, schema: ConnectSchema) -> AvroType:
        parameters = dict(schema.parameters)
        options = self._options
        if not (options.generalized_sums or options.enhanced) or not parameters.keys() & {
            names.GENERALIZED_ENUM,
            names.ENUM,
        }:
            return AvroType("string")
        mark = names.GENERALIZED_ENUM if options.generalized_sums else names.ENUM
        if mark not in parameters:
            return AvroType("string")
        symbols = tuple(name[len(mark) + 1 :] for name in parameters if name.startswith(f"{mark}."))
        for symbol in symbols:
            self._check_name(symbol, f"the constant {symbol} of enum {parameters[mark]}", scrub=False)
        local = self._name(schema.name)[1]
        doc = names.CONNECT_ENUM_DOC if options.discard_docs else names.ENUM_DOC + local
        default = None if options.discard_docs else parameters.get(names.ENUM_DEFAULT + local)
        return AvroType("enum", self._full(parameters[mark]), parameters.get(doc), symbols=symbols, default=default)

    def _bytes(self, schema: ConnectSchema) -> AvroType:
        size = fixed_size(schema)
        base = (
            AvroType("bytes")
            if size is None
            else AvroType("fixed", ".".join(filter(None, self._name(schema.name))), size=size)
        )
        if schema.name != DECIMAL:
            return base
        parameters = dict(schema.parameters)
        precision = int(parameters.get(names.DECIMAL_PRECISION, names.DEFAULT_PRECISION))
        return replace(base, properties=(("scale", int(parameters[SCALE])), ("precision", precision)))

    def _map(self, schema: ConnectSchema) -> AvroType:
        if is_avro_map(schema, self._options):
            return AvroType("map", items=self.of(_content(schema)))
        assert schema.key_schema is not None
        full = f"{names.NAMESPACE}.{names.MAP_ENTRY}" if schema.name is None else self._full(schema.name)
        inner = () if schema.name is None else ((names.INTERNAL_TYPE, names.MAP_ENTRY),)
        fields = (self._field(names.KEY, schema.key_schema, None), self._field(names.VALUE, _content(schema), None))
        return AvroType("array", items=AvroType("record", full, fields=fields, properties=inner))

    def _record(self, schema: ConnectSchema) -> AvroType:
        full = ".".join(filter(None, self._name(schema.name)))
        parameters = dict(schema.parameters)
        doc = parameters.get(names.CONNECT_RECORD_DOC if self._options.discard_docs else names.RECORD_DOC)
        fields = []
        for field in schema.fields:
            place = f"the field {field.name} of {schema.name or 'a record without a name'}"
            fields.append(
                self._field(
                    self._check_name(field.name, place), field.schema, parameters.get(names.FIELD_DOC + field.name)
                )
            )
        twice = {field.name for field in fields if sum(other.name == field.name for other in fields) > 1}
        if twice:
            what = f"scrub.invalid.names gives two fields of {full} the name {min(twice)}"
            raise UnsupportedType(what, "Rename one of the fields", field=min(twice))
        return AvroType("record", full, doc, tuple(fields))

    def _field(self, name: str, schema: ConnectSchema, doc: str | None) -> AvroField:
        default = NO_DEFAULT
        if schema.default is not None:
            default = default_json(schema, schema.default, self._options)
            default = NO_DEFAULT if _has_entries(schema, self._options) else default
        elif schema.optional:
            default = None
        return AvroField(name, self.of(schema), schema.doc if self._options.discard_docs else doc, default)

    def _with_properties(self, base: AvroType, schema: ConnectSchema) -> AvroType:
        properties: dict[str, Any] = dict(base.properties)
        if self._options.metadata:
            properties |= self._metadata(schema)
        if schema.name in _LOGICAL and (schema.name != DECIMAL or schema.type is ConnectType.BYTES):
            properties[names.LOGICAL_TYPE] = _LOGICAL[schema.name]
        properties |= {name: value for name, value in schema.parameters if name.startswith(names.AVRO_PREFIX)}
        return replace(base, properties=tuple(properties.items()))

    def _metadata(self, schema: ConnectSchema) -> dict[str, Any]:
        metadata: dict[str, Any] = {}
        if schema.doc is not None:
            metadata[names.CONNECT_DOC] = schema.doc
        if schema.version is not None:
            metadata[names.CONNECT_VERSION] = schema.version
        discard = self._options.discard_docs
        parameters = {name: value for name, value in schema.parameters if discard or name != names.FIELD_DEFAULT}
        if parameters:
            metadata[names.CONNECT_PARAMETERS] = parameters
        if schema.default is not None and (discard or names.FIELD_DEFAULT not in dict(schema.parameters)):
            metadata[names.CONNECT_DEFAULT] = default_json(schema, schema.default, self._options)
        if schema.name is not None:
            metadata[names.CONNECT_NAME] = schema.name
        if schema.type in (ConnectType.INT8, ConnectType.INT16):
            metadata[names.CONNECT_TYPE] = str(schema.type)
        return metadata

    def _name(self, name: str | None) -> tuple[str, str]:
        """Return the Avro namespace and name of a schema; a schema without a name gets the next default name."""
        if name is not None:
            return names.split(self._full(name))
        self._unnamed += 1
        return names.NAMESPACE, names.DEFAULT_NAME + (str(self._unnamed) if self._unnamed > 1 else "")

    def _full(self, name: str) -> str:
        return ".".join(self._check_name(part, f"the type {name}") for part in name.split("."))

    def _check_name(self, name: str, place: str, *, scrub: bool = True) -> str:
        name = names.scrubbed(name) if self._options.scrub and scrub else name
        if not names.is_valid(name):
            raise UnsupportedType(
                f"{place} has a name that Avro refuses", "Set scrub.invalid.names=true, which replaces such characters"
            )
        return name


def default_json(schema: ConnectSchema, value: Any, options: AvroOptions) -> Any:
    """Return a schema's default in the JSON form that AvroData.defaultValueFromConnect writes."""
    if value is None:
        return None
    if schema.name == DECIMAL and isinstance(value, Decimal):
        return unscaled_of(value, int(dict(schema.parameters)[SCALE])).decode("latin-1")
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // _MILLISECOND
    if isinstance(value, datetime.date):
        return (value - _EPOCH.date()).days
    if isinstance(value, datetime.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    if schema.type is ConnectType.ARRAY:
        return [default_json(_content(schema), item, options) for item in value]
    if schema.type is ConnectType.MAP:
        assert schema.key_schema is not None
        pairs = [
            (default_json(schema.key_schema, key, options), default_json(_content(schema), item, options))
            for key, item in value
        ]
        return dict(pairs) if is_avro_map(schema, options) else [list(pair) for pair in pairs]
    if schema.type is ConnectType.STRUCT:
        members = {field.name: default_json(field.schema, value.get(field.name), options) for field in schema.fields}
        if is_union(schema):
            return next(iter(members.values()))
        return {names.scrubbed(name) if options.scrub else name: item for name, item in members.items()}
    return value


def _has_entries(schema: ConnectSchema, options: AvroOptions) -> bool:
    """Return whether a schema contains a MAP that becomes an array of entries.

    A default of such a schema is no valid default in Avro, and is left out.
    """
    if schema.type is ConnectType.MAP and not is_avro_map(schema, options):
        return True
    inner = [field.schema for field in schema.fields] + ([] if schema.value_schema is None else [schema.value_schema])
    return any(_has_entries(part, options) for part in inner)


def _content(schema: ConnectSchema) -> ConnectSchema:
    assert schema.value_schema is not None
    return schema.value_schema
