"""An app in its cluster: the driver pod by Kubernetes' API, an application by the command of YARN."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from urllib3.exceptions import MaxRetryError

from airflow_provider_ignite_kafka.runs import cluster_app
from airflow_provider_ignite_kafka.runs.cluster_app import AppWatch, ClusterApp
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from ignite_kafka.state.status import now_ms
from tests.unit.airflow.bench import Bench

POD = FollowedRun("c", "r", app_id="copy-1-driver", namespace="jobs")
YARN = replace(POD, app_id="application_17_0001", namespace="")


class ApiException(Exception):
    """As that of the client of Kubernetes."""

    status = 404


class ConfigException(Exception):
    """As that of the client's configuration."""


def _api_error(status: int) -> ApiException:
    error = ApiException(f"{status} Service Unavailable")
    error.status = status
    return error


@dataclass
class Kubernetes:
    """The API of a cluster with one pod; None: there is no such pod.

    :param error: raised instead of an answer.
    """

    phase: str | None = "Running"
    error: Exception | None = None
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def read_namespaced_pod(self, name: str, namespace: str, _request_timeout: float) -> Any:
        assert _request_timeout
        self._note("read", name, namespace)
        return SimpleNamespace(status=SimpleNamespace(phase=self.phase))

    def delete_namespaced_pod(self, name: str, namespace: str) -> None:
        self._note("delete", name, namespace)

    def _note(self, what: str, name: str, namespace: str) -> None:
        self.asked.append((what, name, namespace))
        if self.error is not None:
            raise self.error
        if self.phase is None:
            raise ApiException("404 Not Found")


@pytest.fixture
def kubernetes(connect: Any, monkeypatch: pytest.MonkeyPatch) -> Kubernetes:
    """Instead of the Kubernetes provider, which is optional."""
    made, client = Kubernetes(), ModuleType("kube_client")
    vars(client).update(get_kube_client=lambda: made, ApiException=ApiException)
    provider = ModuleType("airflow.providers.cncf.kubernetes")
    vars(provider).update(kube_client=client)
    monkeypatch.setitem(sys.modules, "airflow.providers.cncf", ModuleType("airflow.providers.cncf"))
    monkeypatch.setitem(sys.modules, "airflow.providers.cncf.kubernetes", provider)
    monkeypatch.setitem(sys.modules, "airflow.providers.cncf.kubernetes.kube_client", client)
    config = ModuleType("kubernetes.config")
    vars(config).update(ConfigException=ConfigException)
    monkeypatch.setitem(sys.modules, "kubernetes", ModuleType("kubernetes"))
    monkeypatch.setitem(sys.modules, "kubernetes.config", config)
    connect("spark_default", conn_type="spark", host="k8s://https://m", extra={"namespace": "of-the-connection"})
    return made


@pytest.mark.parametrize(
    ("phase", "ended"), [("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True), ("Failed", True), (None, True)]
)
def test_the_phase_of_the_driver_pod_tells_whether_the_app_has_ended(kubernetes: Kubernetes, phase: str | None, ended: bool) -> None:
    kubernetes.phase = phase
    assert ClusterApp(POD).has_ended() is ended
    assert kubernetes.asked == [("read", "copy-1-driver", "jobs")]


@pytest.mark.parametrize("error", [MaxRetryError(None, "/api"), ConfigException("no token"), ConnectionResetError(), _api_error(503)])  # type: ignore[arg-type]
def test_an_api_that_does_not_answer_ends_no_run(kubernetes: Kubernetes, error: Exception) -> None:
    kubernetes.error = error
    assert not ClusterApp(POD).has_ended()


def test_an_app_is_killed_by_the_deletion_of_its_pod(kubernetes: Kubernetes) -> None:
    assert ClusterApp(POD).kill() == "The driver pod copy-1-driver is deleted."
    ClusterApp(replace(POD, namespace="")).kill()
    assert kubernetes.asked == [("delete", "copy-1-driver", "jobs"), ("delete", "copy-1-driver", "of-the-connection")]


def test_a_pod_that_cannot_be_deleted_is_told(kubernetes: Kubernetes) -> None:
    kubernetes.phase = None
    assert ClusterApp(POD).kill() == "The driver pod copy-1-driver could not be deleted: 404 Not Found"


def test_an_app_without_an_id_is_neither_asked_nor_killed() -> None:
    unknown = ClusterApp(replace(POD, app_id=""))
    assert not unknown.has_ended()
    assert "its id in the cluster is not known" in unknown.kill()


@pytest.mark.parametrize(
    ("run", "command"),
    [
        (YARN, "yarn logs -applicationId application_17_0001"),
        (POD, "kubectl logs copy-1-driver --namespace jobs"),
        (replace(POD, namespace=""), "kubectl logs copy-1-driver --namespace of-the-connection"),
        (replace(POD, app_id=""), ""),
    ],
)
@pytest.mark.usefixtures("kubernetes")
def test_a_command_shows_the_log_of_the_driver(run: FollowedRun, command: str) -> None:
    assert ClusterApp(run).log_command == command


def test_a_command_of_yarn_that_is_missing_or_fails_is_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    yarn = bench.folder / "bin" / "yarn"
    yarn.write_text("#!/bin/sh\nexit 3\n")
    assert ClusterApp(YARN).kill().endswith("ended with exit code 3.")
    assert not ClusterApp(YARN).has_ended()
    yarn.unlink()
    assert ClusterApp(YARN).kill().endswith("failed.")
    assert "yarn application -kill application_17_0001 failed" in caplog.text


def test_the_cluster_is_asked_about_an_app_whose_records_stay_away(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def has_ended(app: ClusterApp) -> bool:
        asked.append(app.run.app_id)
        return True

    monkeypatch.setattr(ClusterApp, "has_ended", has_ended)
    assert not AppWatch(ClusterApp(POD)).has_ended(0), "not before a minute has passed"
    monkeypatch.setattr(cluster_app, "_ASK_CLUSTER_S", 0.0)
    watch = AppWatch(ClusterApp(POD))
    assert not watch.has_ended(now_ms())
    assert asked == []
    assert watch.has_ended(0)
    assert asked == ["copy-1-driver"]
