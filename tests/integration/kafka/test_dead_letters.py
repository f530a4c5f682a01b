"""The headers of dead letters."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa

from ignite_kafka.convert.to_ignite import BadRecord, Stage
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.sink.dead_letters import error_of, record_headers
from tools.servers import Jars

REPORTER = "org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter"
CONSUMED = Consumed("t", 3, pa.array([b"k", b"l"]), pa.array([b"{", b"}"]), np.array([70, 71]))


def test_names_and_order_are_those_of_kafka_connect() -> None:
    error = error_of(CONSUMED, BadRecord(1, Stage.VALUE, "no JSON"))
    headers = record_headers("c", 4, error)
    classes = ":".join(str(jar) for jar in Path(Jars.of_checkout().kafka).glob("connect-*.jar"))
    shown = subprocess.run(["javap", "-constants", "-cp", classes, REPORTER], capture_output=True, text=True, check=True).stdout
    names = [line.split('"')[1] for line in shown.splitlines() if "ERROR_HEADER_" in line]
    assert [name for name, _ in headers] == names
    assert dict(headers) == {
        "__connect.errors.topic": b"t",
        "__connect.errors.partition": b"3",
        "__connect.errors.offset": b"71",
        "__connect.errors.connector.name": b"c",
        "__connect.errors.task.id": b"4",
        "__connect.errors.stage": b"VALUE_CONVERTER",
        "__connect.errors.class.name": b"ignite_kafka.convert.to_ignite.record_converter.RecordConverter",
        "__connect.errors.exception.class.name": b"ignite_kafka.errors.RecordRefused",
        "__connect.errors.exception.message": b"no JSON",
        "__connect.errors.exception.stacktrace": f"ignite_kafka.errors.RecordRefused: {error}".encode(),
    }
