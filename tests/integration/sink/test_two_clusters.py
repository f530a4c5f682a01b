"""Entries in Ignite's binary format from one cluster into another one, which has none of their types."""

from __future__ import annotations

import re
import subprocess
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from ignite_kafka import events
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
# one class at each place, and none of java.time
ONE_CLASS = ("flat", "object_key", "string_key", "uuid_key", "enum_key", "date_key", "decimal_key", "sql_date")
ALL = [PREFIX + name for name in ONE_CLASS]
TABLES = (
    "CREATE TABLE people (id INT, region VARCHAR, name VARCHAR, pay DECIMAL(10,2), PRIMARY KEY (id, region)) "
    'WITH "cache_name=people,key_type=PersonKey,value_type=Person,affinity_key=region,atomicity=TRANSACTIONAL,cache_group=staff"',
    "CREATE INDEX by_name ON people (name DESC, pay)",
    'CREATE TABLE regions (region VARCHAR PRIMARY KEY, country VARCHAR) WITH "cache_name=regions,value_type=Region"',
)
_OWN = "TABLE_NAME IN ('PEOPLE', 'REGIONS')"  # other tests have tables in the first cluster, too
INDEXES = f"SELECT TABLE_NAME, INDEX_NAME, COLUMNS, INLINE_SIZE FROM SYS.INDEXES WHERE INDEX_NAME = 'BY_NAME' AND {_OWN}"
COLUMNS = f"SELECT TABLE_NAME, COLUMN_NAME, TYPE, NULLABLE, PRECISION, SCALE, AFFINITY_COLUMN FROM SYS.TABLE_COLUMNS WHERE {_OWN}"
JOINED = "SELECT p.name, r.country FROM people p JOIN regions r ON p.region = r.region ORDER BY p.id"
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


def as_json_holds(line: str) -> str:
    """A line of ReadTypes with what JSON keeps: timestamps of whole milliseconds, times within a day, Long in values that are lists."""
    line = re.sub(r"ts:(-?\d+):(\d+)", lambda found: f"ts:{found[1]}:{int(found[2]) // 1_000_000 * 1_000_000}", line)
    line = re.sub(r"time:(-?\d+)", lambda found: f"time:{int(found[1]) % 86_400_000}", line)
    return line.replace("[int:", "[long:")


class Copy:
    """Copy caches of cluster `here` through topics into caches of the same names of cluster `there`."""

    def __init__(
        self, spark: SparkSession, kafka: KafkaBroker, here: IgniteCluster, there: IgniteCluster, form: str = "ignite-binary", **more: Any
    ) -> None:
        self.spark, self.name = spark, f"t{uuid.uuid4().hex[:8]}"
        converters: dict[str, Any] = {"key_converter": form, "value_converter": form, **more}
        common = {"bootstrap_servers": kafka.bootstrap, "topic_prefix": f"{self.name}-", "slots": 2, **converters}
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
        other_copy = Copy(spark, kafka, ignite, there)
        other_copy.send(PREFIX + "flat")
        empty = f"{other_copy.name}.empty"
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic(empty, 1, 1)])[empty].result(REQUEST_S)
        with pytest.raises(RecordRefused, match=f"no metadata of a binary type, and topic {empty} has none either"):
            other_copy.store(empty)
        with pytest.raises(TopicError, match="the topic of binary types does not exist"):
            other_copy.store("no-such-topic")

        for statement in TABLES:
            list(here.sql(statement))
        list(here.sql("INSERT INTO people VALUES (1, 'eu', 'Ada', 12.5), (2, 'us', NULL, 3)"))
        list(here.sql("INSERT INTO regions VALUES ('eu', 'France'), ('us', 'Ohio')"))
        copy.send(*JAVA, "people", "regions")

        assert copy.store(f"a-{copy.name}-types").state == status.COMPLETED
        wanted = {line for line in (classes / "expected.txt").read_text("utf-8").splitlines() if line.split("\t")[0] in JAVA}
        assert read_by_java(there, jars, classes, JAVA) == {f"{line}\ttrue" for line in wanted}
        assert len({line.split("\t")[0] for line in wanted}) == len(JAVA)
        for query in (PEOPLE, JOINED):
            assert list(other.sql(query)) == list(here.sql(query))
        assert [row[:2] for row in other.sql(INDEXES)] == [row[:2] for row in here.sql(INDEXES)]
        assert sorted(other.sql(COLUMNS)) == sorted(here.sql(COLUMNS))

        # a type that grows between two runs, as it does within one
        list(here.sql("ALTER TABLE people ADD COLUMN age INT"))
        list(here.sql("INSERT INTO people (id, region, name, pay, age) VALUES (3, 'eu', 'Cy', 1, 40)"))
        copy.send("people")
        events.reset_counts()
        assert copy.store(f"a-{copy.name}-types").state == status.COMPLETED
        assert events.counts()[events.CACHE_DIFFERS.id] == 1  # an existing cache is left alone
        list(other.sql("ALTER TABLE people ADD COLUMN age INT"))
        assert list(other.sql("SELECT name, age FROM people WHERE region = 'eu' ORDER BY id")) == [["Ada", None], ["Cy", 40]]

    with Cluster(IgniteEndpoint(ignite.addresses)) as a, Cluster(IgniteEndpoint(there.addresses)) as b:
        made, as_made = (cluster.configuration("people") for cluster in (b, a))
        assert made.atomicity == "TRANSACTIONAL"
        assert made == replace(as_made, query_entities=made.query_entities)
        for name in ("Person", "PersonKey", "WriteTypes$Color", "WriteTypes$KeyA"):
            ours, theirs = (cluster.binary_type(java_hash(name.lower())) for cluster in (a, b))
            assert theirs.schemas == ours.schemas
            assert set(theirs.fields) == set(ours.fields)
            assert (theirs.affinity_field, theirs.enum_values) == (ours.affinity_field, ours.enum_values)


def test_json_gives_the_same_java_objects(
    spark: SparkSession,
    kafka: KafkaBroker,
    ignite: IgniteCluster,
    ignite_cluster: Callable[..., IgniteCluster],
    jars: Jars,
    classes: Path,
) -> None:
    there = ignite_cluster()
    copy = Copy(spark, kafka, ignite, there, "json", decimal_format="NUMERIC", error_handling_policy="LOG_ONLY")
    with java_caches(ignite, jars, classes):
        copy.send(*ALL)
        assert copy.store(f"a-{copy.name}-types").state == status.COMPLETED
        wanted = {line for line in (classes / "expected.txt").read_text("utf-8").splitlines() if line.split("\t")[0] in ALL}
        found = read_by_java(there, jars, classes, ALL)
        assert {as_json_holds(line) for line in found} == {as_json_holds(f"{line}\ttrue") for line in wanted}
        assert {line.split("\t")[0] for line in found} == set(ALL)
