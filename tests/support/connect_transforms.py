"""Kafka's transforms in a Java process (tests/java/ConnectTransforms.java), ours, and the outcome of each record in one form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ignite_kafka.convert.connect import ConnectColumn, ConnectSchema
from ignite_kafka.convert.transforms.batch import NO_TIME, ConnectBatch, Header, Position
from ignite_kafka.convert.transforms.catalog import make_predicate, make_transform
from ignite_kafka.convert.transforms.json_objects import joined_sides
from tests.support.connect_data import arrow, described, exact, raw
from tests.support.java_programs import JavaProgram

PACKAGE = "org.apache.kafka.connect.transforms."


@dataclass(frozen=True)
class Records:
    """Records with the same schemas and headers; a value without a schema is a Python value of JSON.

    :param times: None where a record has none.
    :param headers: name, schema and N values of each.
    """

    key_schema: ConnectSchema | None
    keys: Sequence[Any]
    value_schema: ConnectSchema | None
    values: Sequence[Any]
    topics: Sequence[str] = ()
    times: Sequence[int | None] = ()
    headers: Sequence[tuple[str, ConnectSchema | None, Sequence[Any]]] = ()
    sink: bool = True

    def __len__(self) -> int:
        return len(self.values)

    def topic(self, row: int) -> str:
        return self.topics[row % len(self.topics)] if self.topics else "topic"

    def time(self, row: int) -> int | None:
        return self.times[row % len(self.times)] if self.times else 1_700_000_000_123 + row

    def batch(self) -> ConnectBatch:
        """The records as a batch of ours."""
        count = len(self)
        times = [NO_TIME if one is None else one for one in map(self.time, range(count))]
        return ConnectBatch(
            np.arange(count, dtype=np.int64),
            column(self.key_schema, self.keys),
            column(self.value_schema, self.values),
            pa.array([self.topic(row) for row in range(count)], pa.string()),
            np.array(times, np.int64),
            tuple(Header(name, column(schema, values)) for name, schema, values in self.headers),
            Position(np.arange(count, dtype=np.int32) % 3, np.arange(count, dtype=np.int64) + 100) if self.sink else None,
        )

    def request(self) -> dict[str, Any]:
        """The records as the Java program takes them."""
        rows = [
            [self.topic(row), row % 3, row + 100, self.time(row), _given(self.keys[row], self.key_schema),
             _given(self.values[row], self.value_schema),
             [_given(values[row], schema) for _, schema, values in self.headers]]
            for row in range(len(self))
        ]  # fmt: skip
        return {
            "sink": self.sink, "key_schema": described(self.key_schema), "value_schema": described(self.value_schema),
            "headers": [[name, described(schema)] for name, schema, _ in self.headers], "rows": rows,
        }  # fmt: skip


def column(schema: ConnectSchema | None, values: Sequence[Any]) -> ConnectColumn:
    """Values of a schema, or of none, as a column."""
    if schema is not None:
        return ConnectColumn(arrow(list(values), schema), schema)
    return ConnectColumn(pa.array([None if one is None else _json(one) for one in values], pa.binary()), None)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _given(value: Any, schema: ConnectSchema | None) -> Any:
    return value if schema is None or value is None else exact(value, schema)


class ConnectTransforms:
    """Applies transforms of Kafka.

    :param jars: folder of the jars of Kafka Connect.
    :param classes: an empty directory for the compiled classes.
    """

    def __init__(self, jars: Path, classes: Path) -> None:
        self._java = JavaProgram("ConnectTransforms", [jars], classes)
        self.close = self._java.close

    def apply(self, name: str, properties: Mapping[str, str], records: Records) -> list[Any]:
        """The outcome of each record, or the flags of a predicate; raises ValueError if Kafka refuses the properties."""
        answer = self._java.ask({"class": PACKAGE + name, "properties": dict(properties), **records.request()})
        if "error" in answer:
            raise ValueError(answer["error"])
        return [self._outcome(row, answer["schemas"]) for row in answer["rows"]]

    def _outcome(self, row: Any, schemas: list[Any]) -> Any:
        if row is None or isinstance(row, bool):
            return row
        if isinstance(row, dict):
            return row["exception"], _message(row["message"])
        topic, _, time, key_schema, key, value_schema, value, headers = row
        found = [[name, schemas[schema], item] for name, schema, item in headers]
        return {"topic": topic, "time": time, "key": [schemas[key_schema], key], "value": [schemas[value_schema], value], "headers": found}


def outcomes(name: str, properties: Mapping[str, str], records: Records) -> list[Any]:
    """The outcome of each record by our transform, or the flags of our predicate; None: dropped."""
    batch = records.batch()
    if name.startswith("predicates."):
        return list(make_predicate(PACKAGE + name, properties).test(batch).tolist())
    made = make_transform(PACKAGE + name, properties, sink=records.sink).apply(batch)
    found: dict[int, Any] = {}
    for one in map(joined_sides, made.batches):
        assert (np.diff(one.rows) > 0).all()
        for row, outcome in zip(one.rows.tolist(), _rows(one), strict=True):
            assert row not in found
            found[row] = outcome
    for bad in made.bad:
        assert bad.row not in found
        found[bad.row] = bad.exception, _message(bad.reason)
    return [found.get(row) for row in range(len(records))]


def _rows(batch: ConnectBatch) -> list[Any]:
    keys, values = _values(batch.key), _values(batch.value)
    headers = [(header.name, described(header.column.schema), _values(header.column)) for header in batch.headers]
    return [
        {
            "topic": batch.topics[row].as_py(),
            "time": None if batch.times_ms[row] == NO_TIME else int(batch.times_ms[row]),
            "key": [described(batch.key.schema), keys[row]],
            "value": [described(batch.value.schema), values[row]],
            "headers": [[name, schema, found[row]] for name, schema, found in headers],
        }
        for row in range(len(batch))
    ]


def _values(column: ConnectColumn) -> list[Any]:
    if column.schema is None:
        return [None if text is None else json.loads(text) for text in column.data.to_pylist()]
    schema = column.schema
    return [exact(value, schema) for value in raw(column.data)]


def _message(text: str | None) -> str:
    """A message without what differs by the class that holds a map, or shows a record."""
    text = re.sub(r"^(Timestamp missing on record).*", r"\1", text or "", flags=re.DOTALL)  # and the record, which has values
    return text.replace("java.util.LinkedHashMap", "java.util.HashMap")
