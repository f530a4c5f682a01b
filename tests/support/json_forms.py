"""Records of foreign producers as JSON, without and with schemas, and what a sink registers for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.convert.to_ignite import ConversionRules, SideRules
from ignite_kafka.ignite.types.model import TypeSource
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.settings.converters import parse_properties

PLAIN, SCHEMAS = ConversionRules(), ConversionRules(value=SideRules(properties=parse_properties("", "json", {"schemas.enable": "true"})))
SCHEMA_TYPES = {int: "int64", str: "string", bool: "boolean"}


def as_json(fields: dict[str, Any]) -> bytes:
    """A value without a schema."""
    return json.dumps(fields).encode()


def with_schema(fields: dict[str, Any]) -> bytes:
    """Integers are int64 in the schema, as most producers have them."""
    return json.dumps({"schema": schema_of(fields), "payload": fields}).encode()


def schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"type": "struct", "optional": True, "fields": [{"field": name, **schema_of(one)} for name, one in value.items()]}
    return {"type": SCHEMA_TYPES[type(value)] if value is not None else "string", "optional": True}


FORMS = pytest.mark.parametrize(("rules", "written"), [(PLAIN, as_json), (SCHEMAS, with_schema)], ids=["json", "with schemas"])


def field_codes(types: TypeSource, name: str) -> dict[str, int]:
    """Type codes of a binary type's fields in its metadata."""
    return {one.name: one.type_code for one in types.binary_type(java_hash(name.lower())).fields}
