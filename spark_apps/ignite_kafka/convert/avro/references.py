"""Parser of Avro schemas in a registry, together with the schemas that they refer to."""

from __future__ import annotations

from typing import Protocol

from ...common.record_limits import MAX_SCHEMA_DEPTH
from ...errors import UnsupportedType
from ...registry.schema import Reference, RegistrySchema
from .types import AvroType, parse


class References(Protocol):
    """Interface of a registry, with the method that the parser calls to get referenced schemas."""

    def referenced(self, reference: Reference) -> RegistrySchema:
        """Return the schema that a reference points to; raise RegistryError or RegistryUnavailable."""


def parse_with_references(schema: RegistrySchema, registry: References) -> AvroType:
    """Parse an Avro schema of the registry together with the schemas that it refers to.

    :raises UnsupportedType: a text is no Avro schema, a schema is too large, or a type contains itself.
    :raises RegistryError: the registry does not have a referenced schema.
    :raises RegistryUnavailable: the registry did not answer.
    """
    named: dict[str, AvroType | None] = {}
    _resolve(schema, named, registry)
    return parse(schema.text, named)


def _resolve(schema: RegistrySchema, named: dict[str, AvroType | None], registry: References, depth: int = 0) -> None:
    if depth > MAX_SCHEMA_DEPTH:
        what = f"the Avro schema refers to others over more than {MAX_SCHEMA_DEPTH} steps, or to itself"
        raise UnsupportedType(what, "Correct the references in the registry")
    for reference in schema.references:
        if reference.name not in named:
            inner = registry.referenced(reference)
            _resolve(inner, named, registry, depth + 1)
            named[reference.name] = parse(inner.text, named)
