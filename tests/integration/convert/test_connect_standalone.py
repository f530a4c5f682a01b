"""JSON with schemas between this project and a real Kafka Connect: each reads what the other wrote, with Kafka's own JsonConverter."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
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
from tests.support.connect_standalone import connect_standalone, file_sink, file_source, keyed_by, lines_of, records_of
from tests.support.converters import converter
from tests.support.java_caches import read
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster, Jars, KafkaBroker

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
    chain = {"hoist.type": "HoistField$Value", "hoist.field": "line", **keyed_by("line")}
    connectors = file_source(lines, tmp_path / "in.txt", chain), file_sink(ours, written)
    with connect_standalone(jars, kafka, tmp_path, *connectors):
        found = wait_until(lambda: text if (text := lines_of(written)) and len(text) >= len(STRUCTS) else None, "what Kafka Connect read")
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
