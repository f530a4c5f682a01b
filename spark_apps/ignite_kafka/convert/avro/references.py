"""Avro schemas of a registry together with the schemas that they refer to."""

from __future__ import annotations

from typing import Protocol

from ...registry.schema import Reference, RegistrySchema
from .types import AvroType, parse


class References(Protocol):
    """What finding references asks of :class:`~ignite_kafka.registry.client.Registry`."""

    def referenced(self, reference: Reference) -> RegistrySchema:
        """A schema that another one refers to; RegistryError, RegistryUnavailable."""


def parse_with_references(schema: RegistrySchema, registry: References) -> AvroType:
    """The Avro schema, in which the types of the schemas that it refers to are whole.

    :raises UnsupportedType: a text is no Avro schema, or a type contains itself.
    :raises RegistryError: the registry does not have a schema that is referred to.
    :raises RegistryUnavailable: the registry did not answer.
    """
    known: dict[str, AvroType | None] = {}
    _resolve(schema, known, registry)
    return parse(schema.text, known)


def _resolve(schema: RegistrySchema, known: dict[str, AvroType | None], registry: References) -> None:
    for reference in schema.references:
        if reference.name not in known:
            inner = registry.referenced(reference)
            _resolve(inner, known, registry)
            known[reference.name] = parse(inner.text, known)
