"""Entries as JSON, JSON with schemas and Avro from one cluster into another one, which has none of their types: a Java client's classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import QUICK_JVM
from tests.support.java_caches import PREFIX, java_caches
from tests.support.two_clusters import Copy, read_by_java, written_by_java
from tools.servers import IgniteCluster, Jars, KafkaBroker, SchemaRegistry

# one class at each place, and none of java.time; keys are Integer, Long, objects, objects with enums, String, UUID, enum, dates, decimals
NAMES = (
    "limits", "flat", "object_key", "enum_in_key", "string_key", "uuid_key", "enum_key", "date_key", "decimal_key", "sql_date", "team",
)  # fmt: skip
ALL = [PREFIX + name for name in NAMES]


def without_nanoseconds(line: str) -> str:
    """A line of ReadTypes with timestamps of whole milliseconds: all that JSON's and Kafka Connect's timestamps hold."""
    return re.sub(r"ts:(-?\d+):(\d+)", lambda found: f"ts:{found[1]}:{int(found[2]) // 1_000_000 * 1_000_000}", line)


def as_json_holds(line: str) -> str:
    """Plain JSON also has times within a day, and nothing says that the whole numbers of a list are Integer."""
    line = re.sub(r"time:(-?\d+)", lambda found: f"time:{int(found[1]) % 86_400_000}", line)
    return without_nanoseconds(line).replace("[int:", "[long:")


def as_schemas_hold(line: str) -> str:
    """Kafka Connect's Time is within a day: both entries with another java.sql.Time are bad entries of the source."""
    return "" if re.search(r"time:(-1|1\d{8})\b", line) else without_nanoseconds(line)


@dataclass(frozen=True)
class Form:
    """A converter, and what it keeps of a line of ReadTypes; an empty line: nothing."""

    converter: str
    holds: Callable[[str], str]
    properties: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


FORMS = {
    "json": Form("json", as_json_holds, more={"decimal_format": "NUMERIC"}),
    "json with schemas": Form("json", as_schemas_hold, {"schemas.enable": "true"}, {"error_handling_policy": "LOG_ONLY"}),
    # Avro has no $ in names, which those of classes within classes have: the classes come from the types topic
    "avro": Form("avro", as_schemas_hold, {"scrub.invalid.names": "true"}, {"error_handling_policy": "LOG_ONLY"}),
}


@pytest.fixture(scope="module")
def classes(ignite: IgniteCluster, jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Classes of the entries, which the first cluster has."""
    folder = tmp_path_factory.mktemp("two-clusters")
    with java_caches(ignite, jars, folder):
        yield folder


@pytest.fixture
def there(jars: Jars, tmp_path: Path) -> Iterator[IgniteCluster]:
    """The second cluster. A new one for each form: types of an earlier one would hide what the form lacks."""
    with IgniteCluster(tmp_path / "there", jars=jars, java_options=QUICK_JVM) as cluster:
        yield cluster


def test_a_java_client_gets_the_same_objects_by_the_same_keys(ignite: IgniteCluster, jars: Jars, classes: Path) -> None:
    assert read_by_java(ignite, jars, classes, ALL) == written_by_java(classes, ALL)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_gives_the_same_java_objects(
    name: str,
    spark: SparkSession,
    kafka: KafkaBroker,
    schema_registry: SchemaRegistry,
    ignite: IgniteCluster,
    there: IgniteCluster,
    jars: Jars,
    classes: Path,
) -> None:
    form = FORMS[name]
    registry = {"schema.registry.url": schema_registry.url} if form.converter == "avro" else {}
    Copy(spark, kafka, ignite, there, form.converter, {**form.properties, **registry}, **form.more).run(*ALL)
    wanted = {form.holds(line) for line in written_by_java(classes, ALL)} - {""}
    found = read_by_java(there, jars, classes, ALL)
    assert {form.holds(line) for line in found} == wanted
    assert {line.split("\t")[0] for line in found} == set(ALL)
