"""Kafka Connect's data model: schemas, and columns of values of one schema.

The folders to_kafka and to_ignite import it. Source: org.apache.kafka.connect.data of Kafka 4.3.1.
"""

from .columns import ConnectColumn, ConnectPart, Deserialized, Deserializer, Registering, Serializer
from .schema import ConnectField, ConnectSchema, ConnectType

__all__ = [
    "ConnectColumn",
    "ConnectField",
    "ConnectPart",
    "ConnectSchema",
    "ConnectType",
    "Deserialized",
    "Deserializer",
    "Registering",
    "Serializer",
]
