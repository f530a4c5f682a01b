"""Generation of Dags from connector files, or from connectors declared by REST: one Dag for each connector."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    BaseOperator,
)
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.airflow_api import literal
from airflow_provider_ignite_kafka.connector_store import ConnectorStore
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from airflow_provider_ignite_kafka.parse_check import is_plain
from airflow_provider_ignite_kafka.runs.names import connector_name
from ignite_kafka.common.python_compat import UTC
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.files.connector_files import BrokenConnector, DeclaredConnector, read_folder
from ignite_kafka.settings.sink import SinkSettings

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

TASK_ID = "copy"
_START = datetime(2025, 1, 1, tzinfo=UTC)
_SECONDS = "_s"
_DAG_ID = re.compile(r"[\w.-]{1,250}", re.ASCII)
_RESTARTS = {  # similar to Strimzi's waits between restarts: 2, 6, 12 minutes and so on, at most an hour
    "retry_delay": timedelta(minutes=2),
    "retry_exponential_backoff": True,
    "max_retry_delay": timedelta(hours=1),
}
log = logging.getLogger(__name__)


def connector_dags(
    folder: str | Path | ConnectorStore,
    *,
    prefix: str = "",
    dag_arguments: Mapping[str, Any] | None = None,
    task_arguments: Mapping[str, Any] | None = None,
) -> dict[str, DAG]:
    """Make a Dag for each connector file of a folder; docs/connector-files.md describes the files.

    One call in a Dag file is enough::

        from airflow_provider_ignite_kafka.connector_dags import connector_dags

        connector_dags(Path(__file__).parent / "connectors", task_arguments={"conn_id": "spark_cluster"})

    Connectors declared by Kafka Connect's REST interface are those of a :class:`.ConnectorStore`::

        connector_dags(ConnectorStore("kafka_default"), task_arguments={"conn_id": "spark_cluster"})

    A connector that runs until it is stopped has the schedule ``@continuous``, any other connector the schedule in its
    file, or none.
    The task of a connector whose state is stopped skips. A broken file makes a Dag whose task fails with error, file
    and line, because an import error would stop all Dags of the Dag file.

    :param folder: folder of connector files, or a store of declared connectors.
    :param prefix: beginning of the Dags' ids; the connector's name follows.
    :param dag_arguments: arguments of every Dag; a file's arguments take precedence.
    :param task_arguments: arguments of every operator; a file's arguments take precedence.
    :return: the Dags by id, already registered with Airflow.
    :raises SettingsError: there is no such folder.
    """
    store = folder if isinstance(folder, ConnectorStore) else None
    content = read_folder(folder) if not isinstance(folder, ConnectorStore) else folder.read()
    dags = {}
    every: list[DeclaredConnector | BrokenConnector] = [*content.connectors, *content.broken]
    for each in every:
        connector, dag = _checked_dag(each, prefix, dag_arguments or {})
        with dag:
            if isinstance(connector, BrokenConnector):
                log.error("Connector of %s: %s", _place(connector), connector.error)
                BrokenConnectorOperator(task_id=TASK_ID, message=str(connector.error))
            else:
                check = {} if store is None else {"pre_execute": store.check_not_stopped(connector.name)}
                _add_task(connector, {**(task_arguments or {}), **check, **_task_arguments(connector)})
        dags[dag.dag_id] = dag
    return dags


def _checked_dag(
    connector: DeclaredConnector | BrokenConnector, prefix: str, dag_arguments: Mapping[str, Any]
) -> tuple[DeclaredConnector | BrokenConnector, DAG]:
    """Make the Dag of a connector, without tasks yet; if Airflow refuses it, return the connector as broken.

    Airflow refuses a Dag for a wrong schedule, for example.
    """
    if isinstance(connector, DeclaredConnector):
        try:
            dag = DAG(prefix + connector.name, **_dag_arguments(connector, dag_arguments))
            dag.validate()
        except (ValueError, TypeError, AirflowException) as error:
            where = _place(connector)
            wrong = SettingsError(
                f"Airflow refuses the Dag: {error}", "Correct the part dag of the file.", set_in=where
            )
            connector = BrokenConnector(connector.file, connector.line, connector.name, wrong)
        else:
            return connector, dag
    name = prefix + connector.name
    return connector, DAG(
        name if _DAG_ID.fullmatch(name) else connector_name(name), **_dag_arguments(connector, dag_arguments)
    )


def _place(connector: DeclaredConnector | BrokenConnector, quote: str = "") -> str:
    """Return where a connector is declared: file and line, or the topic."""
    file = f"{quote}{connector.file}{quote}"
    return f"{file}, line {connector.line}" if connector.line else file


def _add_task(connector: DeclaredConnector, arguments: Mapping[str, Any]) -> None:
    if connector.state == "stopped":
        StoppedConnectorOperator(
            task_id=TASK_ID,
            message=f"The state of {connector.name} in {_place(connector)}{',' if connector.line else ''} is stopped.",
        )
        return
    operator = KafkaToIgniteOperator if connector.loaded.direction is SinkSettings else IgniteToKafkaOperator
    # texts of a file are no templates
    settings = {name: value if is_plain(value) else literal(value) for name, value in connector.loaded.values.items()}
    operator(task_id=TASK_ID, settings=settings, **arguments)


def _dag_arguments(connector: DeclaredConnector | BrokenConnector, defaults: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {"schedule": None, "start_date": _START, "catchup": False, "max_active_runs": 1, **defaults}
    arguments["doc_md"] = f"Made of {_place(connector, '`')}."
    arguments["tags"] = [*(defaults.get("tags") or ()), "ignite", "kafka"]
    if isinstance(connector, BrokenConnector):
        return {**arguments, "schedule": None, "doc_md": f"{arguments['doc_md']} It is broken: {connector.error}"}
    if connector.settings().run_mode == "continuous" and connector.state != "stopped":
        arguments["schedule"] = "@continuous"
    own = dict(connector.dag)
    if "tags" in own:
        arguments["tags"] += own.pop("tags")
    if "start_date" in own:
        start = own.pop("start_date")
        arguments["start_date"] = start if start.tzinfo else start.replace(tzinfo=UTC)
    return {**arguments, **own, **({"schedule": None} if connector.state == "stopped" else {})}


def _task_arguments(connector: DeclaredConnector) -> dict[str, Any]:
    restarts = {"retries": connector.restarts, **_RESTARTS} if connector.restarts is not None else {}
    own = {
        name.removesuffix(_SECONDS): timedelta(seconds=value)
        if name.endswith(_SECONDS) and value is not None
        else value
        for name, value in connector.task.items()
    }
    return {**restarts, **own}


class BrokenConnectorOperator(BaseOperator):
    """Operator for a connector with a broken file: it fails with the file's error.

    :param message: the error, with file and line.
    """

    ui_color = "#f6dede"

    def __init__(self, *, message: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.message = message

    def execute(self, context: Context) -> None:
        """Fail the task with the file's error, without a retry.

        :raises AirflowFailException: always.
        """
        raise AirflowFailException(f"{SettingsError.__name__}: {self.message}")


class StoppedConnectorOperator(BaseOperator):
    """Operator for a connector whose file has the state stopped: it skips the task.

    :param message: name and file of the connector.
    """

    ui_color = "#eeeeee"

    def __init__(self, *, message: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.message = message

    def execute(self, context: Context) -> None:
        """Skip the task with a message.

        :raises AirflowSkipException: always.
        """
        raise AirflowSkipException(self.message)
