"""Extra links of a copy: what is pushed, when, and what Airflow's classes make of it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, XCom
from airflow.providers_manager import ProvidersManager

from airflow_provider_ignite_kafka import get_provider_info
from airflow_provider_ignite_kafka.links import copy as links
from ignite_kafka.state.status import COMPLETED, FAILED, CacheStatus
from tests.support.airflow_versions import DagSerialization
from tests.unit.airflow.bench import Bench, context, operator, run_status

UI = "http://worker:4040"
LINE = f"2025-01-01 00:00:00,000 INFO Spark application local-1, web UI {UI}"


def option(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"AIRFLOW__IGNITE_KAFKA__{name.upper()}", value)


def pushed_by(task: Any, *, failed: bool = False) -> list[tuple[str, str]]:
    """Keys and URLs in the order of the pushes."""
    given, order = context(), []
    given["ti"].xcom_push = lambda key, value: order.append((key, value))
    if failed:
        with pytest.raises(AirflowException):
            task.execute(given)
    else:
        task.execute(given)
    return order


def test_links_of_a_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/base/")
    option(monkeypatch, "kafka_topic_url", "http://kafka-ui/topics/{topic}?x={topic}")
    option(monkeypatch, "spark_history_url", "http://history/{application_id}/jobs/")
    caches = {"air": CacheStatus("t-air", records=1), "flights": CacheStatus("t-flights", records=10)}
    bench.status = lambda: replace(run_status(COMPLETED), caches=caches, application_id="local-1", spark_ui=UI)
    bench.order(print=["nothing", LINE, LINE])
    assert pushed_by(operator({"name": "a.b"})) == [
        (
            links.ConnectorLink.key,
            "https://airflow.example.com/base/ignite-kafka/connections/kafka_default/connectors/a.b?prefix=ignite-kafka",
        ),
        (links.SparkLink.key, UI),
        (links.SparkLink.key, "http://history/local-1/jobs/"),
        (links.TopicLink.key, "http://kafka-ui/topics/t-flights?x=t-flights"),
    ]


@pytest.mark.parametrize("url", ["http://driver:4040", "https://spark.example.com/proxy/app-1/?a=b#c", "http://[::1]:4040/"])
def test_addresses_of_spark_s_web_ui_become_links(url: str) -> None:
    assert links.spark_url(url) == url


@pytest.mark.parametrize(
    "text",
    [
        "", "javascript:alert(1)", "JavaScript://x/%0aalert(1)", "java\nscript:alert(1)", " javascript:alert(1)", "data:text/html,x",
        "file:///etc/passwd", "//host", "host:4040", "http://", "http:///path", "http://[", "http://user@host", "http://a b", "http://h\n",
        "http://h\0", "http://hü", f"http://{'h' * 2_000}",
    ],
)  # fmt: skip
def test_other_texts_of_a_record_become_no_link(text: str, bench: Bench) -> None:
    assert links.spark_url(text) == ""
    bench.status = lambda: replace(run_status(COMPLETED), spark_ui=text)
    bench.order(print=[f"INFO Spark application local-1, web UI {text}"] if "\n" not in text and "\0" not in text else ["nothing"])
    assert text not in dict(pushed_by(operator())).values() or not text


def test_link_to_spark_ends_with_its_web_ui_and_a_failed_run_has_links_too(bench: Bench) -> None:
    bench.status = lambda: run_status(FAILED)
    bench.order(print=[LINE])
    assert pushed_by(operator(), failed=True)[1:] == [(links.SparkLink.key, UI), (links.SparkLink.key, ""), (links.TopicLink.key, "")]


@pytest.mark.parametrize("line", ["Spark application local-1, web UI off", "Spark application local-1, web UI javascript:alert(1)"])
def test_only_a_web_address_becomes_a_link(bench: Bench, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench.order(print=[line])
    assert links.SparkLink.key not in [key for key, url in pushed_by(operator()) if url]
    assert line in capsys.readouterr().out, "the task's log has it"


def test_names_of_topics_and_applications_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    option(monkeypatch, "kafka_topic_url", "http://ui/{topic}")
    assert links.topic_url({"a b": 1}) == "http://ui/a%20b"
    assert links.topic_url({}) == ""
    assert links.connector_url("k/1", "c", "p&q").endswith("/ignite-kafka/connections/k%2F1/connectors/c?prefix=p%26q")


def test_airflow_knows_the_links_and_their_keys(bench: Bench) -> None:
    named = set(get_provider_info()["extra-links"])
    assert named <= set(ProvidersManager().extra_links_class_names)
    task = operator()
    assert task.dag is not None
    serialized = DagSerialization.from_dict(DagSerialization.to_dict(task.dag)).get_task("copy")
    found = {link.name: link.xcom_key for link in serialized.operator_extra_links}
    classes = [getattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in named]
    assert found == {one.name: one.key for one in classes}
    assert set(found) == {"Connector", "Spark UI", "Kafka topic"}


def test_url_is_read_back_when_the_task_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, str] = {links.SparkLink.key: UI}
    monkeypatch.setattr(XCom, "get_value", lambda key, ti_key: kept.get(key))
    key: Any = None
    assert links.SparkLink().get_link(operator(), ti_key=key) == UI
    assert links.TopicLink().get_link(operator(), ti_key=key) == ""
