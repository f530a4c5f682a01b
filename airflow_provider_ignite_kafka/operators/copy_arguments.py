"""Arguments of the copying operators, checked when the Dag is parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import BaseOperator
from airflow.providers.common.compat.sdk import conf as airflow_conf

from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID
from airflow_provider_ignite_kafka.lineage.copy import injects_parent_job
from airflow_provider_ignite_kafka.operators.spark_app import check_arguments
from airflow_provider_ignite_kafka.parse_check import check_settings, is_mapped
from airflow_provider_ignite_kafka.templates import TypedTemplates
from ignite_kafka.settings.connector import ConnectorSettings

if TYPE_CHECKING:
    from datetime import timedelta


class CopyArguments(TypedTemplates, BaseOperator):
    """Arguments of the copying operators; :class:`.SparkCopyOperator` does the work.

    :param settings: settings of the connector by name, or the path of a ``.properties`` file on the worker. Templated.
    :param run_mode: ``once`` or ``continuous``; overrides the setting. Templated.
    :param allowed_caches: regular expressions of the caches that a run may reach, whatever a form, a template or
        another task gives. Default: any cache.
    :param metrics_host: address on which the driver's endpoint for Prometheus listens (setting `metrics_port`).
        Default: loopback. The endpoint has no login, so only this argument, which is no template, opens it to other
        hosts.
    :param ignite_conn_id: connection of type `ignite`.
    :param kafka_conn_id: connection of the Kafka provider; its extra holds librdkafka settings.
    :param registry_conn_id: connection of type `http` of the schema registry, for converters that have one; its extra
        holds Confluent's properties. Templated.
    :param conn_id: connection of the Spark provider.
    :param secrets_file: file with the secrets, mounted at this path on worker, driver and executors. Default: the
        operator writes one from the connections, readable only by its user, and removes it when the app has ended.
        Templated.
    :param ship_secrets_unprotected: without `secrets_file` Spark sends the secrets to executors. If Spark does not
        authenticate (``spark.authenticate``), this is refused, because everybody who reaches the driver's port could
        read the secrets; True allows it.
    :param conf: Spark properties. Templated.
    :param num_executors: executors to start (YARN, Kubernetes).
    :param executor_cores: cores of an executor.
    :param executor_memory: memory of an executor, such as ``4g``.
    :param total_executor_cores: cores of all executors together (standalone).
    :param driver_memory: memory of the driver.
    :param application: path of the app, such as ``local:///opt/app/ignite_to_kafka.py`` in an image. Default: the
        installed one. Templated.
    :param spark_submit: other arguments of the Spark provider's SparkSubmitHook by name: ``archives``, ``deploy_mode``,
        ``env_vars``, ``files``, ``keytab``, ``principal``, ``properties_file``, ``py_files``, ``spark_binary``,
        ``yarn_queue`` and so on. Templated.
    :param deferrable: follow the app from the triggerer, so that it holds no worker slot; in cluster mode only.
        Default: ``[operators] default_deferrable``.
    :param run_for: time from a stream's first try until the stream is ended gracefully, which is a success: a
        timedelta, seconds, or text such as ``8:00:00`` or ``PT8H``. Templated.
    :param start_timeout_ms: milliseconds from the submission to the app's first record, in cluster mode.
    :param stop_timeout_ms: milliseconds within which the app must end, after its current batch, when the task is killed
        or times out.
    :param openlineage_inject_parent_job_info: add the Spark properties by which OpenLineage's Spark listener names this
        task as parent. Default: option ``spark_inject_parent_job_info`` of section ``[openlineage]`` in Airflow's
        configuration.

    ``max_active_tis_per_dag`` defaults to 1 if the connector's name is the same in each Dag run: runs of one connector
    wait for each other, also those of a backfill.
    """

    direction: ClassVar[type[ConnectorSettings]]
    template_fields: Sequence[str] = (
        "settings",
        "run_mode",
        "ignite_conn_id",
        "kafka_conn_id",
        "registry_conn_id",
        "conn_id",
        "secrets_file",
        "conf",
        "application",
        "spark_submit",
        "run_for",
    )
    template_fields_renderers = {"settings": "json", "conf": "json", "spark_submit": "json"}

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | str,
        run_mode: str | None = None,
        allowed_caches: Sequence[str] | None = None,
        metrics_host: str | None = None,
        ignite_conn_id: str = DEFAULT_CONN_ID,
        kafka_conn_id: str = "kafka_default",
        registry_conn_id: str | None = None,
        conn_id: str = "spark_default",
        secrets_file: str | None = None,
        ship_secrets_unprotected: bool = False,
        conf: Mapping[str, Any] | None = None,
        num_executors: int | None = None,
        executor_cores: int | None = None,
        executor_memory: str | None = None,
        total_executor_cores: int | None = None,
        driver_memory: str | None = None,
        application: str | None = None,
        spark_submit: Mapping[str, Any] | None = None,
        deferrable: bool = airflow_conf.getboolean("operators", "default_deferrable", fallback=False),
        run_for: timedelta | float | str | None = None,
        start_timeout_ms: int = 1_800_000,
        stop_timeout_ms: int = 30_000,
        openlineage_inject_parent_job_info: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if self.max_active_tis_per_dag is None and _one_connector(settings):
            self.max_active_tis_per_dag = 1  # a newer run of a connector ends the older one
        self.settings = settings
        self.run_mode = run_mode
        self.allowed_caches = allowed_caches
        self.metrics_host = metrics_host
        self.ignite_conn_id = ignite_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.registry_conn_id = registry_conn_id
        self.conn_id = conn_id
        self.secrets_file = secrets_file
        self.ship_secrets_unprotected = ship_secrets_unprotected
        self.conf = conf
        self.application = application
        self.spark_submit = spark_submit
        self.num_executors = num_executors
        self.total_executor_cores = total_executor_cores
        self.executor_cores = executor_cores
        self.executor_memory = executor_memory
        self.driver_memory = driver_memory
        check_arguments(spark_submit)
        self.deferrable = deferrable
        self.run_for = run_for
        self.start_timeout_ms = start_timeout_ms
        self.stop_timeout_ms = stop_timeout_ms
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
