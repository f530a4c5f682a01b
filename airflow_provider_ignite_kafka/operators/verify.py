"""Operator that compares the topics of a connector with its caches and can repair differences."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, BaseOperator

from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID
from airflow_provider_ignite_kafka.hooks.spark_app import spark_master
from airflow_provider_ignite_kafka.operators.spark_app import SparkAppTask, check_arguments
from airflow_provider_ignite_kafka.parse_check import check_settings, is_mapped
from airflow_provider_ignite_kafka.spark import run_result
from airflow_provider_ignite_kafka.spark.request import Request
from airflow_provider_ignite_kafka.templates import TypedTemplates
from ignite_kafka.common import typed_json
from ignite_kafka.errors import NotAvailableYet, SettingsError
from ignite_kafka.settings.fields import BOOLEAN
from ignite_kafka.verify_app import DIRECTIONS, RESULT_LINE

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

RESULT_KEY = "verified"
_COUNTS = ("missing", "different", "unexpected", "skipped", "repaired")


class VerifyOperator(SparkAppTask, TypedTemplates, BaseOperator):
    """Compare the topics of a connector with its caches in a Spark app, as ``ignite-kafka verify`` does; return the counts of each cache.

    Differences fail the task without retries, because a retry would find them again. The app runs beside the task
    (client mode).

    :param settings: settings of the connector by name, with its ``name``, or the path of its file on the worker.
        Templated.
    :param direction: ``source`` (Ignite to Kafka) or ``sink`` (Kafka to Ignite). Templated.
    :param sample: percent of the keys that are compared. Templated.
    :param thorough: also decode every entry row by row (JSON only; slow).
    :param differences: maximum number of differences to describe for each cache.
    :param repair: send or put again what differs; refused while the connector's newest run has not ended. Templated.
    :param fail_on_differences: False: a task with differences succeeds, and a later task can read ``equal`` in its
        result.
    :param ignite_conn_id: connection of type `ignite`. Templated.
    :param kafka_conn_id: connection of the Kafka provider. Templated.
    :param registry_conn_id: connection of type `http` of the schema registry. Templated.
    :param conn_id: connection of the Spark provider. Templated.
    :param secrets_file: file with the secrets, mounted at this path on worker and executors. Templated.
    :param ship_secrets_unprotected: see ``SparkCopyOperator``.
    :param conf: Spark properties. Templated.
    :param application: path of the app. Default: the installed one. Templated.
    :param spark_submit: other arguments of the Spark provider's SparkSubmitHook by name. Templated.
    :param stop_timeout_ms: milliseconds that the app has to end when the task is killed or times out.
    """

    app_name = "verify_connector.py"
    template_fields: Sequence[str] = (
        "settings", "direction", "sample", "repair", "ignite_conn_id", "kafka_conn_id", "registry_conn_id", "conn_id", "secrets_file",
        "conf", "application", "spark_submit",
    )  # fmt: skip
    template_fields_renderers = {"settings": "json", "conf": "json", "spark_submit": "json"}
    ui_color = "#e3f1d9"

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | str,
        direction: str,
        sample: float | str = 100,
        thorough: bool = False,
        differences: int = 5,
        repair: bool | str = False,
        fail_on_differences: bool = True,
        ignite_conn_id: str = DEFAULT_CONN_ID,
        kafka_conn_id: str = "kafka_default",
        registry_conn_id: str | None = None,
        conn_id: str = "spark_default",
        secrets_file: str | None = None,
        ship_secrets_unprotected: bool = False,
        conf: Mapping[str, Any] | None = None,
        application: str | None = None,
        spark_submit: Mapping[str, Any] | None = None,
        stop_timeout_ms: int = 30_000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = settings
        self.direction = direction
        self.sample = sample
        self.thorough = thorough
        self.differences = differences
        self.repair = repair
        self.fail_on_differences = fail_on_differences
        self.ignite_conn_id = ignite_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.registry_conn_id = registry_conn_id
        self.conn_id = conn_id
        self.secrets_file = secrets_file
        self.ship_secrets_unprotected = ship_secrets_unprotected
        self.conf = conf
        self.application = application
        self.spark_submit = spark_submit
        self.stop_timeout_ms = stop_timeout_ms
        check_arguments(spark_submit)
        if direction in DIRECTIONS and not is_mapped(self):
            check_settings(settings, DIRECTIONS[direction], {}, dag=self.dag_id, task=self.task_id)

    def execute(self, context: Context) -> dict[str, Any]:
        """Compare, and repair if requested.

        :return: ``equal``, ``sample_percent`` and ``caches``, each with its counts, ``repaired`` and ``differences``.
            If differences fail the task, the result is still under the XCom key ``verified``.
        :raises AirflowFailException: something differs and was not repaired, or no retry can help.
        :raises AirflowException: the comparison failed; a retry starts it again.
        """
        with self._app_folder() as folder:
            result = self._verified(folder)
        context["ti"].xcom_push(RESULT_KEY, result)
        differing = [cache for cache in result["caches"] if not cache["equal"]]
        for cache in result["caches"]:
            self.log.info("%s", _line(cache))
        for one in (one for cache in differing for one in cache["differences"]):
            self.log.warning("%s", one["text"])
        if differing and self.fail_on_differences:
            raise AirflowFailException(
                f"{len(differing)} of {len(result['caches'])} caches differ: {'; '.join(map(_line, differing))}"
            )
        return result

    def _verified(self, folder: Path) -> dict[str, Any]:
        request = self._request()
        options = self._options()
        arguments = self._spark_arguments()
        master = spark_master(arguments)
        if master.cluster_mode:
            what = "a comparison is not submitted in cluster mode"
            remedy = "Set deploy-mode of the Spark connection to client."
            raise NotAvailableYet(what, remedy, connection=self.conn_id)
        more = ("--direction", self.direction, "--options", json.dumps(options))
        self._hook = self._submit_hook(request, folder, master, arguments, *more)
        lines: list[str] = []
        ended = self._run_app(self._hook, lambda line: _keep(line, lines))
        if not lines:
            if ended.exit_code:
                raise run_result.to_exception(None, ended)
            raise AirflowException("The app ended without a result. A retry compares again.")
        return _result_of(lines[-1])

    def _request(self) -> Request:
        if self.direction not in DIRECTIONS:
            raise SettingsError(f"direction is {self.direction!r}", "Allowed: source, sink.", setting="direction")
        if isinstance(self.settings, Mapping) and not self.settings.get("name"):
            raise SettingsError(
                "the settings have no name", "Give the name of the connector that is compared.", setting="name"
            )
        return self._request_of(DIRECTIONS[self.direction], connector="", run_id=str(uuid.uuid4()))

    def _options(self) -> dict[str, Any]:
        """Arguments of VerifyOptions; rendered templates may be text.

        :raises SettingsError: an argument is wrong.
        """
        try:
            percent = float(self.sample)
            repair = bool(BOOLEAN.parse(self.repair))
        except ValueError as error:
            what = f"sample is {self.sample!r}, repair is {self.repair!r}"
            raise SettingsError(what, "Allowed: a number of percent; true or false.", setting="sample") from error
        if not 0 < percent <= 100:
            raise SettingsError(f"sample is {percent:g}", "Allowed: above 0 and at most 100 percent.", setting="sample")
        return {"percent": percent, "thorough": self.thorough, "limit": self.differences, "repair": repair}


def _keep(line: str, lines: list[str]) -> None:
    """Store the JSON if the line is the result line."""
    if line.startswith(RESULT_LINE):
        lines.append(line.removeprefix(RESULT_LINE))


def _result_of(text: str) -> dict[str, Any]:
    """The result in the app's result line.

    :raises AirflowException: it has another form, for example because other output is mixed with it.
    """
    try:
        result = typed_json.json_object(typed_json.loads(text))
        for cache in map(typed_json.json_object, typed_json.array(result.get("caches"))):
            missing = [
                name for name in ("equal", "cache", "topic", "entries", "records", *_COUNTS) if name not in cache
            ]
            if missing:
                raise ValueError(f"{missing[0]} is missing")
            for one in typed_json.array(cache.get("differences", [])):
                typed_json.text(typed_json.json_object(one).get("text"))
        return result
    except ValueError as error:
        raise AirflowException(
            f"The result that the app printed cannot be read: {error}. A retry compares again."
        ) from error


def _line(cache: Mapping[str, Any]) -> str:
    """The counts of a cache in one line."""
    counts = ", ".join(f"{name} {cache[name]}" for name in _COUNTS)
    return f"{cache['cache']} and {cache['topic']}: {cache['entries']} entries, {cache['records']} records, {counts}"
