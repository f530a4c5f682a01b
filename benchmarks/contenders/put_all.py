"""pyignite's way of a sink: records of a topic, Python's json, put_all."""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyignite
from confluent_kafka import Consumer, TopicPartition
from pyignite import GenericObjectMeta
from pyignite.datatypes import BoolObject, DoubleObject, IntObject, LongObject, String, TimestampObject

from .serve import serve

_PUT = 1_000
_TYPES = {
    "java.lang.Long": LongObject,
    "java.lang.Integer": IntObject,
    "java.lang.Double": DoubleObject,
    "java.lang.String": String,
    "java.sql.Timestamp": TimestampObject,
    "java.lang.Boolean": BoolObject,
}


def put_all(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first ``count`` records, as plain as can be."""
    fields = request["fields"]
    schema = OrderedDict((name, _TYPES[java]) for name, java in fields.items())
    kind: Any = GenericObjectMeta(request["type"], (), {}, schema=schema)
    consumer = Consumer(
        {"bootstrap.servers": request["bootstrap"], "group.id": uuid.uuid4().hex, "isolation.level": "read_committed"}
    )
    host, port = request["address"].rsplit(":", 1)
    client, count = pyignite.Client(), 0
    with client.connect(host, int(port)):
        cache = client.get_cache(request["cache"])
        partitions = consumer.list_topics(request["topic"]).topics[request["topic"]].partitions
        consumer.assign([TopicPartition(request["topic"], partition, 0) for partition in partitions])
        while count < request["count"]:
            entries = {}
            for message in consumer.consume(min(_PUT, request["count"] - count), 1.0):
                value = {name: _typed(item, fields[name]) for name, item in json.loads(message.value() or b"").items()}
                entries[int(message.key() or b"")] = kind(**value)
                count += 1
            cache.put_all(entries)
    consumer.close()
    return {"entries": count}


def _typed(value: Any, java_type: str) -> Any:
    if java_type == "java.sql.Timestamp" and value is not None:
        return datetime.fromtimestamp(value / 1000, UTC), 0
    return value


if __name__ == "__main__":
    serve({"put_all": put_all})
