"""Names and properties that Confluent's AvroData uses in Avro schemas for Connect schemas."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = "ConnectDefault"
MAP_ENTRY = "MapEntry"
KEY = "key"
VALUE = "value"
UNION = f"{NAMESPACE}.Union"
ENUM = f"{NAMESPACE}.Enum"
ANYTHING = f"{NAMESPACE}.Anything"

CONNECT_NAME = "connect.name"
CONNECT_DOC = "connect.doc"
CONNECT_VERSION = "connect.version"
CONNECT_DEFAULT = "connect.default"
CONNECT_PARAMETERS = "connect.parameters"
CONNECT_TYPE = "connect.type"
CONNECT_RECORD_DOC = "connect.record.doc"
CONNECT_ENUM_DOC = "connect.enum.doc"
INTERNAL_TYPE = "connect.internal.type"
RECORD_DOC = f"{NAMESPACE}.record.doc"
ENUM_DOC = f"{NAMESPACE}.enum.doc."
FIELD_DOC = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT = f"{NAMESPACE}.field.default"
ENUM_DEFAULT = f"{NAMESPACE}.enum.default."
FIXED_SIZE = "connect.fixed.size"
DECIMAL_PRECISION = "connect.decimal.precision"
DEFAULT_PRECISION = 64
LOGICAL_TYPE = "logicalType"
DECIMAL_TYPE = "decimal"
AVRO_PREFIX = "avro"
"""Prefix of Connect schema parameters that are also properties of the Avro schema."""

GENERALIZED_UNION = "org.apache.kafka.connect.data.Union"
GENERALIZED_ENUM = "org.apache.kafka.connect.data.Enum"
GENERALIZED_UNION_NAME = "connect_union_"

_VALID = re.compile(r"[^\W\d]\w*")


def is_valid(name: str) -> bool:
    """Return whether Avro accepts a name without dots: letters, digits and underscores, no digit first."""
    return _VALID.fullmatch(name) is not None


def scrubbed(name: str) -> str:
    """Return a name without dots, made valid as scrub.invalid.names does it: ``Outer_24Inner`` for ``Outer$Inner``."""
    if not name or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    encoded = quote_plus(name, safe="*").replace("~", "%7E")
    return re.sub(r"[^A-Za-z0-9_]", "_", f"x{encoded}" if encoded[0].isdigit() else encoded)


def scrubbed_full(name: str) -> str:
    """Return a dotted name made valid part by part, see :func:`scrubbed`."""
    return ".".join(map(scrubbed, name.split(".")))


def split(full_name: str) -> tuple[str, str]:
    """Split a dotted name into its namespace, which may be empty, and its last part."""
    namespace, _, name = full_name.rpartition(".")
    return namespace, name
