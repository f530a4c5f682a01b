"""Datasets that the operators give to the OpenLineage provider, by the provider's own extractor."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.providers.openlineage.extractors.base import DefaultExtractor
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.naming.dataset import Kafka
from openlineage.client.transport.file import FileConfig, FileTransport

from airflow_provider_ignite_kafka.lineage import openlineage
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from ignite_kafka.errors import CacheNotFound, IgniteUnreachable, KafkaUnavailable
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.types.model import QueryEntity, QueryField
from ignite_kafka.state.status import FAILED, STOPPED
from tests.unit.airflow.bench import Bench, context, operator, run_status, sink

ENTITY = QueryEntity(
    "java.lang.Long",
    "Flight",
    fields=(QueryField("id", "java.lang.Long", is_key=True), QueryField("cityName", "java.lang.String")),
    aliases=(("cityName", "CITY_NAME"),),
)
SCHEMA = [("id", "java.lang.Long"), ("CITY_NAME", "java.lang.String")]
NODE, BROKER = "ignite://node:10800", "kafka://broker:9092"


class FakeCluster:
    """Caches by name with their query entities; None: it does not answer."""

    def __init__(self, caches: Mapping[str, tuple[QueryEntity, ...]] | None) -> None:
        self._caches = caches

    def __enter__(self) -> FakeCluster:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _answer(self) -> Mapping[str, tuple[QueryEntity, ...]]:
        if self._caches is None:
            raise IgniteUnreachable("no node answered")
        return self._caches

    def cache_names(self) -> list[str]:
        return sorted(self._answer())

    def configuration(self, name: str) -> CacheConfiguration:
        if name not in self._answer():
            raise CacheNotFound("no such cache")
        return CacheConfiguration(name, query_entities=self._answer()[name])


@pytest.fixture
def caches(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the caches of the cluster that the lineage is read from."""

    def set_caches(caches: Mapping[str, tuple[QueryEntity, ...]] | None) -> None:
        monkeypatch.setattr(openlineage, "_cluster", lambda _request: FakeCluster(caches))

    monkeypatch.setattr(openlineage, "with_present_tables", lambda _cluster, configuration: configuration)
    set_caches({"flights": (ENTITY,), "air": ()})
    return set_caches


def found(lineage: OperatorLineage[Any, Any] | None, tmp_path: Path) -> dict[str, Any]:
    """Inputs and outputs as a file transport writes them: namespace, name, columns and counts."""
    assert lineage is not None
    file = tmp_path / "events"
    client = OpenLineageClient(transport=FileTransport(FileConfig(log_file_path=str(file), append=True)))
    event = RunEvent(
        eventTime="2025-01-01T00:00:00Z",
        producer="https://example.com/test",
        run=Run(runId="01941f29-7c00-7000-8000-000000000000"),
        job=Job(namespace="test", name="copy"),
        eventType=RunState.COMPLETE,
        inputs=lineage.inputs,
        outputs=lineage.outputs,
    )
    client.emit(event)
    written = json.loads(file.read_text().splitlines()[-1])
    return {kind: [_shown(dataset) for dataset in written[kind]] for kind in ("inputs", "outputs")}


def _shown(dataset: dict[str, Any]) -> tuple[Any, ...]:
    fields = dataset.get("facets", {}).get("schema", {}).get("fields", [])
    counts = dataset.get("outputFacets", {}).get("outputStatistics", {})
    return dataset["namespace"], dataset["name"], [(one["name"], one["type"]) for one in fields], counts.get("rowCount"), counts.get("size")


def test_start_names_what_the_lists_choose_in_the_cluster(bench: Bench, caches: Any, tmp_path: Path) -> None:
    task = operator({"name": "c", "cache_whitelist": ["fl.*"], "topic_prefix": "t-"})
    assert found(DefaultExtractor(task).extract(), tmp_path) == {
        "inputs": [(NODE, "flights", SCHEMA, None, None)],
        "outputs": [(BROKER, "t-flights", [], None, None)],
    }


def test_a_topic_has_the_columns_that_select_names(bench: Bench, caches: Any, tmp_path: Path) -> None:
    task = operator({"name": "c", "cache_whitelist": ["flights"], "topic_prefix": "t-", "select": "cityname AS city"})
    whole = [(BROKER, "t-flights", [("city", "java.lang.String")], None, None)]
    assert found(DefaultExtractor(task).extract(), tmp_path) == {"inputs": [(NODE, "flights", SCHEMA, None, None)], "outputs": whole}
    task.execute(context())
    counted = [(BROKER, "t-flights", [("city", "java.lang.String")], 10, 1000)]
    assert found(DefaultExtractor(task).extract_on_complete(None), tmp_path)["outputs"] == counted


def test_a_sink_that_selects_fields_gives_its_topics_no_columns(bench: Bench, caches: Any, tmp_path: Path) -> None:
    """The fields of a topic's records are unknown here; a cache has its columns whatever a run stores."""
    task = sink({"topics": ["t-flights"], "topic_prefix": "t-", "select": "id, town AS cityName"})
    assert found(DefaultExtractor(task).extract(), tmp_path) == {
        "inputs": [(BROKER, "t-flights", [], None, None)],
        "outputs": [(NODE, "flights", SCHEMA, None, None)],
    }


def test_start_without_an_answer_names_the_caches_of_the_settings(
    bench: Bench, caches: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caches(None)
    task = operator({"name": "c", "cache_whitelist": ["flights", "a.*"], "cache_blacklist": ["x"], "topic_prefix": "t-"})
    with caplog.at_level(logging.INFO):
        lineage = DefaultExtractor(task).extract()
    assert found(lineage, tmp_path)["inputs"] == [(NODE, "flights", [], None, None)]
    assert "no node answered" in caplog.text


def test_start_of_a_sink_has_columns_of_caches_that_exist(bench: Bench, caches: Any, tmp_path: Path) -> None:
    task = sink({"topics": ["t-flights", "t-new"], "topic_prefix": "t-"})
    assert found(DefaultExtractor(task).extract(), tmp_path) == {
        "inputs": [(BROKER, "t-flights", [], None, None), (BROKER, "t-new", [], None, None)],
        "outputs": [(NODE, "flights", SCHEMA, None, None), (NODE, "new", [], None, None)],
    }


def test_start_reports_no_event_a_second_time(bench: Bench, caches: Any, caplog: pytest.LogCaptureFixture) -> None:
    task = operator({"name": "c", "bootstrap_servers": "another:9092"})
    with caplog.at_level(logging.INFO):
        assert DefaultExtractor(task).extract() is not None
        assert "15001 #" not in caplog.text
        task.execute(context())
        assert "15001 #" in caplog.text


def test_completion_has_columns_and_counts(bench: Bench, caches: Any, tmp_path: Path) -> None:
    task = operator()
    task.execute(context())
    assert found(DefaultExtractor(task).extract_on_complete(None), tmp_path) == {
        "inputs": [(NODE, "flights", SCHEMA, None, None)],
        "outputs": [(BROKER, "t-flights", [], 10, 1000)],
    }


@pytest.mark.parametrize("state", [STOPPED, FAILED])
def test_end_of_a_deferred_run_has_its_counts(bench: Bench, caches: Any, tmp_path: Path, state: str) -> None:
    """Airflow continues the task in a process that has not submitted the run."""
    bench.status = lambda: run_status(state, KafkaUnavailable("gone") if state == FAILED else None)
    task = operator(run_mode="continuous")
    run = FollowedRun("c", "r", streams=True, continuous=True)
    with suppress(AirflowException):
        task.execute_complete(context(), {"run": run.to_dict(), "reason": "ended"})
    extract = DefaultExtractor(task).extract_on_failure if state == FAILED else DefaultExtractor(task).extract_on_complete
    assert found(extract(None), tmp_path) == {
        "inputs": [(NODE, "flights", SCHEMA, None, None)],
        "outputs": [(BROKER, "t-flights", [], 10, 1000)],
    }


def test_failure_has_the_counts_of_what_was_committed(bench: Bench, caches: Any, tmp_path: Path) -> None:
    bench.status = lambda: run_status(FAILED, KafkaUnavailable("gone"))
    caches(None)
    task = sink()
    with pytest.raises(AirflowException):
        task.execute(context())
    assert found(DefaultExtractor(task).extract_on_failure(None), tmp_path) == {
        "inputs": [(BROKER, "t-flights", [], None, None)],
        "outputs": [(NODE, "flights", [], 10, 1000)],
    }


def test_failure_before_the_run_has_a_record_names_what_was_planned(bench: Bench, caches: Any, tmp_path: Path) -> None:
    bench.status = lambda: None
    task = sink()
    with pytest.raises(AirflowException):
        task.execute(context())
    assert found(DefaultExtractor(task).extract_on_failure(None), tmp_path)["outputs"] == [(NODE, "t-flights", [], None, None)]


def test_namespace_of_a_topic_is_that_of_the_naming_specification() -> None:
    assert Kafka(bootstrap_server_host="broker", port="9092", topic="t").get_namespace() == BROKER


PARENT = "spark.openlineage.parent"


def properties(bench: Bench) -> list[str]:
    return [argument for argument in bench.seen["argv"] if argument.startswith(PARENT)]


def test_spark_is_told_its_parent_job_if_that_is_enabled(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.openlineage.utils import spark

    monkeypatch.setattr(spark, "_get_parent_job_information_as_spark_properties", lambda _context: {f"{PARENT}RunId": "1"})
    operator().execute(context())
    assert properties(bench) == []
    operator(openlineage_inject_parent_job_info=True).execute(context())
    assert properties(bench) == [f"{PARENT}RunId=1"]
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO", "True")
    operator().execute(context())
    assert properties(bench) == [f"{PARENT}RunId=1"]
    operator(openlineage_inject_parent_job_info=False).execute(context())
    assert properties(bench) == []
    operator(conf={f"{PARENT}RunId": "mine"}).execute(context())
    assert properties(bench) == [f"{PARENT}RunId=mine"]


_WITHOUT = """
import sys
PROVIDER = "airflow.providers.openlineage."
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "openlineage" or name.startswith(PROVIDER) and name != PROVIDER + "get_provider_info":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
from airflow_provider_ignite_kafka.lineage.copy import with_parent_job
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
assert with_parent_job({"a": 1}, {}, inject=False) == with_parent_job({"a": 1}, {}, inject=True) == {"a": 1}
assert "openlineage" not in sys.modules
"""


def test_nothing_needs_openlineage() -> None:
    subprocess.run([sys.executable, "-c", _WITHOUT], check=True)
