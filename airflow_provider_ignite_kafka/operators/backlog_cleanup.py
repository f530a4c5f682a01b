"""Operator that removes the capture and the backlog of a retired connector from the Ignite nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID
from airflow_provider_ignite_kafka.parse_check import check_settings, is_mapped
from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.request import Connections, MountedSecurity, merge_settings, resolve_secrets
from airflow_provider_ignite_kafka.templates import TypedTemplates
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.fields import BOOLEAN
from ignite_kafka.settings.source import SourceSettings

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


class BacklogCleanupOperator(TypedTemplates, BaseOperator):
    """Operator that ends the capture of a gracefully stopped connector, and destroys its backlog cache.

    It runs in the worker, without Spark.

    It fails without retries while the connector runs, or if its newest run did not stop gracefully, because the changes
    in the backlog would be lost. Backlogs of other connectors are not changed. It is safe to repeat.

    :param connector: name of the connector. Templated.
    :param force: clean up however the newest run ended. Templated.
    :param settings: settings of the connector by name, or the path of its file; needed if it sets
        `internal_topic_prefix` or names of backlog cache or service. Templated.
    :param ignite_conn_id: connection of type `ignite`. Templated.
    :param kafka_conn_id: connection of the Kafka provider. Templated.
    :param secrets_file: path of a secrets file on the worker, which overrides the connections' secrets. Templated.
    """

    direction: ClassVar[type[ConnectorSettings]] = SourceSettings
    template_fields: Sequence[str] = (
        "connector",
        "force",
        "settings",
        "ignite_conn_id",
        "kafka_conn_id",
        "secrets_file",
    )
    template_fields_renderers = {"settings": "json"}
    ui_color = "#f6dede"

    def __init__(
        self,
        *,
        connector: str,
        force: bool | str = False,
        settings: Mapping[str, Any] | str | None = None,
        ignite_conn_id: str = DEFAULT_CONN_ID,
        kafka_conn_id: str = "kafka_default",
        secrets_file: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connector = connector
        self.force = force
        self.settings = settings
        self.ignite_conn_id = ignite_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.secrets_file = secrets_file
        if not is_mapped(self):
            check_settings(settings, SourceSettings, {}, dag=self.dag_id, task=self.task_id)

    def execute(self, context: Context) -> dict[str, Any]:
        """End the capture, and destroy the backlog cache.

        :return: ``connector``, and the names of the removed ``service`` and backlog ``cache``, each None if there was
            nothing to remove.
        :raises AirflowFailException: refused, or a setting is wrong.
        :raises AirflowException: a cluster did not answer; nothing or only a part is removed.
        """
        from ignite_kafka.admin import backlog
        from ignite_kafka.cli import render

        try:
            connections = Connections.of(self.ignite_conn_id, self.kafka_conn_id)
            secrets = resolve_secrets(self.secrets_file, connections)
            mounted = MountedSecurity.of(Path(self.secrets_file) if self.secrets_file else None, secrets)
            settings = merge_settings(
                self.settings or {}, SourceSettings, connections, {"name": self.connector}, mounted=mounted
            )
            cleaned = backlog.cleanup(settings, secrets, force=self._forced())
        except IgniteKafkaError as error:
            raise run_result.error_to_exception(error) from error
        self.log.info("%s", render.cleaned(cleaned))
        return cleaned.to_dict()

    def _forced(self) -> bool:
        """Return the argument `force` as a boolean, because a template may be rendered to text."""
        try:
            return bool(BOOLEAN.parse(self.force))
        except ValueError as error:
            raise SettingsError(f"force is {self.force!r}", "Allowed: true or false.", setting="force") from error
