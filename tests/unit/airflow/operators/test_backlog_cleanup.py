"""Arguments that the cleanup operator passes on; the integration tests clean up real servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from ignite_kafka.admin import backlog as backlog_control
from ignite_kafka.admin.backlog import CleanupResult
from ignite_kafka.errors import BacklogUnavailable, IgniteKafkaError, NotStopped
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.settings.secrets import Secrets, dump
from ignite_kafka.settings.source import SourceSettings


@pytest.fixture
def asked(connect: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[SourceSettings, Secrets, bool]]:
    """Arguments of each cleanup."""
    connect("ignite_default", conn_type="ignite", host="node", login="ignite", password="ignite-sesame")
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092", "sasl.password": "kafka-sesame"})
    calls: list[tuple[SourceSettings, Secrets, bool]] = []

    def cleanup(settings: SourceSettings, secrets: Secrets, *, force: bool) -> CleanupResult:
        calls.append((settings, secrets, force))
        return CleanupResult(settings.name, "the service", None)

    monkeypatch.setattr(backlog_control, "cleanup", cleanup)
    return calls


def operator(**arguments: Any) -> BacklogCleanupOperator:
    with DAG("d", schedule=None):
        return BacklogCleanupOperator(task_id="clean_up", **arguments)


def test_arguments_reach_the_cleanup_and_its_result_is_returned(asked: list[tuple[SourceSettings, Secrets, bool]]) -> None:
    task = operator(connector="{{ params.name }}", force="{{ params.force }}", settings={"internal_topic_prefix": "{{ params.prefix }}"})
    task.render_template_fields({"params": {"name": "stream", "force": True, "prefix": "own"}})
    assert task.execute({}) == {"connector": "stream", "service": "the service", "cache": None}
    [(settings, secrets, force)] = asked
    assert (settings.name, settings.internal_topic_prefix, force) == ("stream", "own", True)
    assert (settings.ignite_addresses, settings.bootstrap_servers) == (("node:10800",), "broker:9092")
    assert (secrets.ignite.password, secrets.kafka) == ("ignite-sesame", {"sasl.password": "kafka-sesame"})


def test_secrets_of_a_file(asked: list[tuple[SourceSettings, Secrets, bool]], tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    dump(Secrets(IgniteCredentials("ann", "mellon"), {"sasl.password": "hunter2"}), path)
    task = operator(connector="stream", secrets_file="{{ params.file }}")
    task.render_template_fields({"params": {"file": str(path)}})
    task.execute({})
    [(_, secrets, _)] = asked
    assert (secrets.ignite.password, secrets.kafka) == ("mellon", {"sasl.password": "hunter2"})


def test_settings_of_the_connector_s_own_file(asked: list[tuple[SourceSettings, Secrets, bool]], tmp_path: Path) -> None:
    path = tmp_path / "source.properties"
    path.write_text("name=from-file\nbacklogServiceName=own-service\n")
    operator(connector="stream", settings=str(path)).execute({})
    [(settings, _, force)] = asked
    assert (settings.name, settings.backlog_service_name, force) == ("stream", "own-service", False)


@pytest.mark.parametrize(("force", "connector"), [("perhaps", "stream"), (False, "a b"), (False, "")])
def test_bad_arguments_fail_before_anything_is_removed_and_without_a_retry(
    asked: list[tuple[SourceSettings, Secrets, bool]], force: Any, connector: str
) -> None:
    with pytest.raises(AirflowFailException, match="SettingsError"):
        operator(connector=connector, force=force).execute({})
    assert asked == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [(NotStopped("the newest run has not ended"), AirflowFailException), (BacklogUnavailable("a node left"), AirflowException)],
)
def test_what_no_retry_cures_is_not_tried_again(
    asked: list[tuple[SourceSettings, Secrets, bool]], monkeypatch: pytest.MonkeyPatch, error: IgniteKafkaError, kind: type[Exception]
) -> None:
    def refuse(*_: Any, **__: Any) -> CleanupResult:
        raise error

    monkeypatch.setattr(backlog_control, "cleanup", refuse)
    with pytest.raises(AirflowException, match=type(error).__name__) as failed:
        operator(connector="stream").execute({})
    assert failed.type is kind
