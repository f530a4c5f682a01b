"""Creation of binary types (ops 3001, 3003) and caches (op 1054). Existing caches are not changed.

Formats: `PlatformUtils.readBinaryMetadata` and `ClientBinaryTypeNamePutRequest` of Ignite 2.17; caches:
:mod:`.cache_configuration`.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import pyarrow as pa

from ..errors import TypeClash, UnknownBinaryType, UnsupportedType, WriteFailed
from . import protocol
from .cache_configuration import CacheConfiguration, configuration_bytes
from .cluster import Cluster
from .protocol import ThinError
from .types import type_codes as codes
from .types.model import BinaryType, CacheInfo, QueryEntity, QueryField
from .types.type_table import code_name, java_type

_FULL_NAMES = 0


def get_or_create_cache(cluster: Cluster, configuration: CacheConfiguration) -> CacheInfo:
    """Create a cache from a configuration if it is missing, and return its description.

    An existing cache is not changed.

    :raises WriteFailed: the cluster did not create the cache; the message says why.
    """
    try:
        cluster.ask(
            lambda connection: connection.request(protocol.CACHE_GET_OR_CREATE, configuration_bytes(configuration))
        )
    except ThinError as error:
        remedy = "Check the cache's settings, and that the user may make caches, or make it yourself"
        raise WriteFailed(f"Ignite did not make a cache: {error.message}", remedy, cache=configuration.name) from error
    return cluster.cache(configuration.name)


def query_entity(table: str, key: pa.Field, value: pa.Field) -> QueryEntity:
    """Build the query entity (SQL table) of a cache to create, with the fields of keys and values as columns.

    A key or value that is no object is the column of its field's name; without a name it is SQL's own _KEY or _VAL
    only. A name that key and value share is the key's column. Decimals have precision and scale, which Ignite then
    checks of every value that is put.
    """
    key_columns = _columns(key, is_key=True)
    value_columns = _columns(value, is_key=False)
    names = {column.name.lower() for column in key_columns}
    return QueryEntity(
        key_type=java_type(key),
        value_type=java_type(value),
        key_field=_single_column(key),
        value_field=_single_column(value),
        table=table,
        fields=(*key_columns, *(column for column in value_columns if column.name.lower() not in names)),
    )


def _columns(field: pa.Field, *, is_key: bool) -> tuple[QueryField, ...]:
    inner = tuple(field.type) if pa.types.is_struct(field.type) else (field,)
    return tuple(_column(inner_field, is_key=is_key) for inner_field in inner if inner_field.name)


def _column(field: pa.Field, *, is_key: bool) -> QueryField:
    digits = (field.type.precision, field.type.scale) if pa.types.is_decimal(field.type) else (-1, -1)
    return QueryField(field.name, java_type(field), is_key, False, *digits)


def _single_column(field: pa.Field) -> str | None:
    return None if pa.types.is_struct(field.type) else field.name or None


def register_type(cluster: Cluster, binary: BinaryType, *, unless_known: bool = False) -> None:
    """Register a binary type in the cluster: its fields and schemas, and its name for Java's clients.

    :param unless_known: leave a type unchanged if the cluster knows it; this is checked once more right before the
        request. Another client may still send the type in that moment: then the cluster holds the schemas of both, and
        the later client at least sees them.
    :raises TypeClash: the cluster has a field of the type with another type: names type, field, both types.
    :raises UnsupportedType: the cluster's nodes write objects in another layout, in which they would not find the keys
        written here.
    :raises WriteFailed: the cluster refused it for another reason.
    """
    _check_form(cluster)
    existing = known_type(cluster, binary.type_id)
    if existing is not None:
        if unless_known:
            return
        binary = merged_type(existing, binary)
        if _includes(existing, binary):
            return
    try:
        cluster.ask(lambda connection: connection.request(protocol.BINARY_TYPE_NAME_PUT, _type_name(binary)))
        if unless_known and known_type(cluster, binary.type_id) is not None:
            return
        if not binary.is_class:
            cluster.ask(lambda connection: connection.request(protocol.BINARY_TYPE_PUT, binary_type_bytes(binary)))
    except ThinError as error:
        cluster.forget_types()
        # another client may have been quicker, with another type of a field
        existing = known_type(cluster, binary.type_id)
        if existing is not None:
            merged_type(existing, binary)
        what = f"Ignite did not take binary type {binary.name}: {error.message}"
        raise WriteFailed(what, "The node's log says more", value_type=binary.name) from error
    _await_type(cluster, binary)


def _await_type(cluster: Cluster, binary: BinaryType) -> None:
    """Wait until the cluster reports the registered fields of a type.

    The reply may come from another node, which learns of the fields a little later.
    """
    deadline = time.monotonic() + cluster.endpoint.request_timeout_ms / 1000
    while True:
        cluster.forget_types()
        existing = known_type(cluster, binary.type_id)
        if existing is not None and _includes(existing, binary):
            return
        if time.monotonic() > deadline:
            raise WriteFailed(
                "Ignite took a binary type and does not show it", "The node's log says more", value_type=binary.name
            )


def _check_form(cluster: Cluster) -> None:
    """Check that the nodes use the default binary configuration, because this client writes no other.

    Nodes before 2.11 do not report the configuration, and pass.
    """
    try:
        compact, names = cluster.ask(lambda connection: connection.request(protocol.BINARY_CONFIGURATION, b""))
    except ThinError as error:
        if error.status == protocol.INVALID_OPERATION:
            return
        raise WriteFailed(
            f"Ignite does not report its binary configuration: {error.message}", "The node's log says more"
        ) from error
    if not compact or names != _FULL_NAMES:
        what = (
            "The cluster's binaryConfiguration is not the default one: footers that are not compact, or another name "
            "mapper"
        )
        raise UnsupportedType(
            what, "Objects can be written to clusters with compactFooter true and BinaryBasicNameMapper of full names"
        )


def known_type(cluster: Cluster, type_id: int) -> BinaryType | None:
    """Return the cluster's metadata of a type; None if the cluster does not know the type."""
    try:
        return cluster.binary_type(type_id)
    except UnknownBinaryType:
        return None


def merged_type(existing: BinaryType, binary: BinaryType) -> BinaryType:
    """Merge a type to register with the cluster's type of the same id, and refuse contradictions.

    A field that is Object in the cluster stays so, as it holds values of any type.

    :raises TypeClash: a field has different types in the two, or their names differ; only one is an enum, a constant
        has two ordinals or names, or another field than the cluster's gives the affinity key.
    """
    if existing.name != binary.name:
        what = (
            f"Binary types {binary.name} and {existing.name} have one type id: Ignite does not tell their names apart"
        )
        raise TypeClash(what, "Name the type as the cluster does", value_type=binary.name)
    types = {field.field_id: field.type_code for field in existing.fields}
    for field in binary.fields:
        before = types.get(field.field_id, field.type_code)
        if before not in (field.type_code, codes.OBJECT):
            what = (
                f"Field {field.name} of binary type {binary.name} is {code_name(before)} in the cluster, "
                f"and {code_name(field.type_code)} is to be written"
            )
            raise TypeClash(
                what, "Ignite never changes a field's type: use another field or type name", field=field.name
            )
    _check_same_kind(existing, binary)
    fields = tuple(replace(field, type_code=types.get(field.field_id, field.type_code)) for field in binary.fields)
    return replace(binary, fields=fields, affinity_field=existing.affinity_field)


def _check_same_kind(existing: BinaryType, binary: BinaryType) -> None:
    """Raise TypeClash if enum, constants or affinity key field of two types contradict each other."""
    if existing.is_enum != binary.is_enum:
        kinds = ["an enum" if either.is_enum else "no enum" for either in (existing, binary)]
        _raise_clash(binary, f"is {kinds[0]} in the cluster, and {kinds[1]} is to be written")
    if binary.affinity_field not in (None, existing.affinity_field):
        _raise_clash(
            binary,
            f"has the affinity key field {existing.affinity_field} in the cluster, and {binary.affinity_field} "
            "is to be written",
        )
    for ordinal, label in binary.enum_values.items():
        held = existing.enum_values.get(ordinal, label)
        other = next((number for number, name in existing.enum_values.items() if name == label), ordinal)
        if held != label or other != ordinal:
            constants = ", ".join(f"{name} = {number}" for number, name in sorted(existing.enum_values.items()))
            _raise_clash(
                binary, f"has the constants {constants} in the cluster, and {label} = {ordinal} is to be written"
            )


def _raise_clash(binary: BinaryType, what: str) -> NoReturn:
    remedy = "Ignite never changes what it knows of a type: use another type name"
    raise TypeClash(f"Binary type {binary.name} {what}", remedy, value_type=binary.name)


def binary_type_bytes(binary: BinaryType) -> bytes:
    """Encode the request that registers a binary type (op 3003); `metadata_replies.read_binary_type` decodes it."""
    fields = [
        protocol.string(field.name) + struct.pack("<ii", field.type_code, field.field_id) for field in binary.fields
    ]
    values = [protocol.string(label) + struct.pack("<i", ordinal) for ordinal, label in binary.enum_values.items()]
    schemas = [struct.pack(f"<ii{len(ids)}i", schema_id, len(ids), *ids) for schema_id, ids in binary.schemas.items()]
    head = struct.pack("<i", binary.type_id) + protocol.string(binary.name) + protocol.string(binary.affinity_field)
    return head + _list(fields) + (b"\1" + _list(values) if binary.is_enum else b"\0") + _list(schemas)


def _includes(existing: BinaryType, binary: BinaryType) -> bool:
    ids = {field.field_id for field in existing.fields}
    values = binary.enum_values.keys() <= existing.enum_values.keys()
    return (
        values
        and all(field.field_id in ids for field in binary.fields)
        and binary.schemas.keys() <= existing.schemas.keys()
    )


def _type_name(binary: BinaryType) -> bytes:
    return struct.pack("<BI", protocol.JAVA, binary.type_id & 0xFFFF_FFFF) + protocol.string(binary.name)


def _list(items: Sequence[bytes]) -> bytes:
    return struct.pack("<i", len(items)) + b"".join(items)
