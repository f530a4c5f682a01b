"""`ignite-kafka replicate` on two clusters: tables, changes and grown types of one are those of the other, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyignite.exceptions import SQLError

from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.java.hash_code import java_hash
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker

TABLE = (
    "CREATE TABLE staff (id INT, region VARCHAR, name VARCHAR, pay DECIMAL(10,2), PRIMARY KEY (id, region)) WITH "
    '"cache_name=staff,key_type=EmployeeKey,value_type=Employee,affinity_key=region,backups=1,write_synchronization_mode=FULL_SYNC"'
)
INDEX = "CREATE INDEX staff_by_name ON staff (name)"
PEOPLE = "INSERT INTO staff VALUES (1, 'eu', 'Ada', 1.5), (2, 'us', 'Bo', NULL), (3, 'eu', 'Cy', 3)"
ROWS = "SELECT id, region, name, pay FROM staff ORDER BY id"
CHANGES = ("UPDATE staff SET pay = 2 WHERE id = 1", "DELETE FROM staff WHERE id = 2", "INSERT INTO staff VALUES (4, 'us', 'Di', 4)")
INDEXES = "SELECT INDEX_NAME FROM SYS.INDEXES WHERE TABLE_NAME = 'STAFF' ORDER BY INDEX_NAME"
COMMAND = [sys.executable, "-m", "ignite_kafka.cli", "replicate"]


def files(tmp_path: Path, kafka: KafkaBroker, here: IgniteCluster, there: IgniteCluster, form: str, **more: str) -> list[str]:
    """Settings files of a source and a sink."""
    common = {
        "bootstrap_servers": kafka.bootstrap, "key_converter": form, "value_converter": form, "topic_prefix": f"{tmp_path.name}-",
        "slots": "2", "progress_interval_ms": "1000", **more,
    }  # fmt: skip
    source = {"name": "a", "ignite_addresses": ",".join(here.addresses), "cache_whitelist": "staff", "process_removals": "true",
              "internal_topic_prefix": f"in-a-{tmp_path.name}", "poll_interval_ms": "200"}  # fmt: skip
    sink = {"name": "b", "ignite_addresses": ",".join(there.addresses), "topics_regex": f"{tmp_path.name}-.*", "process_updates": "true",
            "internal_topic_prefix": f"in-b-{tmp_path.name}", "push_interval_ms": "200", "topic_list_poll_interval_ms": "500"}  # fmt: skip
    paths = tmp_path / "A.properties", tmp_path / "B.properties"
    for path, own in zip(paths, (source, sink), strict=True):
        path.write_text("".join(f"{name}={value}\n" for name, value in (common | own).items()))
    return [str(path) for path in paths]


@contextmanager
def replicating(arguments: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command, which writes into a log; killed with its processes if it does not end by itself."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(sys.path)}
    with log.open("wb") as output, subprocess.Popen([*COMMAND, *arguments], stdout=output, stderr=output, env=environment) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    "form", ["ignite-binary", *(pytest.param(form, marks=pytest.mark.long("ignite-binary")) for form in ("json", "avro"))]
)
def test_a_stream_makes_the_other_cluster_follow(
    form: str, kafka: KafkaBroker, ignite_cluster: Callable[..., IgniteCluster], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    here, there, log = ignite_cluster(2), ignite_cluster(), tmp_path / "log"
    url = request.getfixturevalue("schema_registry").url if form == "avro" else ""
    registry = {f"{side}.converter.schema.registry.url": url for side in ("key", "value") if url}
    arguments = files(tmp_path, kafka, here, there, form, run_mode="continuous", **registry)
    with here.client() as a, there.client() as b:
        for statement in (TABLE, INDEX, PEOPLE):
            list(a.sql(statement))

        def rows(client: Any) -> list[Any]:
            try:
                return list(client.sql(ROWS))
            except SQLError:  # the table does not exist, or a node is just making it
                return []

        with replicating(arguments, log) as process:

            def follows() -> bool:
                assert process.poll() is None, log.read_text()
                return rows(b) == rows(a)

            wait_until(follows, "the entries of the other cluster")
            assert list(b.sql(INDEXES)) == list(a.sql(INDEXES))
            for statement in (
                "UPDATE staff SET pay = 2 WHERE id = 1",
                "DELETE FROM staff WHERE id = 2",
                "INSERT INTO staff VALUES (4, 'us', 'Di', 4)",
            ):
                list(a.sql(statement))
            assert len(rows(a)) == 3
            wait_until(follows, "the changes")

            list(a.sql("ALTER TABLE staff ADD COLUMN age INT"))
            list(a.sql("INSERT INTO staff (id, region, name, pay, age) VALUES (5, 'eu', 'Ed', 5, 50)"))
            wait_until(follows, "the entry with one more field")
            with Cluster(IgniteEndpoint(here.addresses)) as one, Cluster(IgniteEndpoint(there.addresses)) as other:
                ours, theirs = (cluster.binary_type(java_hash("employee")) for cluster in (other, one))
                assert {field.name: field.type_code for field in ours.fields} == {field.name: field.type_code for field in theirs.fields}
                assert "AGE" in {field.name for field in ours.fields}
                assert other.configuration("staff").key_configuration == (("EmployeeKey", "REGION"),)
            list(b.sql("ALTER TABLE staff ADD COLUMN age INT"))
            assert list(b.sql("SELECT age FROM staff WHERE id = 5")) == [[50]]
            wait_until(lambda: "the sink has" in log.read_text(), "the lag")
            process.send_signal(signal.SIGINT)
            assert process.wait(DEADLINE_S) == 0, log.read_text()
    text = log.read_text()
    assert "source | " in text
    assert "sink   | " in text
    assert text.count("as requested") == 2, "both ended after their batch"
