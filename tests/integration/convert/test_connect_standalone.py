"""JSON with schemas between this project and a real Kafka Connect: each reads what the other wrote, with Kafka's own JsonConverter."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from tests.support import QUICK_JVM
from tests.support.converters import converter
from tests.support.java_caches import read
from tests.support.processes import ManagedProcess
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster, Jars, KafkaBroker
from tools.servers.jars import java_command

JSON = "org.apache.kafka.connect.json.JsonConverter"
TRANSFORMS = "org.apache.kafka.connect.transforms"
LINES = ["one", 'two "quoted"', "drei é 😀", ""]
ROWS = (
    "(1, 'Ada', 12.5, TIMESTAMP '2026-01-02 03:04:05.006', DATE '2026-01-02', TRUE, 1.5), "
    "(9007199254740993, NULL, -0.01, NULL, NULL, NULL, NULL)"
)
# as Struct.toString of Kafka Connect writes them, whose dates are java.util.Date
STRUCTS = {
    "Struct{NAME=Ada,PAY=12.50,AT=Fri Jan 02 03:04:05 UTC 2026,DAY=Fri Jan 02 00:00:00 UTC 2026,OK=true,RATIO=1.5}",
    "Struct{PAY=-0.01}",
}
STRUCT_OF_ADA = (
    '{"schema":{"type":"struct","fields":[{"type":"string","optional":true,"field":"NAME"},'
    '{"type":"bytes","optional":true,"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"},"field":"PAY"},'
    '{"type":"int64","optional":true,"name":"org.apache.kafka.connect.data.Timestamp","version":1,"field":"AT"},'
    '{"type":"int32","optional":true,"name":"org.apache.kafka.connect.data.Date","version":1,"field":"DAY"},'
    '{"type":"boolean","optional":true,"field":"OK"},{"type":"double","optional":true,"field":"RATIO"}],"optional":false,'
    '"name":"StandaloneTrade"},"payload":{"NAME":"Ada","PAY":"BOI=","AT":1767323045006,"DAY":20455,"OK":true,"RATIO":1.5}}'
)


def write_properties(path: Path, values: dict[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()), "utf-8")
    return path


@contextmanager
def connect_standalone(jars: Jars, kafka: KafkaBroker, place: Path, *connectors: dict[str, str]) -> Iterator[ManagedProcess]:
    """Kafka Connect with these connectors; keys and values are JSON with schemas, its default."""
    worker = {
        "bootstrap.servers": kafka.bootstrap, "key.converter": JSON, "value.converter": JSON, "listeners": "http://127.0.0.1:0",
        "offset.storage.file.filename": str(place / "offsets"), "offset.flush.interval.ms": "1000", "plugin.discovery": "hybrid_warn",
    }  # fmt: skip
    files = [write_properties(place / "worker.properties", worker)]
    files += [write_properties(place / f"{one['name']}.properties", one) for one in connectors]
    options = [*QUICK_JVM, "-Xmx256m", "-Duser.timezone=UTC"]
    command = java_command("org.apache.kafka.connect.cli.ConnectStandalone", [str(file) for file in files], [jars.kafka], options)
    process = ManagedProcess(command, place / "connect.log")
    try:
        yield process
    finally:
        process.stop()


def file_source(topic: str, file: Path) -> dict[str, str]:
    """Lines of a file as objects {line}, each with its line as key."""
    chain = {"hoist": "HoistField$Value", "key": "ValueToKey", "unwrap": "ExtractField$Key"}
    types = {f"transforms.{name}.type": f"{TRANSFORMS}.{kind}" for name, kind in chain.items()}
    fields = {"transforms.hoist.field": "line", "transforms.key.fields": "line", "transforms.unwrap.field": "line"}
    kind = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1"}
    return {"name": "lines", **kind, "file": str(file), "topic": topic, "transforms": ",".join(chain), **types, **fields}


def file_sink(topic: str, file: Path) -> dict[str, str]:
    kind = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": "1"}
    return {"name": "file", **kind, "file": str(file), "topics": topic}


def records_of(kafka: KafkaBroker, topic: str, count: int) -> list[tuple[bytes | None, bytes | None]]:
    consumer = Consumer({**kafka.client_config, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[tuple[bytes | None, bytes | None]] = []

    def polled() -> bool:
        found.extend((one.key(), one.value()) for one in consumer.consume(100, 0.2) if not one.error())
        return len(found) >= count

    wait_until(polled, f"{count} records of {topic}")
    consumer.close()
    return found


def test_each_reads_what_the_other_wrote(
    spark: SparkSession, kafka: KafkaBroker, ignite: IgniteCluster, jars: Jars, tmp_path: Path
) -> None:
    name = f"c{uuid.uuid4().hex[:8]}"
    lines, ours, written, cache = f"{name}lines", f"{name}.{name}trades", tmp_path / "out.txt", f"{name}trades"
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in LINES), "utf-8")
    with ignite.client() as client:
        columns = "id BIGINT PRIMARY KEY, name VARCHAR, pay DECIMAL(10,2), at TIMESTAMP, day DATE, ok BOOLEAN, ratio DOUBLE"
        list(client.sql(f'CREATE TABLE {cache} ({columns}) WITH "cache_name={cache},value_type=StandaloneTrade"'))
        list(client.sql(f"INSERT INTO {cache} VALUES {ROWS}"))
    config: dict[str, Any] = {"key_converter_config": {"schemas.enable": "true"}, "value_converter_config": {"schemas.enable": "true"}}
    common: dict[str, Any] = {"bootstrap_servers": kafka.bootstrap, "ignite_addresses": ignite.addresses, "slots": 1}
    source = SourceSettings(name=name, cache_whitelist=(cache,), topic_prefix=f"{name}.", **config, **common)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(lines, 1, 1)])[lines].result(REQUEST_S)

    assert run_snapshot(spark, RunRequest(source, uuid.uuid4().hex)).state == status.COMPLETED
    records = dict(records_of(kafka, ours, 2))
    assert records[b'{"schema":{"type":"int64","optional":false},"payload":1}'] == STRUCT_OF_ADA.encode()
    connectors = file_source(lines, tmp_path / "in.txt"), file_sink(ours, written)
    with connect_standalone(jars, kafka, tmp_path, *connectors):
        found = wait_until(lambda: text if (text := _lines(written)) and len(text) >= len(STRUCTS) else None, "what Kafka Connect read")
        assert set(found) == STRUCTS
        records_of(kafka, lines, len(LINES))
    producer = Producer(kafka.client_config)
    producer.produce(lines, b'{"line":"plain"}', b'"plain"')
    producer.flush()

    auto: dict[str, Any] = {side: {"schemas.enable": "auto"} for side in ("key_converter_config", "value_converter_config")}
    sink = SinkSettings(name=f"{name}sink", topics=(lines,), **auto, **common)
    assert run_sink(spark, RunRequest(sink, uuid.uuid4().hex)).state == status.COMPLETED
    with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        stored = read(cluster, lines)
        made = converter("json").convert(stored.pages, stored.info, stored.cluster)
    expected = {converter_text(line): b'{"line":%s}' % converter_text(line) for line in [*LINES, "plain"]}
    assert dict(zip(made.keys.to_pylist(), made.values.to_pylist(), strict=True)) == expected


def converter_text(line: str) -> bytes:
    """The line as JSON, in Jackson's spelling."""
    return b'"' + line.replace('"', '\\"').replace("😀", "\\uD83D\\uDE00").encode() + b'"'


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines() if file.exists() else []
