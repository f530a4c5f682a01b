"""The types topic: Ignite binary type metadata, for records whose values travel as Ignite binary.

Compacted, one partition: key = the type id as decimal text, value = JSON of :class:`~ignite_kafka.thin.model.BinaryType`. A type's
record goes in the same transaction as, and before, the first data record of a slot that holds the type.
"""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import asdict
from typing import Any

from ..thin.model import BinaryField, BinaryType, TypeSource
from .slots import SlotWriter


def types_topic(prefix: str) -> str:
    return f"{prefix}-types"


def write_types(writer: SlotWriter, topic: str, type_ids: Set[int], types: TypeSource) -> None:
    """Queue the metadata of each of these types that this writer has not sent yet."""
    for type_id in sorted(type_ids - writer.types_sent):
        writer.send_control(topic, str(type_id).encode(), type_to_json(types.binary_type(type_id)))
        writer.types_sent.add(type_id)


def type_to_json(kind: BinaryType) -> bytes:
    return json.dumps(asdict(kind), separators=(",", ":")).encode()


def type_from_json(data: bytes) -> BinaryType:
    value: dict[str, Any] = json.loads(data)
    value["fields"] = tuple(BinaryField(**field) for field in value["fields"])
    value["schemas"] = {int(schema): tuple(fields) for schema, fields in value["schemas"].items()}
    value["enum_values"] = {int(ordinal): name for ordinal, name in value["enum_values"].items()}
    return BinaryType(**value)
