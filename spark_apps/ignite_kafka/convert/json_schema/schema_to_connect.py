"""Conversion of JSON Schemas into Connect schemas, as Confluent's JsonSchemaConverter does it.

Schemas made by other programs are converted, too. There are two differences to Confluent's converter: properties
without ``connect.index`` keep the order of the text, and a choice between several types other than null is refused
instead of converted into a struct with a field for each type.

Source: io.confluent.connect.json.JsonSchemaData.toConnectSchema.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...common.record_limits import MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES
from ..connect import ConnectField, ConnectSchema, ConnectType
from ..json.values import Refused
from ..json_with_schemas.schema_to_connect import encodable, with_default
from ..rules.parsed_json import Number

_ENUM = "io.confluent.connect.json.Enum"
_CONNECT_TYPES = {
    "int8": ConnectType.INT8, "int16": ConnectType.INT16, "int32": ConnectType.INT32, "int64": ConnectType.INT64,
    "float32": ConnectType.FLOAT32, "float64": ConnectType.FLOAT64, "bytes": ConnectType.BYTES,
}  # fmt: skip
_INTEGERS = {ConnectType.INT8, ConnectType.INT16, ConnectType.INT32, ConnectType.INT64}
_NULL = {"type": "null"}
_TYPES = frozenset({"object", "array", "string", "boolean", "integer", "number"})

Referenced = Callable[[str], Any]
"""Function that returns the parsed JSON Schema that a reference names; None for an unknown name."""


class SchemaReader:
    """Reader that converts one JSON Schema into a Connect schema.

    :param root: the JSON Schema, parsed by :func:`~.json.read_rows.parse`.
    :param referenced: function that returns the schemas it refers to.
    :param required: do not allow null for members that are not required (not ``use.optional.for.nonrequired``).
    """

    def __init__(self, root: Any, referenced: Referenced, *, required: bool = True) -> None:
        self._root = root
        self._referenced = referenced
        self._required = required
        self._nodes = self._deepest = 0
        self._documents: dict[str, Any] = {}  # parsed schemas of references, by name
        self._targets: dict[tuple[str, int], tuple[Any, Any]] = {}
        self._kept: dict[tuple[int, bool], tuple[ConnectSchema, int, int]] = {}

    def schema(self) -> ConnectSchema:
        """Return the Connect schema that the JSON Schema converts to.

        :raises Refused: Connect has no such schema, or the schema is larger than `MAX_SCHEMA_NODES` or
            `MAX_SCHEMA_DEPTH` allow.
        """
        return self._schema(self._root, self._root, optional=False, depth=0)

    def _schema(self, node: Any, root: Any, *, optional: bool, depth: int) -> ConnectSchema:
        self._count(1, depth)
        if type(node) is not dict or not node:
            raise Refused("a JSON Schema that allows anything has no Connect schema")
        if "$ref" in node:
            return self._read_reference(node["$ref"], root, optional, depth)
        choices = node.get("oneOf", node.get("anyOf"))
        if type(choices) is list:
            rest = [choice for choice in choices if choice != _NULL]
            if len(rest) != 1:
                raise Refused(
                    "a choice between several types has no Connect schema here: write one type, or one and null"
                )
            return self._schema(rest[0], root, optional=optional or len(rest) < len(choices), depth=depth + 1)
        if type(node.get("allOf")) is list:
            return self._schema(_merge(node), root, optional=optional, depth=depth + 1)
        kinds = node.get("type")
        if type(kinds) is list:
            rest = [kind for kind in kinds if kind != "null"]
            if len(rest) != 1:
                raise Refused(
                    "a choice between several types has no Connect schema here: write one type, or one and null"
                )
            return self._schema(
                {**node, "type": rest[0]}, root, optional=optional or len(rest) < len(kinds), depth=depth + 1
            )
        return self._single(node, root, optional, depth)

    def _count(self, nodes: int, depth: int) -> None:
        self._nodes = self._nodes + nodes
        self._deepest = max(self._deepest, depth)
        if depth > MAX_SCHEMA_DEPTH:
            raise Refused(f"the JSON Schema is nested more than {MAX_SCHEMA_DEPTH} deep, or refers to itself")
        if self._nodes > MAX_SCHEMA_NODES:
            raise Refused(
                f"the JSON Schema has more than {MAX_SCHEMA_NODES} types once each $ref is replaced by its schema"
            )

    def _read_reference(self, reference: Any, root: Any, optional: bool, depth: int) -> ConnectSchema:
        """Return the Connect schema that a ``$ref`` refers to, converted once but counted at each reference."""
        target, its_root = self._target(reference, root)
        place = id(target), optional
        if place in self._kept:
            schema, nodes, levels = self._kept[place]
            self._count(nodes, depth + levels)
            return schema
        nodes = self._nodes
        deepest = self._deepest
        self._deepest = depth
        schema = self._schema(target, its_root, optional=optional, depth=depth + 1)
        self._kept[place] = schema, self._nodes - nodes, self._deepest - depth
        self._deepest = max(deepest, self._deepest)
        return schema

    def _single(self, node: dict[str, Any], root: Any, optional: bool, depth: int) -> ConnectSchema:
        parameters = _object(node, "connect.parameters")
        unnamed = self._kind(node, root, depth)
        schema = replace(
            unnamed,
            optional=optional,
            name=_text(node, "title"),
            doc=_text(node, "description"),
            version=int(version)
            if type(version := node.get("connect.version")) is Number and version.lstrip("-").isdecimal()
            else None,
            parameters=unnamed.parameters
            + tuple((encodable(name), encodable(str(parameter))) for name, parameter in parameters.items()),
        )
        return schema if node.get("default") is None else with_default(schema, node["default"])

    def _kind(self, node: dict[str, Any], root: Any, depth: int) -> ConnectSchema:
        kind = _type_of(node)
        connect = _text(node, "connect.type")
        if kind == "object" and connect == "map":
            value = self._schema(node.get("additionalProperties"), root, optional=False, depth=depth + 1)
            return ConnectSchema(ConnectType.MAP, key_schema=ConnectSchema(ConnectType.STRING), value_schema=value)
        if kind == "object":
            return ConnectSchema(ConnectType.STRUCT, fields=self._fields(node, root, depth))
        if kind == "array":
            return self._array(node, root, depth)
        if kind == "enum":
            symbols = tuple(
                (encodable(f"{_ENUM}.{symbol}"), str(symbol)) for symbol in node["enum"] if symbol is not None
            )
            return ConnectSchema(ConnectType.STRING, parameters=((_ENUM, ""), *symbols))
        if kind == "string":
            return ConnectSchema(ConnectType.BYTES if connect == "bytes" else ConnectType.STRING)
        if kind == "boolean":
            return ConnectSchema(ConnectType.BOOLEAN)
        plain = ConnectType.INT64 if kind == "integer" else ConnectType.FLOAT64
        connect_type = plain if connect is None else _CONNECT_TYPES.get(connect)
        if connect_type is None or (connect_type in _INTEGERS) != (kind == "integer"):
            raise Refused(f"a {kind} with connect.type {connect} has no Connect schema")
        return ConnectSchema(connect_type)

    def _array(self, node: dict[str, Any], root: Any, depth: int) -> ConnectSchema:
        items = node.get("items")
        if items is None:
            raise Refused("Array schema did not specify the items type")
        if node.get("connect.type") != "map":
            return ConnectSchema(
                ConnectType.ARRAY, value_schema=self._schema(items, root, optional=False, depth=depth + 1)
            )
        entry = _object(items, "properties") if type(items) is dict else {}
        sides = [self._schema(entry.get(name), root, optional=False, depth=depth + 1) for name in ("key", "value")]
        return ConnectSchema(ConnectType.MAP, key_schema=sides[0], value_schema=sides[1])

    def _fields(self, node: dict[str, Any], root: Any, depth: int) -> tuple[ConnectField, ...]:
        required = _required(node)
        placed = []
        for number, (name, definition) in enumerate(_object(node, "properties").items()):
            optional = not self._required and name not in required
            index = definition.get("connect.index") if type(definition) is dict else None
            place = int(index) if type(index) is Number and index.isdecimal() else number
            try:
                placed.append(
                    (
                        place,
                        ConnectField(
                            encodable(name), self._schema(definition, root, optional=optional, depth=depth + 1)
                        ),
                    )
                )
            except Refused as error:
                raise error.within(name) from None
        return tuple(field for _place, field in sorted(placed, key=lambda pair: pair[0]))

    def _target(self, reference: Any, root: Any) -> tuple[Any, Any]:
        """Return the JSON Schema that a ``$ref`` points to, with the document containing it.

        Each document is parsed once, and each pointer is followed once.
        """
        target = self._targets.get((str(reference), id(root)))
        if target is None:
            target = self._targets[str(reference), id(root)] = self._find(str(reference), root)
        return target

    def _find(self, reference: str, root: Any) -> tuple[Any, Any]:
        name, _, pointer = reference.partition("#")
        if name and name not in self._documents:
            self._documents[name] = self._referenced(name)
        document = self._documents[name] if name else root
        if document is None:
            raise Refused(f"the JSON Schema refers to {name}, which the registry does not name among its references")
        target = document
        for part in filter(None, pointer.split("/")):
            target = target.get(part.replace("~1", "/").replace("~0", "~")) if type(target) is dict else None
        return target, document


def _type_of(node: dict[str, Any]) -> str:
    if type(node.get("enum")) is list:
        return "enum"
    kind = node.get("type", "object" if "properties" in node else None)
    if type(kind) is not str or kind not in _TYPES:
        raise Refused(f"a JSON Schema of type {kind} has no Connect schema")
    return str(kind)


def _merge(node: dict[str, Any]) -> dict[str, Any]:
    """Merge the parts of an allOf into one schema: properties and required members of all parts."""
    merged: dict[str, Any] = {name: value for name, value in node.items() if name != "allOf"}
    properties = dict(_object(merged, "properties"))
    required = list(_required(merged))
    for part in node["allOf"]:
        if type(part) is not dict or "$ref" in part:
            raise Refused("an allOf of references has no Connect schema here")
        properties |= _object(part, "properties")
        required += _required(part)
        merged |= part
    return merged | ({"properties": properties} if properties else {}) | ({"required": required} if required else {})


def _text(node: dict[str, Any], name: str) -> str | None:
    text = node.get(name)
    return encodable(text) if type(text) is str else None


def _object(node: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the members of the object under a keyword; none without the keyword."""
    member = node.get(name)
    if member is not None and type(member) is not dict:
        raise Refused(f"{name} of the JSON Schema is no object")
    return member or {}


def _required(node: dict[str, Any]) -> list[Any]:
    """Return the names of the required members; Draft 3's `required` within members is ignored."""
    names = node.get("required")
    return names if type(names) is list else []
