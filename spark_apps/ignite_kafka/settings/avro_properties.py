"""Properties of the Avro converter, except those of its schema registry client.

Source: AvroDataConfig and the serializers' configs of Confluent.
"""

from __future__ import annotations

from collections.abc import Mapping

from .converter_property import Property
from .fields import BOOLEAN, TEXT, whole_number

_JAVA_OBJECTS = "values are not read into Java classes"
_CONVERTED = "dates, times and decimals have Kafka Connect's types, as with Confluent's converter"

PROPERTIES: Mapping[str, Property] = {
    "enhanced.avro.schema.support": Property(
        BOOLEAN, False, "Write schemas with the parameters of an enum as Avro enums; within unions keep full names"
    ),
    "scrub.invalid.names": Property(
        BOOLEAN,
        False,
        "Replace characters that Avro refuses in names, such as the $ of a nested class: Outer$Inner is Outer_24Inner",
    ),
    "connect.meta.data": Property(
        BOOLEAN, True, "Write Kafka Connect's properties into schemas, connect.name and others"
    ),
    "discard.type.doc.default": Property(
        BOOLEAN, False, "Keep the doc and default of fields alone, in the form of older versions"
    ),
    "allow.optional.map.keys": Property(BOOLEAN, False, "Write maps whose text keys may be null as Avro maps"),
    "flatten.singleton.unions": Property(BOOLEAN, True, "Read a union of one type as that type"),
    "generalized.sum.type.support": Property(
        BOOLEAN, False, "Enums and unions in the form that Protobuf and JSON Schema share"
    ),
    "ignore.default.for.nullables": Property(
        BOOLEAN, False, "Write a null in an optional field with a default as null"
    ),
    "schemas.cache.config": Property(
        whole_number(0, 2_147_483_647), 1_000, "Maximum number of schemas kept, converted"
    ),
    "avro.fail.on.trailing.data": Property(
        BOOLEAN,
        True,
        "Whether bytes behind a value make a bad record: they always do, as they show a wrong schema",
        refused=(False,),
    ),
    "avro.remove.java.properties": Property(
        BOOLEAN, False, "Remove avro.java.string from schemas", ignored="the schemas written have no such property"
    ),
    "avro.use.logical.type.converters": Property(
        BOOLEAN, False, "Convert logical types of Java objects", ignored=_CONVERTED
    ),
    "avro.reflection.allow.null": Property(BOOLEAN, False, "Nulls in Java objects", ignored=_JAVA_OBJECTS),
    "specific.avro.reader": Property(BOOLEAN, False, "Read into generated Java classes", ignored=_JAVA_OBJECTS),
    **{
        f"specific.avro.{side}.type": Property(TEXT, "", "Generated Java class", ignored=_JAVA_OBJECTS)
        for side in ("key", "value")
    },
}
