"""Entries in Ignite's binary format from one cluster into another one, which has none of their types."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from ignite_kafka.errors import RecordRefused, TopicError
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.types.java_hash import java_hash
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from ignite_kafka.state.status import RunStatus
from tests.support.java_caches import PREFIX, java_caches
from tests.support.waiting import DEADLINE_S, REQUEST_S
from tools.servers import IgniteCluster, Jars, KafkaBroker
from tools.servers.jars import IGNITE_JAVA_OPTIONS, java_command

READ = Path(__file__).parents[2] / "java" / "ReadTypes.java"
# object keys, nested objects, enums as keys, fields and elements, shared objects, raw data, an affinity key
JAVA = [PREFIX + name for name in ("flat", "nested", "object_key", "enum_key", "any_key", "shared", "raw", "affinity_key")]
TABLE = (
    "CREATE TABLE people (id INT, region VARCHAR, name VARCHAR, pay DECIMAL(10,2), PRIMARY KEY (id, region)) "
    'WITH "cache_name=people,key_type=PersonKey,value_type=Person,affinity_key=region"'
)
PEOPLE = "SELECT id, region, name, pay FROM people ORDER BY id"


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two-clusters")


def read_by_java(cluster: IgniteCluster, jars: Jars, classes: Path, caches: list[str]) -> set[str]:
    """Lines of ReadTypes: cache, key, value, and whether get finds the key."""
    subprocess.run(["javac", "-encoding", "UTF-8", "-cp", f"{jars.ignite}/*:{classes}", "-d", str(classes), str(READ)], check=True)
    options = [*IGNITE_JAVA_OPTIONS, "-Duser.timezone=UTC"]
    command = java_command("ReadTypes", [cluster.address, "compact", "read", *caches], [classes, jars.ignite], options)
    return set(subprocess.run(command, check=True, timeout=DEADLINE_S, stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines())


class Copy:
    """Copy caches of cluster `here` through topics into caches of the same names of cluster `there`."""

    def __init__(self, spark: SparkSession, kafka: KafkaBroker, here: IgniteCluster, there: IgniteCluster) -> None:
        self.spark, self.name = spark, f"t{uuid.uuid4().hex[:8]}"
        binary: dict[str, Any] = {"key_converter": "ignite-binary", "value_converter": "ignite-binary"}
        common = {"bootstrap_servers": kafka.bootstrap, "topic_prefix": f"{self.name}-", "slots": 2, **binary}
        self.source = SourceSettings(
            name=f"{self.name}-source", ignite_addresses=here.addresses, internal_topic_prefix=f"a-{self.name}", **common
        )
        self.sink = SinkSettings(
            name=self.name,
            ignite_addresses=there.addresses,
            topics_regex=f"{self.name}-.*",
            internal_topic_prefix=f"b-{self.name}",
            process_updates=True,
            **common,
        )

    def send(self, *caches: str) -> None:
        settings = SourceSettings.from_dict({**self.source.to_dict(), "cache_whitelist": list(caches)})
        assert run_snapshot(self.spark, RunRequest(settings, uuid.uuid4().hex)).state == status.COMPLETED

    def store(self, types_topic: str) -> RunStatus:
        settings = SinkSettings.from_dict({**self.sink.to_dict(), "types_topic": types_topic})
        return run_sink(self.spark, RunRequest(settings, uuid.uuid4().hex))


def test_entries_of_one_cluster_are_typed_values_of_another(
    spark: SparkSession,
    kafka: KafkaBroker,
    ignite: IgniteCluster,
    ignite_cluster: Callable[..., IgniteCluster],
    jars: Jars,
    classes: Path,
) -> None:
    there = ignite_cluster()
    copy = Copy(spark, kafka, ignite, there)
    with java_caches(ignite, jars, classes), ignite.client() as here, there.client() as other:
        for client in (here, other):
            list(client.sql(TABLE))
        list(here.sql("INSERT INTO people VALUES (1, 'eu', 'Ada', 12.5), (2, 'us', NULL, 3)"))
        copy.send(*JAVA, "people")

        empty = f"{copy.name}.empty"
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic(empty, 1, 1)])[empty].result(REQUEST_S)
        with pytest.raises(RecordRefused, match=f"no metadata of a binary type, and topic {empty} has none either"):
            copy.store(empty)
        with pytest.raises(TopicError, match="the topic of binary types does not exist"):
            copy.store("no-such-topic")

        assert copy.store(f"a-{copy.name}-types").state == status.COMPLETED
        wanted = {line for line in (classes / "expected.txt").read_text("utf-8").splitlines() if line.split("\t")[0] in JAVA}
        assert read_by_java(there, jars, classes, JAVA) == {f"{line}\ttrue" for line in wanted}
        assert len({line.split("\t")[0] for line in wanted}) == len(JAVA)
        assert list(other.sql(PEOPLE)) == list(here.sql(PEOPLE))

        # a type that grows between two runs, as it does within one
        for client in (here, other):
            list(client.sql("ALTER TABLE people ADD COLUMN age INT"))
        list(here.sql("INSERT INTO people (id, region, name, pay, age) VALUES (3, 'eu', 'Cy', 1, 40)"))
        copy.send("people")
        assert copy.store(f"a-{copy.name}-types").state == status.COMPLETED
        assert list(other.sql("SELECT name, age FROM people WHERE region = 'eu' ORDER BY id")) == [["Ada", None], ["Cy", 40]]

    with Cluster(IgniteEndpoint(ignite.addresses)) as a, Cluster(IgniteEndpoint(there.addresses)) as b:
        for name in ("Person", "PersonKey", "WriteTypes$Color", "WriteTypes$KeyA"):
            ours, theirs = (cluster.binary_type(java_hash(name.lower())) for cluster in (a, b))
            assert theirs.schemas == ours.schemas
            assert set(theirs.fields) == set(ours.fields)
            assert (theirs.affinity_field, theirs.enum_values) == (ours.affinity_field, ours.enum_values)
