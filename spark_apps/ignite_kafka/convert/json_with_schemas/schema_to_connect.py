"""Reader of Connect schemas in JSON, as Kafka's JsonConverter reads them, with its error messages.

Source: org.apache.kafka.connect.json.JsonConverter.asConnectSchema and org.apache.kafka.connect.data.SchemaBuilder
(4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...common.record_limits import MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES
from ..connect import ConnectField, ConnectSchema, ConnectType
from ..json.values import Refused
from ..rules.parsed_json import Number
from .payload_rows import PayloadReader, array_of

_TYPES = {str(kind): kind for kind in ConnectType}
# most fields have such a schema; all share one object, with its hash computed once
_PLAIN = {
    str(kind): (ConnectSchema(kind), ConnectSchema(kind, optional=True))
    for kind in ConnectType
    if kind not in (ConnectType.ARRAY, ConnectType.MAP, ConnectType.STRUCT)
}
_PLAIN_MEMBERS = frozenset({"type", "optional", "field"})


def connect_schema(node: Any, *, defaults: bool = True) -> ConnectSchema | None:
    """Return the Connect schema that parsed JSON describes; None for null.

    :param node: JSON parsed by :func:`~.json.read_rows.parse`.
    :param defaults: how a null within a default is read (:class:`~.payload_rows.PayloadReader`).
    :raises Refused: the JSON describes no schema, or the schema is larger than `MAX_SCHEMA_NODES` or `MAX_SCHEMA_DEPTH`
        allow.
    """
    return None if node is None else _schema(node, _Rules(defaults), 0)


@dataclass
class _Rules:
    """Options for reading a schema, and the number of types read so far, which is limited."""

    defaults: bool
    nodes: int = 0

    def count(self, depth: int) -> None:
        self.nodes += 1
        if depth > MAX_SCHEMA_DEPTH:
            raise Refused(f"the schema is nested more than {MAX_SCHEMA_DEPTH} deep")
        if self.nodes > MAX_SCHEMA_NODES:
            raise Refused(f"the schema has more than {MAX_SCHEMA_NODES} types")


def _schema(node: Any, rules: _Rules, depth: int) -> ConnectSchema:
    rules.count(depth)
    members = node if type(node) is dict else {}
    name = members.get("type")
    if type(name) is not str:
        raise Refused("Schema must contain 'type' field")
    if name not in _TYPES:
        raise Refused(f"Unknown schema type: {name}")
    if members.keys() <= _PLAIN_MEMBERS and name in _PLAIN:
        return _PLAIN[name][members.get("optional") is True]
    parts: dict[str, Any] = {}
    kind = _TYPES[name]
    if kind is ConnectType.ARRAY:
        parts["value_schema"] = _inner(members, "items", "Array schema did not specify the element type", rules, depth)
    elif kind is ConnectType.MAP:
        parts["key_schema"] = _inner(members, "keys", "Map schema did not specify the key type", rules, depth)
        parts["value_schema"] = _inner(members, "values", "Map schema did not specify the value type", rules, depth)
    elif kind is ConnectType.STRUCT:
        parts["fields"] = _fields(members.get("fields"), rules, depth)
    version = members.get("version")
    schema = ConnectSchema(
        kind,
        members.get("optional") is True,
        _text(members, "name"),
        _int32(version) if type(version) is Number and version.lstrip("-").isdecimal() else None,
        _text(members, "doc"),
        _parameters(members.get("parameters")),
        **parts,
    )
    return with_default(schema, members["default"], rules.defaults) if "default" in members else schema


def _inner(members: dict[str, Any], name: str, missing: str, rules: _Rules, depth: int) -> ConnectSchema:
    if members.get(name) is None:
        raise Refused(missing)
    return _schema(members[name], rules, depth + 1)


def _fields(nodes: Any, rules: _Rules, depth: int) -> tuple[ConnectField, ...]:
    if type(nodes) is not list:
        raise Refused('Struct schema\'s "fields" argument is not an array.')
    fields: dict[str, ConnectField] = {}
    for node in nodes:
        name = node.get("field") if type(node) is dict else None
        if type(name) is not str or not name:
            raise Refused("Struct schema's field name not specified properly")
        if name in fields:
            raise Refused(f"Cannot create field because of field name duplication {name}")
        fields[encodable(name)] = ConnectField(name, _schema(node, rules, depth + 1))
    return tuple(fields.values())


def _text(members: dict[str, Any], name: str) -> str | None:
    text = members.get(name)
    return encodable(text) if type(text) is str else None


def _parameters(node: Any) -> tuple[tuple[str, str], ...]:
    if type(node) is not dict:
        return ()
    if any(type(value) is not str for value in node.values()):
        raise Refused("Schema parameters must have string values.")
    return tuple((encodable(name), encodable(value)) for name, value in node.items())


def encodable(text: str) -> str:
    """Return a text of a schema unchanged; raise Refused for half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused("a text of the schema has half of a surrogate pair") from None
    return text


def _int32(digits: str) -> int:
    """Parse digits as a 32-bit integer that wraps around, as Jackson's intValue does."""
    number = int(digits) if len(digits) < 20 else 0
    return (number + 2**31) % 2**32 - 2**31


def with_default(schema: ConnectSchema, node: Any, defaults: bool = True) -> ConnectSchema:
    """Return the schema with a default given as parsed JSON; raise Refused if the default does not fit.

    A null default changes nothing. A date or time beyond Python's range does not fit.
    """
    value = PayloadReader(schema, defaults=defaults).value(node)
    if value is None:
        return schema
    try:
        default = array_of([value], schema)[0].as_py()
    except (OverflowError, ValueError) as error:  # a date beyond Python's range
        raise Refused(f"the default of a {schema.name or schema.type} is out of range: {error}") from None
    return ConnectSchema(
        schema.type, schema.optional, schema.name, schema.version, schema.doc, schema.parameters, default,
        schema.fields, schema.key_schema, schema.value_schema,
    )  # fmt: skip
