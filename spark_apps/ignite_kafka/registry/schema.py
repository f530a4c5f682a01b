"""Schemas in a schema registry, and the subjects that they are registered under."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from ..errors import UnsupportedType

AVRO = "AVRO"
JSON = "JSON"
"""The registry's names for the types of schemas."""
_DIALECT = "http://json-schema.org/draft-07/schema#"
"""JSON Schema dialect that Confluent assumes if a schema names none."""


@dataclass(frozen=True)
class Reference:
    """A reference from one registered schema to another, which it calls by a name."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class RegistrySchema:
    """A schema as a registry holds it: text, type and references.

    :param text: the schema as JSON.
    :param type: :data:`AVRO` or :data:`JSON`, or another name of the registry's.
    """

    text: str = field(repr=False)
    type: str
    references: tuple[Reference, ...] = ()


def with_dialect(schema: RegistrySchema) -> RegistrySchema | None:
    """Return a JSON Schema with ``$schema`` added; None if it has one, or is no JSON Schema."""
    if schema.type != JSON:
        return None
    root = json.loads(schema.text)
    if not isinstance(root, dict) or "$schema" in root:
        return None
    # the rest stays as it is: defaults keep the digits of their numbers
    body = schema.text.strip().removeprefix("{").lstrip()
    return replace(schema, text=f'{{"$schema":"{_DIALECT}"{"" if body.startswith("}") else ","}{body}')


@dataclass(frozen=True)
class Registered:
    """The registry's answer for a schema: the id, and the schema to write with.

    :param schema: the schema that values with this id must be written with; not always the requested schema.
    :param strict: whether `schema` must be able to read the requested schema; the registry has not compared them.
    """

    id: int
    schema: RegistrySchema
    strict: bool = False


@dataclass(frozen=True)
class KnownId:
    """A schema id received for a subject, to be passed to other processes."""

    subject: str
    schema: RegistrySchema
    registered: Registered


@dataclass(frozen=True)
class SubjectNames:
    """Naming of the subjects for keys or values, as Confluent's ``SubjectNameStrategy``.

    :param strategy: TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy.
    :param side: ``key`` or ``value``.
    """

    strategy: str
    side: str

    def subject(self, topic: str, record_name: str | None) -> str:
        """Return the subject under which a schema of a topic is registered.

        :param record_name: full name of the schema, if it is a schema of records.
        :raises UnsupportedType: the strategy needs a record's name, and the schema has none.
        """
        if self.strategy == "TopicNameStrategy":
            return f"{topic}-{self.side}"
        if record_name is None:
            raise UnsupportedType(
                f"{self.side}s have no record's name, by which {self.strategy} names their subject",
                f"Leave out {self.side}.subject.name.strategy: TopicNameStrategy names it by the topic",
                topic=topic,
            )
        return f"{topic}-{record_name}" if self.strategy == "TopicRecordNameStrategy" else record_name
