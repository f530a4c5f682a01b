"""Spark app of a run in YARN or Kubernetes, by its id: kill it, or ask whether it has ended."""

from __future__ import annotations

import logging
import re
import subprocess
from dataclasses import dataclass
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException, BaseHook

from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from ignite_kafka.common.deadline import Interval
from ignite_kafka.state.status import now_ms

log = logging.getLogger(__name__)

_YARN = "application_"
_RM_ADDRESS = "yarn_resourcemanager_webapp_address"
_COMMAND_S = 60.0  # time limit of a command, whose JVM may start on a busy worker
_YARN_STATE = re.compile(r"^\s*State\s*:\s*(\w+)", re.MULTILINE)
_YARN_ENDED = frozenset({"FINISHED", "FAILED", "KILLED"})
_POD_DELETED = "deleted"
_POD_ENDED = frozenset({"Succeeded", "Failed", _POD_DELETED})
_NOT_FOUND = 404
_API_S = 20.0


_ASK_CLUSTER_S = 60.0
_SILENCE_S = 60.0  # a run without records for this time may have lost its app


class AppWatch:
    """Check for an app that died silently; asks the cluster at most once a minute, as asking is slow."""

    def __init__(self, app: ClusterApp) -> None:
        self._app = app
        self._due = Interval(_ASK_CLUSTER_S)

    def has_ended(self, written_ms: int) -> bool:
        """Ask the cluster whether the app has ended, if its run has written no record for a while.

        :param written_ms: time of the run's last record, in milliseconds since 1970; 0 without a record.
        """
        silent = now_ms() - written_ms > _SILENCE_S * 1000
        return silent and self._due.due() and self._app.has_ended()


class _DriverPod:
    """Kubernetes pod of an app's driver, in the namespace of the submission or of the Spark connection."""

    def __init__(self, run: FollowedRun) -> None:
        extra = BaseHook.get_connection(run.spark_conn_id).extra_dejson
        self._where = {"name": run.app_id, "namespace": run.namespace or extra.get("namespace") or "default"}

    def delete(self) -> str:
        from airflow.providers.cncf.kubernetes import kube_client

        try:
            kube_client.get_kube_client().delete_namespaced_pod(**self._where)
        except kube_client.ApiException as error:
            return f"The driver pod {self._where['name']} could not be deleted: {error}"
        return f"The driver pod {self._where['name']} is deleted."

    def phase(self) -> str | None:
        from airflow.providers.cncf.kubernetes import kube_client
        from kubernetes.config import ConfigException
        from urllib3.exceptions import HTTPError

        try:
            pod = kube_client.get_kube_client().read_namespaced_pod(**self._where, _request_timeout=_API_S)
        except kube_client.ApiException as error:
            if error.status == _NOT_FOUND:
                return _POD_DELETED
            log.warning("The state of the driver pod %s is not known: %s", self._where["name"], error)
            return None
        except (HTTPError, OSError, ConfigException) as error:
            log.warning(
                "The state of the driver pod %s is not known, as the API did not answer: %s", self._where["name"], error
            )
            return None
        return str(pod.status.phase)

    @property
    def log_command(self) -> str:
        """Shell command with which a user reads the driver's log."""
        return f"kubectl logs {self._where['name']} --namespace {self._where['namespace']}"


@dataclass(frozen=True)
class ClusterApp:
    """Spark app of a run in YARN or Kubernetes. All methods block.

    YARN is asked through its REST API if the Spark connection's extra has ``yarn_resourcemanager_webapp_address``, else
    through the command ``yarn``; Kubernetes through its API.
    """

    run: FollowedRun

    @property
    def on_yarn(self) -> bool:
        """Whether the app runs in YARN, not in Kubernetes."""
        return self.run.app_id.startswith(_YARN)

    @property
    def log_command(self) -> str:
        """Shell command with which a user reads the driver's log; empty if the app's id is unknown."""
        if not self.run.app_id:
            return ""
        if self.on_yarn:
            return f"yarn logs -applicationId {self.run.app_id}"
        return _DriverPod(self.run).log_command

    def kill(self) -> str:
        """Kill the app in its cluster, and return a text about the result for the task's log."""
        if not self.run.app_id:
            return (
                "The app cannot be killed from here, because its id in the cluster is not known: end it where it was "
                "submitted."
            )
        if not self.on_yarn:
            return _DriverPod(self.run).delete()
        if self._rest is not None:
            self._rest._kill_yarn_application(self.run.app_id)
            return f"YARN was requested to kill {self.run.app_id}."
        killed = _yarn("-kill", self.run.app_id)
        return f"yarn application -kill {self.run.app_id} " + (
            "failed." if killed is None else f"ended with exit code {killed.returncode}."
        )

    def has_ended(self) -> bool:
        """Ask the cluster whether the app has ended; False without an answer."""
        if not self.run.app_id:
            return False
        if not self.on_yarn:
            return _DriverPod(self.run).phase() in _POD_ENDED
        if self._rest is not None:
            try:
                return self._rest.query_yarn_application_status(self.run.app_id) in ("SUCCEEDED", "FAILED")
            except (RuntimeError, AirflowException) as error:
                log.warning("The state of %s is not known: %s", self.run.app_id, error)
                return False
        answer = _yarn("-status", self.run.app_id)
        state = _YARN_STATE.search(answer.stdout) if answer is not None else None
        return state is not None and state[1] in _YARN_ENDED

    @property
    def _rest(self) -> Any:
        """Hook of the Spark provider that calls YARN's REST API.

        It is None if the connection has no such address, or the Spark provider does not use that API.
        """
        if not hasattr(SparkSubmitHook, "query_yarn_application_status") or not BaseHook.get_connection(
            self.run.spark_conn_id
        ).extra_dejson.get(_RM_ADDRESS):
            return None
        return SparkSubmitHook(conn_id=self.run.spark_conn_id)


def _yarn(option: str, app_id: str) -> subprocess.CompletedProcess[str] | None:
    command = ["yarn", "application", option, app_id]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("%s failed: %s", " ".join(command), error)
        return None
