"""Avro schemas as immutable objects, with their JSON writer and parser.

Source: org.apache.avro.Schema of Avro 1.11; JSON members have its order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...common.record_limits import MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES
from ...errors import UnsupportedType
from .names import split

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED = frozenset({"record", "enum", "fixed"})
NO_DEFAULT = object()
"""Default of a field that has none; None would be the default null."""

Properties = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class AvroField:
    """A field of an Avro record."""

    name: str
    type: AvroType
    doc: str | None = None
    default: Any = NO_DEFAULT


@dataclass(frozen=True)
class AvroType:
    """An Avro schema: a primitive, named, array, map or union type.

    :param kind: Avro's name of the type: a primitive, record, enum, fixed, array, map or union.
    :param name: full name of a record, enum or fixed.
    :param default: default symbol of an enum.
    :param size: bytes of a fixed.
    :param items: schema of an array's items or a map's values.
    :param branches: schemas of a union.
    :param properties: names and JSON values of other members, in order, such as logicalType.
    """

    kind: str
    name: str = ""
    doc: str | None = None
    fields: tuple[AvroField, ...] = ()
    symbols: tuple[str, ...] = ()
    default: str | None = None
    size: int = 0
    items: AvroType | None = None
    branches: tuple[AvroType, ...] = ()
    properties: Properties = ()

    def property(self, name: str) -> Any:
        """Return a property of the schema, such as logicalType, as a JSON value; None without the property."""
        return next((value for key, value in self.properties if key == name), None)

    def content(self) -> AvroType:
        """Return the schema of an array's items or a map's values."""
        assert self.items is not None
        return self.items


NULL = AvroType("null")


def to_text(schema: AvroType) -> str:
    """Return a schema as JSON text; a repeated named type is written as its name only.

    :raises UnsupportedType: two different types have the same name.
    """
    return json.dumps(_json(schema, "", {}), separators=(",", ":"), ensure_ascii=False)


def _json(schema: AvroType, space: str, seen: dict[str, AvroType]) -> Any:
    if schema.kind == "union":
        return [_json(branch, space, seen) for branch in schema.branches]
    if schema.kind in PRIMITIVES and not schema.properties:
        return schema.kind
    members: dict[str, Any] = {"type": schema.kind}
    if schema.kind in NAMED:
        namespace, name = split(schema.name)
        if schema.name in seen:
            if seen[schema.name] != schema:
                raise _redefined(seen[schema.name])
            return name if namespace == space else schema.name
        seen[schema.name] = schema
        members |= _named_json(schema, namespace, space, seen)
    elif schema.kind == "array":
        members["items"] = _json(schema.content(), space, seen)
    elif schema.kind == "map":
        members["values"] = _json(schema.content(), space, seen)
    return members | dict(schema.properties)


def _named_json(schema: AvroType, namespace: str, space: str, seen: dict[str, AvroType]) -> dict[str, Any]:
    members: dict[str, Any] = {"name": split(schema.name)[1]}
    if namespace != space:
        members["namespace"] = namespace
    if schema.doc is not None:
        members["doc"] = schema.doc
    if schema.kind == "record":
        members["fields"] = [_field(field, namespace, seen) for field in schema.fields]
    elif schema.kind == "enum":
        members["symbols"] = list(schema.symbols)
        if schema.default is not None:
            members["default"] = schema.default
    else:
        members["size"] = schema.size
    return members


def _field(field: AvroField, space: str, seen: dict[str, AvroType]) -> dict[str, Any]:
    members: dict[str, Any] = {"name": field.name, "type": _json(field.type, space, seen)}
    if field.doc is not None:
        members["doc"] = field.doc
    if field.default is not NO_DEFAULT:
        members["default"] = field.default
    return members


def _redefined(first: AvroType) -> UnsupportedType:
    """Return the error to raise for a schema with two different types of the same name.

    :param first: the first of these types in the schema.
    """
    within = [field.name for field in first.fields if field.type.name == first.name or _has(field.type, first.name)]
    if within:
        why = "each level has another form in Avro, which knows one form of a type within a schema"
        what = f"the type {first.name} contains itself, in field {', '.join(within)}: {why}"
        return UnsupportedType(what, "Use converter json, or json-schema")
    remedy = (
        "Set fieldNullabilityPolicy to EAGER, so that all objects of a type have all its fields, or use converter json"
    )
    return UnsupportedType(
        f"Avro knows one form of a type within a schema, and the fields of {first.name} differ from place to place",
        remedy,
    )


def _has(schema: AvroType, name: str) -> bool:
    """Return whether a schema contains, at any depth, a type with this name."""
    inner = [
        *schema.branches,
        *(field.type for field in schema.fields),
        *([] if schema.items is None else [schema.items]),
    ]
    return any(member.name == name or _has(member, name) for member in inner)


def parse(text: str, named: dict[str, AvroType | None] | None = None) -> AvroType:
    """Parse the JSON text of an Avro schema.

    :param named: types by full name that the text may refer to; the types that the text defines are added.
    :raises UnsupportedType: the text is no Avro schema, is larger than `MAX_SCHEMA_NODES` or `MAX_SCHEMA_DEPTH` allow,
        or has a type that contains itself, which no column can hold.
    """
    try:
        document = json.loads(text)
        json.dumps(document, ensure_ascii=False).encode()
        parsed = _parse_node(document, "", {} if named is None else named)
    except UnicodeEncodeError as error:
        raise _wrong("has half of a surrogate pair") from error
    except ValueError as error:
        raise _wrong(f"is no JSON: {error}") from error
    except RecursionError:
        raise _too_deep() from None
    _require_bounded(parsed)
    return parsed


def _require_bounded(schema: AvroType) -> None:
    """Refuse a schema with too many types or levels, a type counted at each of its references.

    Each type is visited once, whatever the number of its references.
    """
    sizes: dict[int, tuple[int, int]] = {}  # number of types and levels, by identity
    waiting = [schema]
    while waiting:
        current = waiting[-1]
        inner = [
            *(field.type for field in current.fields),
            *current.branches,
            *([current.items] if current.items else []),
        ]
        left = [each for each in inner if id(each) not in sizes]
        if left:
            waiting += left
            if len(waiting) > MAX_SCHEMA_NODES:
                raise _too_large()
            continue
        waiting.pop()
        inner_sizes = [sizes[id(each)] for each in inner]
        sizes[id(current)] = (
            1 + sum(count for count, _ in inner_sizes),
            1 + max((levels for _, levels in inner_sizes), default=0),
        )
    count, levels = sizes[id(schema)]
    if levels > MAX_SCHEMA_DEPTH:
        raise _too_deep()
    if count > MAX_SCHEMA_NODES:
        raise _too_large()


def _too_large() -> UnsupportedType:
    what = f"has more than {MAX_SCHEMA_NODES} types once each name is replaced by its type"
    return _wrong(what, "Write these records with a smaller schema")


def _too_deep() -> UnsupportedType:
    return _wrong(f"is nested more than {MAX_SCHEMA_DEPTH} levels deep", "Write these records with another schema")


def _parse_node(node: Any, space: str, named: dict[str, AvroType | None]) -> AvroType:
    if isinstance(node, str):
        return AvroType(node) if node in PRIMITIVES else _reference(node, space, named)
    if isinstance(node, list):
        return AvroType("union", branches=tuple(_parse_node(branch, space, named) for branch in node))
    if not isinstance(node, dict) or "type" not in node:
        raise _wrong(f"has {json.dumps(node)[:100]} where a type belongs")
    kind = node["type"]
    if isinstance(kind, str) and kind in NAMED:
        return _parse_named(node, space, named)
    if kind == "array":
        return AvroType(kind, items=_parse_node(node.get("items"), space, named), properties=_rest(node, "items"))
    if kind == "map":
        return AvroType(kind, items=_parse_node(node.get("values"), space, named), properties=_rest(node, "values"))
    if isinstance(kind, str) and kind in PRIMITIVES:
        return AvroType(kind, properties=_rest(node))
    return _parse_node(kind, space, named)


def _reference(name: str, space: str, named: dict[str, AvroType | None]) -> AvroType:
    full = name if "." in name or not space else f"{space}.{name}"
    full = full if full in named else name
    if full not in named:
        raise _wrong(f"has the unknown type {name}")
    schema = named[full]
    if schema is None:
        raise UnsupportedType(
            f"the Avro type {full} contains itself, which columns cannot hold",
            "Write these records with another schema",
        )
    return schema


def _parse_named(node: Mapping[str, Any], space: str, named: dict[str, AvroType | None]) -> AvroType:
    name = _name_of(node)
    doc = _text_of(node, "doc")
    namespace = split(name)[0] or (_text_of(node, "namespace") if "namespace" in node else space) or ""
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    named[full] = None
    space = split(full)[0]
    if node["type"] == "enum":
        symbols = tuple(_check(symbol, str, "symbol") for symbol in _check(node.get("symbols"), list, "symbols"))
        rest = _rest(node, "name", "namespace", "doc", "symbols", "default")
        schema = AvroType("enum", full, doc, symbols=symbols, default=_text_of(node, "default"), properties=rest)
    elif node["type"] == "fixed":
        size = _check(node.get("size"), int, "size")
        schema = AvroType("fixed", full, doc, size=size, properties=_rest(node, "name", "namespace", "doc", "size"))
    else:
        fields = tuple(_parse_field(field, space, named) for field in _check(node.get("fields"), list, "fields"))
        schema = AvroType("record", full, doc, fields, properties=_rest(node, "name", "namespace", "doc", "fields"))
    named[full] = schema
    return schema


def _parse_field(node: Any, space: str, named: dict[str, AvroType | None]) -> AvroField:
    name = _name_of(_check(node, dict, "field"))
    return AvroField(
        name, _parse_node(node.get("type"), space, named), _text_of(node, "doc"), node.get("default", NO_DEFAULT)
    )


def _name_of(node: Mapping[str, Any]) -> str:
    name = _text_of(node, "name")
    if name is None:
        raise _wrong("has a record, enum, fixed or field without a name")
    return name


def _text_of(node: Mapping[str, Any], member: str) -> str | None:
    text = node.get(member)
    return text if isinstance(text, str) else None


def _check(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value < 0):
        raise _wrong(f"has the {what} {json.dumps(value)[:100]}")
    return value


def _rest(node: Mapping[str, Any], *members: str) -> Properties:
    return tuple(
        (name, value) for name, value in node.items() if name not in members and name not in ("type", "aliases")
    )


def _wrong(what: str, remedy: str = "Correct the schema in the registry") -> UnsupportedType:
    return UnsupportedType(f"the Avro schema {what}", remedy)
