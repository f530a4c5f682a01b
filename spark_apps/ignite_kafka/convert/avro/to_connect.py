"""Conversion of Avro schemas into Connect schemas, as Confluent's AvroData.toConnectSchema does it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from ...common.python_compat import UTC
from ...errors import UnsupportedType
from ..connect.schema import DATE, DECIMAL, SCALE, TIME, TIMESTAMP, ConnectField, ConnectSchema, ConnectType
from . import names
from .options import AvroOptions
from .types import NO_DEFAULT, AvroField, AvroType

_KINDS = {
    "boolean": ConnectType.BOOLEAN, "int": ConnectType.INT32, "long": ConnectType.INT64, "float": ConnectType.FLOAT32,
    "double": ConnectType.FLOAT64, "string": ConnectType.STRING,
}  # fmt: skip
_LOGICAL = {("int", "date"): DATE, ("int", "time-millis"): TIME, ("long", "timestamp-millis"): TIMESTAMP}
_NARROW = {"int8": ConnectType.INT8, "int16": ConnectType.INT16}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)


def to_connect(schema: AvroType, options: AvroOptions = AvroOptions()) -> ConnectSchema:  # noqa: B008
    """Convert an Avro schema into the Connect schema of its values.

    :raises UnsupportedType: the schema is just null, or has properties ``connect.*`` that Connect refuses.
    """
    return _Mapping(options).of(schema)


def nullable(schema: AvroType) -> AvroType | None:
    """Return the type of an optional value, a union of null and one other type; None for another schema."""
    if schema.kind != "union" or len(schema.branches) != 2:
        return None
    others = [branch for branch in schema.branches if branch.kind != "null"]
    return others[0] if len(others) == 1 else None


def is_entries(schema: AvroType) -> bool:
    """Return whether an Avro array holds the entries of a MAP whose keys are not texts."""
    record = schema.items
    if schema.kind != "array" or record is None or record.kind != "record":
        return False
    return (
        record.name == f"{names.NAMESPACE}.{names.MAP_ENTRY}" or record.property(names.INTERNAL_TYPE) == names.MAP_ENTRY
    )


class _Mapping:
    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._unions = 0
        self._schemas: dict[tuple[int, bool, int], ConnectSchema] = {}

    def of(self, schema: AvroType, *, optional: bool = False, field: AvroField | None = None) -> ConnectSchema:
        """Convert the schema of a value; `field` is the record field that gives a default and a doc.

        A type with several references is converted once, unless each place gives its unions numbers of their own.
        """
        if self._options.generalized_sums:
            return self._of(schema, optional, field)
        if field is not None and field.default is NO_DEFAULT and field.doc is None:
            field = None  # the field adds nothing: its type is the same in all fields without default and doc
        place = id(schema), optional, id(field)
        if place not in self._schemas:
            self._schemas[place] = self._of(schema, optional, field)
        return self._schemas[place]

    def _of(self, schema: AvroType, optional: bool, field: AvroField | None) -> ConnectSchema:
        if schema.kind == "union":
            return self._union(schema, optional, field)
        makers: dict[str, Callable[[AvroType], dict[str, Any]]] = {
            "bytes": self._bytes, "fixed": self._bytes, "array": self._array, "record": self._record,
            "enum": self._enum,
            "map": self._map,
        }  # fmt: skip
        parts = makers.get(schema.kind, self._simple)(schema)
        return self._with_properties(parts, schema, optional, field)

    def _simple(self, schema: AvroType) -> dict[str, Any]:
        if schema.kind not in _KINDS:
            raise UnsupportedType(
                f"an Avro schema {schema.kind} alone has no type in Kafka Connect",
                "Write these records with another schema",
            )
        logical = schema.property(names.LOGICAL_TYPE)
        name = _LOGICAL.get((schema.kind, logical)) if isinstance(logical, str) else None
        if name is not None:
            return {"type": _KINDS[schema.kind], "name": name, "version": 1}
        narrow = schema.property(names.CONNECT_TYPE) if schema.kind == "int" and logical is None else None
        if narrow is not None and (not isinstance(narrow, str) or narrow not in _NARROW):
            raise _wrong(f"{names.CONNECT_TYPE} {narrow} of an int")
        return {"type": _KINDS[schema.kind] if narrow is None else _NARROW[narrow]}

    def _bytes(self, schema: AvroType) -> dict[str, Any]:
        parts: dict[str, Any] = {"type": ConnectType.BYTES, "parameters": {}}
        if schema.property(names.LOGICAL_TYPE) == names.DECIMAL_TYPE:
            scale = schema.property("scale")
            precision = schema.property("precision")
            parts |= {"name": DECIMAL, "version": 1, "parameters": {SCALE: str(scale if isinstance(scale, int) else 0)}}
            if precision not in (None, names.DEFAULT_PRECISION):
                parts["parameters"][names.DECIMAL_PRECISION] = str(precision)
        if schema.kind == "fixed":
            parts["parameters"][names.FIXED_SIZE] = str(schema.size)
        return parts

    def _map(self, schema: AvroType) -> dict[str, Any]:
        return {
            "type": ConnectType.MAP,
            "key_schema": ConnectSchema(ConnectType.STRING),
            "value_schema": self.of(schema.content()),
        }

    def _array(self, schema: AvroType) -> dict[str, Any]:
        content = schema.content()
        if not is_entries(schema):
            return {"type": ConnectType.ARRAY, "value_schema": self.of(content)}
        fields = {field.name: field for field in content.fields}
        if fields.keys() != {names.KEY, names.VALUE}:
            raise _wrong(f"a {content.name} with the fields {', '.join(fields)}, which should be key and value")
        key = self.of(fields[names.KEY].type)
        value = self.of(fields[names.VALUE].type)
        return {"type": ConnectType.MAP, "key_schema": key, "value_schema": value}

    def _record(self, schema: AvroType) -> dict[str, Any]:
        docs = not self._options.discard_docs and self._options.metadata
        parameters = {names.RECORD_DOC: schema.doc} if docs and schema.doc is not None else {}
        if docs:
            parameters |= {names.FIELD_DOC + field.name: field.doc for field in schema.fields if field.doc is not None}
        fields = tuple(ConnectField(field.name, self.of(field.type, field=field)) for field in schema.fields)
        return {"type": ConnectType.STRUCT, "fields": fields, "parameters": parameters}

    def _enum(self, schema: AvroType) -> dict[str, Any]:
        options = self._options
        parameters = {}
        local = names.split(schema.name)[1]
        if options.metadata and schema.doc is not None:
            parameters[names.CONNECT_ENUM_DOC if options.discard_docs else names.ENUM_DOC + local] = schema.doc
        if options.metadata and not options.discard_docs and schema.default is not None:
            parameters[names.ENUM_DEFAULT + local] = schema.default
        mark = names.GENERALIZED_ENUM if options.generalized_sums else names.ENUM
        parameters[mark] = schema.name
        for index, symbol in enumerate(schema.symbols):
            parameters[f"{mark}.{symbol}"] = str(index) if options.generalized_sums else symbol
        return {"type": ConnectType.STRING, "parameters": parameters}

    def _union(self, schema: AvroType, optional: bool, field: AvroField | None) -> ConnectSchema:
        if len(schema.branches) == 1 and self._options.flatten_singletons:
            return self.of(schema.branches[0], optional=optional)
        inner = nullable(schema)
        if inner is not None:
            default = None if field is None or field.default is None else field
            return self.of(inner, optional=True, field=default)
        name = names.UNION
        parameters = {}
        if self._options.generalized_sums:
            name = f"{names.GENERALIZED_UNION_NAME}{self._unions}"
            parameters[names.GENERALIZED_UNION] = name
            self._unions += 1
        fields = []
        for index, branch in enumerate(schema.branches):
            if branch.kind == "null":
                optional = True
            else:
                fields.append(ConnectField(self._branch_name(branch, index), self.of(branch, optional=True)))
        if len({member.name for member in fields}) < len(fields):
            twice = "an Avro union has two types that Connect's field names do not tell apart"
            raise UnsupportedType(twice, "Set enhanced.avro.schema.support=true, which keeps full names")
        return ConnectSchema(
            ConnectType.STRUCT, optional, name, parameters=tuple(parameters.items()), fields=tuple(fields)
        )

    def _branch_name(self, branch: AvroType, index: int) -> str:
        if self._options.generalized_sums:
            return f"{names.GENERALIZED_UNION_NAME}field_{index}"
        if not branch.name:
            return branch.kind
        return branch.name if self._options.enhanced else names.split(branch.name)[1]

    def _with_properties(
        self, parts: dict[str, Any], schema: AvroType, optional: bool, field: AvroField | None
    ) -> ConnectSchema:
        options = self._options
        parameters = dict(parts.get("parameters", {}))
        parts["doc"] = self._doc(schema, field, parameters)
        version = schema.property(names.CONNECT_VERSION)
        if version is not None:
            parts["version"] = _agree(parts.get("version"), version, names.CONNECT_VERSION, int)
        declared = schema.property(names.CONNECT_PARAMETERS)
        if options.metadata and declared is not None:
            if not isinstance(declared, Mapping) or not all(isinstance(value, str) for value in declared.values()):
                raise _wrong(f"{names.CONNECT_PARAMETERS} that are not names with texts")
            parameters |= declared
        parameters |= {name: _text(value) for name, value in schema.properties if name.startswith(names.AVRO_PREFIX)}
        default = schema.property(names.CONNECT_DEFAULT)
        if field is not None and field.default is not NO_DEFAULT and field.default is not None:
            if options.metadata and not options.discard_docs and default is None:
                parameters[names.FIELD_DEFAULT] = "true"
            default = field.default
        name = self._connect_name(parts.get("name"), schema)
        plain = ConnectSchema(**{**parts, "name": name, "parameters": tuple(parameters.items()), "optional": optional})
        if default is None:
            return plain
        return ConnectSchema(
            **{
                **parts,
                "name": name,
                "parameters": plain.parameters,
                "optional": optional,
                "default": default_of(plain, default),
            }
        )

    def _doc(self, schema: AvroType, field: AvroField | None, parameters: dict[str, str]) -> str | None:
        own = schema.property(names.CONNECT_DOC)
        if not self._options.discard_docs:
            return own if self._options.metadata else None
        if self._options.metadata and schema.doc is not None:
            parameters[names.CONNECT_RECORD_DOC] = schema.doc
        texts = (field.doc if field is not None else None, schema.doc, own)
        return next((text for text in texts if text is not None), None)

    def _connect_name(self, own_name: str | None, schema: AvroType) -> str | None:
        name = schema.property(names.CONNECT_NAME)
        if name is None and (schema.kind in ("record", "enum") or (schema.kind == "fixed" and own_name != DECIMAL)):
            name = schema.name
        if name is None or (isinstance(name, str) and name.startswith(f"{names.NAMESPACE}.{names.DEFAULT_NAME}")):
            return own_name
        agreed: str = _agree(own_name, name, names.CONNECT_NAME, str)
        return agreed


def default_of(schema: ConnectSchema, value: Any) -> Any:
    """Convert an Avro default in JSON to the Python value that pyarrow's ``as_py`` has; None if it does not fit."""
    try:
        if value is None:
            return None
        if schema.type is ConnectType.BYTES:
            data = value.encode("latin-1")
            scale = dict(schema.parameters).get(SCALE)
            return (
                data
                if schema.name != DECIMAL or scale is None
                else Decimal(f"{int.from_bytes(data, 'big', signed=True)}E{-int(scale)}")
            )
        if schema.name == TIMESTAMP:
            return _EPOCH + datetime.timedelta(milliseconds=value)
        if schema.name == DATE:
            return _EPOCH.date() + datetime.timedelta(days=value)
        if schema.name == TIME:
            return (_EPOCH + datetime.timedelta(milliseconds=value)).time()
        if schema.type is ConnectType.STRUCT:
            return {
                field.name: default_of(field.schema, value.get(field.name, field.schema.default))
                for field in schema.fields
            }
        if schema.value_schema is not None and schema.type is ConnectType.ARRAY:
            return [default_of(schema.value_schema, item) for item in value]
        if schema.value_schema is not None:
            pairs = value.items() if isinstance(value, Mapping) else value
            return [(key, default_of(schema.value_schema, item)) for key, item in pairs]
        return float(value) if schema.type in (ConnectType.FLOAT32, ConnectType.FLOAT64) else value
    except (TypeError, ValueError, AttributeError, OverflowError):
        return None


def _agree(own: Any, declared: Any, what: str, kind: type) -> Any:
    if not isinstance(declared, kind) or own not in (None, declared):
        raise _wrong(f"{what} {declared}, where Connect has {own}")
    return declared


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _wrong(what: str) -> UnsupportedType:
    return UnsupportedType(f"the Avro schema has {what}", "Correct the schema in the registry")
