"""Explanation of the registry's error when the subject's latest schema is of another type, or has another scale.

A topic of several caches, or a cache of several types, has one subject by TopicNameStrategy.

Kafka Connect's Decimal has its scale in the schema, and Ignite keeps the scale of each value. So decimals of several
scales have several schemas. A registry compares them as versions of one schema, and no schema reads decimals of another
scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ...errors import RegistryError, RegistryUnavailable, UnsupportedType
from ...registry.schema import RegistrySchema
from . import names
from .references import References, parse_with_references
from .types import AvroType

_INCOMPATIBLE = 409


class LatestSchemas(References, Protocol):
    """Interface of a registry, with the method that the explanation calls."""

    def latest(self, subject: str) -> RegistrySchema:
        """Return the latest schema of a subject; raise RegistryError or RegistryUnavailable."""


def explained(error: RegistryError, subject: str, avro: AvroType, registry: LatestSchemas) -> RegistryError:
    """Return the registry's error with its cause and a remedy: different types, or different scales of a decimal.

    Otherwise return the error unchanged.
    """
    if error.where.get("status") != _INCOMPATIBLE:
        return error
    try:
        latest = parse_with_references(registry.latest(subject), registry)
    except (RegistryError, RegistryUnavailable, UnsupportedType):  # the refusal is the error to report
        return error
    sent = _value_of(avro)
    registered = _value_of(latest)
    if (sent.kind, sent.name) != (registered.kind, registered.name):
        return _of_types(error, subject, sent, registered)
    difference = next(_other_scales(latest, avro, ""), None)
    if difference is None:
        return error
    path, before, now = difference
    place = f"field {path}" if path else "the value itself"
    what = (
        f"{error.what}: a decimal ({place}) has scale {now} here and scale {before} in the latest schema of subject "
        f"{subject}"
    )
    remedy = (
        "Declare the scale in the cache's query entity, so that all its decimals are written with it, set the "
        f"compatibility of {subject} to NONE, or use a converter without a registry, such as string for keys that are "
        "decimals."
    )
    return RegistryError(what, remedy, **error.where)


def _of_types(error: RegistryError, subject: str, sent: AvroType, registered: AvroType) -> RegistryError:
    what = (
        f"{error.what}: the type is {sent.name or sent.kind} here and {registered.name or registered.kind} in the "
        f"latest schema of subject {subject}"
    )
    if sent.kind == registered.kind == "record":
        remedy = "Set the subject name strategy to TopicRecordNameStrategy, which gives each type a subject, or"
    else:
        remedy = "Give each type a topic of its own, or"
    return RegistryError(what, f"{remedy} set the compatibility of {subject} to NONE.", **error.where)


def _other_scales(registered: AvroType, other: AvroType, path: str) -> Iterator[tuple[str, int, int]]:
    """Yield path and both scales of each decimal that has different scales in two schemas."""
    first = _value_of(registered)
    second = _value_of(other)
    if first.kind != second.kind:
        return
    if first.property(names.LOGICAL_TYPE) == second.property(names.LOGICAL_TYPE) == names.DECIMAL_TYPE:
        scales = first.property("scale") or 0, second.property("scale") or 0
        if scales[0] != scales[1]:
            yield path, *scales
    members = {field.name: field.type for field in first.fields}
    for field in second.fields:
        if field.name in members:
            yield from _other_scales(members[field.name], field.type, f"{path}.{field.name}" if path else field.name)
    if first.items is not None and second.items is not None:
        yield from _other_scales(first.items, second.items, f"{path}[]")


def _value_of(avro: AvroType) -> AvroType:
    """Return an optional type without its null branch, so that two types can be compared."""
    branches = [branch for branch in avro.branches if branch.kind != "null"]
    return branches[0] if len(branches) == 1 else avro
