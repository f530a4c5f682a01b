"""Arguments of the copying operators, checked when the Dag is parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import conf as airflow_conf

from airflow_provider_ignite_kafka.lineage.copy import injects_parent_job
from airflow_provider_ignite_kafka.operators.spark_app import SparkAppOperator
from airflow_provider_ignite_kafka.parse_check import check_settings, is_mapped
from ignite_kafka.settings.connector import ConnectorSettings

if TYPE_CHECKING:
    from datetime import timedelta


class CopyArguments(SparkAppOperator):
    """Arguments of the copying operators; :class:`.SparkCopyOperator` does the work.

    :param run_mode: ``once`` or ``continuous``; overrides the setting. Templated.
    :param allowed_caches: regular expressions of the caches that a run may reach, whatever a form, a template or
        another task gives. Default: any cache.
    :param metrics_host: address on which the driver's endpoint for Prometheus listens (setting `metrics_port`).
        Default: loopback. The endpoint has no login, so only this argument, which is no template, opens it to other
        hosts.
    :param num_executors: executors to start (YARN, Kubernetes).
    :param executor_cores: cores of an executor.
    :param executor_memory: memory of an executor, such as ``4g``.
    :param total_executor_cores: cores of all executors together (standalone).
    :param driver_memory: memory of the driver.
    :param deferrable: follow the app from the triggerer, so that it holds no worker slot; in cluster mode only.
        Default: ``[operators] default_deferrable``.
    :param run_for: time from a stream's first try until the stream is ended gracefully, which is a success: a
        timedelta, seconds, or text such as ``8:00:00`` or ``PT8H``. Templated.
    :param openlineage_inject_parent_job_info: add the Spark properties by which OpenLineage's Spark listener names this
        task as parent. Default: option ``spark_inject_parent_job_info`` of section ``[openlineage]`` in Airflow's
        configuration.

    Other parameters are those of ``SparkAppOperator``.

    ``max_active_tis_per_dag`` defaults to 1 if the connector's name is the same in each Dag run: runs of one connector
    wait for each other, also those of a backfill.
    """

    direction: ClassVar[type[ConnectorSettings]]
    template_fields: Sequence[str] = (*SparkAppOperator.template_fields, "run_mode", "run_for")

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | str,
        run_mode: str | None = None,
        allowed_caches: Sequence[str] | None = None,
        metrics_host: str | None = None,
        num_executors: int | None = None,
        executor_cores: int | None = None,
        executor_memory: str | None = None,
        total_executor_cores: int | None = None,
        driver_memory: str | None = None,
        deferrable: bool = airflow_conf.getboolean("operators", "default_deferrable", fallback=False),
        run_for: timedelta | float | str | None = None,
        openlineage_inject_parent_job_info: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(settings=settings, **kwargs)
        if self.max_active_tis_per_dag is None and _one_connector(settings):
            self.max_active_tis_per_dag = 1  # a newer run of a connector ends the older one
        self.run_mode = run_mode
        self.allowed_caches = allowed_caches
        self.metrics_host = metrics_host
        self.num_executors = num_executors
        self.total_executor_cores = total_executor_cores
        self.executor_cores = executor_cores
        self.executor_memory = executor_memory
        self.driver_memory = driver_memory
        self.deferrable = deferrable
        self.run_for = run_for
        self.openlineage_inject_parent_job_info = injects_parent_job(openlineage_inject_parent_job_info)

    def check_settings(self) -> None:
        """Check settings without templates, so that a wrong setting is an import error of the Dag.

        :raises SettingsError: a setting is unknown or wrong.
        """
        if not is_mapped(self):
            names = ("run_mode", "failover_policy", "metrics_host")
            arguments = {name: getattr(self, name, None) for name in names}
            check_settings(self.settings, self.direction, arguments, dag=self.dag_id, task=self.task_id)

    def _setting_arguments(self) -> dict[str, Any]:
        """Return the arguments that are settings of both directions; None: not given."""
        return {"run_mode": self.run_mode, "metrics_host": self.metrics_host}


def _one_connector(settings: object) -> bool:
    """Return whether every Dag run has the same connector, because name and settings are no templates."""
    if isinstance(settings, Mapping):
        name = settings.get("name", "")
        return isinstance(name, str) and "{{" not in name
    return isinstance(settings, str) and "{{" not in settings
