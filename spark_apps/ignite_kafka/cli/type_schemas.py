"""JSON Schemas (draft 2020-12) of Python types, as ``dataclasses.asdict`` and ``json.dumps`` write their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ..common.typed_json import Range

Schema = dict[str, Any]

_SCALARS: Mapping[object, Schema] = {
    Any: {},
    bool: {"type": "boolean"},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    NoneType: {"type": "null"},
}


def schema_of(form: Any) -> Schema:
    """Return the schema of a type's values.

    :param form: a scalar, dataclass, tuple, list, mapping by text or integer, union, ``Literal``, or a number annotated
        with a :class:`~ignite_kafka.common.typed_json.Range`.
    :raises TypeError: any other type.
    """
    if form in _SCALARS:
        return dict(_SCALARS[form])
    if is_dataclass(form):
        hints = get_type_hints(form, include_extras=True)
        return object_of({field.name: schema_of(hints[field.name]) for field in fields(form)})
    origin = get_origin(form)
    of = get_args(form)
    if origin is Annotated:
        return _with_bounds(schema_of(of[0]), of[1])
    if origin in (Union, UnionType):
        return any_of(*map(schema_of, of))
    if origin is Literal:
        return {"enum": list(of)}
    if origin is tuple and of[-1] is not Ellipsis:
        items = [schema_of(item) for item in of]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is not None and issubclass(origin, Mapping):
        return map_of(schema_of(of[1]))
    if origin is not None and issubclass(origin, Sequence):
        return array_of(schema_of(of[0]))
    raise TypeError(f"{form} is no type of JSON values")


def object_of(members: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with named members, all required but the optional ones.

    Later versions may add members.
    """
    return {"type": "object", "properties": {**members, **(optional or {})}, "required": list(members)}


def map_of(value: Schema) -> Schema:
    """Return the schema of an object whose members have any names, and values of one schema."""
    return {"type": "object", "additionalProperties": value}


def array_of(item: Schema) -> Schema:
    """Return the schema of an array of one kind of items."""
    return {"type": "array", "items": item}


def any_of(*forms: Schema) -> Schema:
    """Return the schema of values of one of several forms; scalars are joined to one type."""
    if all(set(form) == {"type"} and isinstance(form["type"], str) for form in forms):
        return {"type": [form["type"] for form in forms]}
    return {"anyOf": list(forms)}


def nullable(form: Schema) -> Schema:
    """Return the schema of values that may be null."""
    return any_of(form, {"type": "null"})


def described(form: Schema, description: str) -> Schema:
    """Return the schema with a description."""
    return {**form, "description": description}


def _with_bounds(schema: Schema, bounds: Range) -> Schema:
    return {**schema, "minimum": bounds.least, "maximum": bounds.most}
