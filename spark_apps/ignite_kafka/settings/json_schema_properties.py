"""Properties of converter `json-schema`.

Their names are those of Confluent's ``JsonSchemaDataConfig`` and ``KafkaJsonSchemaSerializerConfig``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .converter_property import Property
from .fields import BOOLEAN, TEXT, whole_number

_JAVA_OBJECTS = "documents are neither made of Java objects nor read into them"

PROPERTIES: Mapping[str, Property] = MappingProxyType(
    {
        "object.additional.properties": Property(
            BOOLEAN,
            True,
            "Whether schemas of objects allow members that they do not name; false writes additionalProperties: false",
        ),
        "use.optional.for.nonrequired": Property(
            BOOLEAN, False, "Read members that a schema does not require as optional, for schemas of others"
        ),
        "ignore.default.for.nullables": Property(
            BOOLEAN, False, "Write a null as null also where its field has a default"
        ),
        "json.fail.invalid.schema": Property(
            BOOLEAN, False, "Check documents", ignored="documents are made from their schema"
        ),
        "json.oneof.for.nullables": Property(BOOLEAN, True, "Form of null", ignored="JsonSchemaConverter writes oneOf"),
        "json.write.dates.iso8601": Property(
            BOOLEAN, False, "Form of dates", ignored="JsonSchemaConverter writes numbers"
        ),
        "json.indent.output": Property(
            BOOLEAN, False, "Indent documents", refused=(True,), remedy="Leave it out: documents are compact"
        ),
        "generalized.sum.type.support": Property(
            BOOLEAN, False, "Names of enumerations in Connect schemas", refused=(True,), remedy="Leave it out"
        ),
        "ignore.modern.dialects": Property(
            BOOLEAN, False, "Read any draft as draft 7", ignored="every draft is read alike"
        ),
        "flatten.singleton.unions": Property(
            BOOLEAN,
            True,
            "Read a choice of one type as that type",
            refused=(False,),
            remedy="Leave it out: it always is",
        ),
        **{
            name: Property(
                whole_number(0), 1_000, "Maximum number of schemas kept", ignored="max.schemas.per.subject limits them"
            )
            for name in ("schemas.cache.config", "schemas.cache.size")
        },
        **{
            f"json.{name}": Property(TEXT, default, "Form of Java objects", ignored=_JAVA_OBJECTS)
            for name, default in {
                "fail.unknown.properties": "true",
                "schema.spec.version": "draft_7",
                "default.property.inclusion": "",
                "key.type": "",
                "value.type": "",
            }.items()
        },
        "type.property": Property(TEXT, "javaType", "Member that names a Java class", ignored=_JAVA_OBJECTS),
    }
)
