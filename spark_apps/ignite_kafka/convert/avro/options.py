"""Options of the Avro converter that determine how Connect schemas become Avro schemas, and back.

Source: io.confluent.connect.avro.AvroDataConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AvroOptions:
    """Options of Confluent's AvroDataConfig, with its defaults.

    :param enhanced: enums stay Avro enums, names within unions are full.
    :param scrub: characters that Avro refuses in names are replaced.
    :param metadata: write and read the properties ``connect.*``.
    :param discard_docs: a field's doc is in the field's schema, not in the record's parameters.
    :param allow_optional_map_keys: a map with optional text keys is an Avro map.
    :param flatten_singletons: a union of one type is that type.
    :param generalized_sums: enums and unions in the form that Protobuf and JSON Schema share.
    :param ignore_nullable_default: a null in a field with a default stays null.
    """

    enhanced: bool = False
    scrub: bool = False
    metadata: bool = True
    discard_docs: bool = False
    allow_optional_map_keys: bool = False
    flatten_singletons: bool = True
    generalized_sums: bool = False
    ignore_nullable_default: bool = False

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> AvroOptions:
        """Return the options that the properties of a converter set."""
        return cls(
            properties["enhanced.avro.schema.support"],
            properties["scrub.invalid.names"],
            properties["connect.meta.data"],
            properties["discard.type.doc.default"],
            properties["allow.optional.map.keys"],
            properties["flatten.singleton.unions"],
            properties["generalized.sum.type.support"],
            properties["ignore.default.for.nullables"],
        )
