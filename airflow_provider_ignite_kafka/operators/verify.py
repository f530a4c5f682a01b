"""Operator that compares the topics of a connector with its caches, and can repair differences."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ignite_kafka.assets.copied import Copied, CopiedCache, clusters_of
from airflow_provider_ignite_kafka.assets.events import Extra, emit_verified_events
from airflow_provider_ignite_kafka.operators.spark_app import SparkAppOperator
from airflow_provider_ignite_kafka.parse_check import check_settings, is_mapped
from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.comparison import ClusterComparison
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.request import Request
from airflow_provider_ignite_kafka.spark.hook import SparkAppHook, spark_master
from ignite_kafka.common import typed_json
from ignite_kafka.common.event_log import format_time
from ignite_kafka.common.time_spans import parse_span
from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.fields import BOOLEAN
from ignite_kafka.state.status import now_ms
from ignite_kafka.verify_app import DIRECTIONS, RESULT_LINE

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from ignite_kafka.settings.connector import ConnectorSettings

RESULT_KEY = "verified"
_TEMPLATED = ("direction", "sample", "within", "recheck_wait", "repair", "repair_at_most")
_COUNTS = ("missing", "different", "unexpected", "skipped", "repaired")


class VerifyOperator(SparkAppOperator):
    """Operator that compares a connector's topics with its caches in a Spark app, as ``ignite-kafka verify`` does.

    It returns the counts of each cache.

    Differences fail the task without retries, because a retry would find them again. In client mode the app runs beside
    the task and ends with it. With ``deploy-mode`` cluster (YARN, Kubernetes) the cluster runs it, and the task follows
    the app by the connector's status topic; a killed task kills the app.

    An asset among the task's ``outlets`` gets an event only if nothing differs, so a Dag scheduled on it runs on
    verified data. Its ``extra`` has the counts.

    :param settings: settings of the connector by name, with its ``name``, or the path of its file on the worker.
        Templated.
    :param direction: ``source`` (Ignite to Kafka) or ``sink`` (Kafka to Ignite). Templated.
    :param sample: percent of the keys to compare; each comparison takes those that were not compared for the longest
        time. None: all, or as many as `within` requires. Templated.
    :param within: time within which all keys are to be compared: a timedelta, or a text such as ``7d``. Without
        `sample`, each comparison takes the share that this requires. Templated.
    :param recheck_wait: maximum time to wait beside a run, until it has copied what it has to copy, before a difference
        counts: a timedelta, or a text such as ``60s``. Templated.
    :param thorough: also decode every entry row by row (JSON only; slow).
    :param differences: maximum number of differences to describe for each cache.
    :param repair: send or put differing records or entries again; refused while the connector's newest run has not
        ended. Templated.
    :param repair_at_most: repair nothing if more keys differ; 0: no limit. Templated.
    :param fail_on_differences: False: a task with differences succeeds, and a later task can read ``equal`` in its
        result.

    Other parameters are those of ``SparkAppOperator``.
    """

    app_name = "verify_connector.py"
    template_fields: Sequence[str] = (*SparkAppOperator.template_fields, *_TEMPLATED)
    ui_color = "#e3f1d9"
    comparison_of: Callable[[FollowedRun, KafkaClients], ClusterComparison] = staticmethod(ClusterComparison.of)
    _comparison: ClusterComparison | None = None
    _killed = False
    _end_line = ""

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | str,
        direction: str,
        sample: float | str | None = None,
        within: timedelta | str | None = None,
        recheck_wait: timedelta | str = "60s",
        thorough: bool = False,
        differences: int = 5,
        repair: bool | str = False,
        repair_at_most: int | str = 0,
        fail_on_differences: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(settings=settings, **kwargs)
        self.direction = direction
        self.sample = sample
        self.within = within
        self.recheck_wait = recheck_wait
        self.thorough = thorough
        self.differences = differences
        self.repair = repair
        self.repair_at_most = repair_at_most
        self.fail_on_differences = fail_on_differences
        if direction in DIRECTIONS and not is_mapped(self):
            check_settings(settings, DIRECTIONS[direction], {}, dag=self.dag_id, task=self.task_id)

    def execute(self, context: Context) -> dict[str, Any]:
        """Compare the topics with the caches, and repair differences if requested.

        :return: ``equal``, ``sample_percent`` and ``caches``, each with its counts, ``repaired`` and ``differences``.
            If differences fail the task, the result is still under the XCom key ``verified``.
        :raises AirflowFailException: a difference was not repaired, or no retry can help.
        :raises AirflowException: the comparison failed; a retry starts it again.
        """
        with self._app_folder() as folder:
            request = self._request()
            result = self._verified(folder, request)
        context["ti"].xcom_push(RESULT_KEY, result)
        differing = [cache for cache in result["caches"] if not cache["equal"]]
        for cache in result["caches"]:
            self.log.info("%s", _line(cache))
        for difference in (difference for cache in differing for difference in cache["differences"]):
            self.log.warning("%s", difference["text"])
        if result.get("gap"):
            self.log.warning("Not all keys are compared in time: %s", result["gap"])
        if differing and self.fail_on_differences:
            refusal = f". {result['repair_refusal']}: repair_at_most" if result.get("repair_refusal") else ""
            differences = "; ".join(map(_line, differing))
            raise AirflowFailException(
                f"{len(differing)} of {len(result['caches'])} caches differ: {differences}{refusal}"
            )
        emit_verified_events(context, self.outlets, *_verified_assets(request.settings, result))
        return result

    def _verified(self, folder: Path, request: Request) -> dict[str, Any]:
        options = self._options()
        arguments = self._spark_arguments()
        master = spark_master(arguments)
        more = ("--direction", self.direction, "--options", json.dumps(options))
        if master.cluster_mode:
            self._hook = self._submit_hook(request, folder, master, arguments, *more, "--record")
            return self._verified_in_cluster(request, self._hook)
        self._hook = self._submit_hook(request, folder, master, arguments, *more)
        lines: list[str] = []
        ended = self._run_app(self._hook, lambda line: _keep(line, lines))
        if not lines:
            if ended.exit_code:
                raise run_result.to_exception(None, ended)
            raise AirflowException("The app ended without a result. A retry compares again.")
        return _printed_result(lines[-1])

    def _verified_in_cluster(self, request: Request, hook: SparkAppHook) -> dict[str, Any]:
        """Submit the app, follow it by its records in the status topic, and return its result."""
        run = FollowedRun.of(request, self.kafka_conn_id, self.conn_id, self.start_timeout_ms / 1000)
        submitted_ms = now_ms()
        ended = self._run_app(hook, lambda _line: None)
        run = replace(run, submitted_ms=submitted_ms, app_id=hook.app_id, namespace=hook.namespace)
        if ended.exit_code and not run.app_id:
            raise run_result.to_exception(None, ended)
        comparison = self._comparison = self.comparison_of(run, KafkaClients.of(request.settings, request.secrets))
        if comparison.app.log_command:
            self.log.info("The cluster runs the app as %s. Log: %s", run.app_id, comparison.app.log_command)
        result = _checked_result(comparison.result(lambda: self._killed))
        self._comparison = None
        return result

    def on_kill(self) -> None:
        """End the app; in client mode, kill it after `stop_timeout_ms`."""
        self._killed = True
        super().on_kill()
        self._kill_followed()

    def _close_app(self) -> None:
        super()._close_app()
        self._kill_followed()
        if self._end_line:
            self.log.info("%s", self._end_line)

    def _kill_followed(self) -> None:
        comparison = self._comparison
        self._comparison = None
        if comparison is not None:
            self._end_line = comparison.kill()

    def _request(self) -> Request:
        if self.direction not in DIRECTIONS:
            raise SettingsError(f"direction is {self.direction!r}", "Allowed: source, sink.", setting="direction")
        if isinstance(self.settings, Mapping) and not self.settings.get("name"):
            raise SettingsError(
                "the settings have no name", "Give the name of the connector that is compared.", setting="name"
            )
        return self._request_of(DIRECTIONS[self.direction], connector="", run_id=str(uuid.uuid4()), copies=False)

    def _options(self) -> dict[str, Any]:
        """Return the arguments for VerifyOptions, parsed because rendered templates may be text.

        :raises SettingsError: an argument is wrong.
        """
        try:
            percent = None if self.sample in (None, "", "None") else float(self.sample or 0)
            repair = bool(BOOLEAN.parse(self.repair))
            at_most = int(self.repair_at_most)
        except ValueError as error:
            what = f"sample is {self.sample!r}, repair is {self.repair!r}, repair_at_most is {self.repair_at_most!r}"
            remedy = "Allowed: a number of percent; true or false; a whole number."
            raise SettingsError(what, remedy, setting="sample") from error
        if percent is not None and not 0 < percent <= 100:
            raise SettingsError(f"sample is {percent:g}", "Allowed: above 0 and at most 100 percent.", setting="sample")
        if at_most < 0:
            raise SettingsError(f"repair_at_most is {at_most}", "Allowed: 0 or more.", setting="repair_at_most")
        return {
            "percent": percent,
            "thorough": self.thorough,
            "limit": self.differences,
            "repair": repair,
            "repair_at_most": at_most,
            "within_ms": _span_ms("within", self.within),
            "recheck_wait_ms": _span_ms("recheck_wait", self.recheck_wait),
        }


def _span_ms(name: str, value: timedelta | str | None) -> int:
    """Return an argument's time span in milliseconds; 0 for None and for an empty text.

    :raises SettingsError: the value is no time span.
    """
    if isinstance(value, timedelta):
        return max(0, round(value.total_seconds() * 1000))
    if value in (None, "", "None"):
        return 0
    try:
        return parse_span(str(value))
    except ValueError as error:
        raise SettingsError(f"{name}: {error}", setting=name) from None


def _verified_assets(settings: ConnectorSettings, result: Mapping[str, Any]) -> tuple[Copied, list[Extra]]:
    """Return the compared caches and topics, and the extra data of their asset events; the last one has the sums."""
    oldest = result.get("oldest_ms")
    common = {
        "connector": settings.name,
        "sample_percent": result.get("sample_percent"),
        "all_compared_since": None if oldest is None else format_time(oldest),
    }
    caches = result["caches"]
    names = ("entries", "records", *_COUNTS)
    extras = [{**common, **{name: cache[name] for name in ("cache", "topic", "equal", *names)}} for cache in caches]
    sums = {name: sum(cache[name] for cache in caches) for name in names}
    verified = tuple(CopiedCache(cache["cache"], cache["topic"], cache["records"]) for cache in caches)
    return replace(clusters_of(settings), caches=verified), [*extras, {**common, "equal": result.get("equal"), **sums}]


def _keep(line: str, lines: list[str]) -> None:
    """Store the line's JSON if the line is the result line."""
    if line.startswith(RESULT_LINE):
        lines.append(line.removeprefix(RESULT_LINE))


def _printed_result(text: str) -> dict[str, Any]:
    """Return the result in the app's result line.

    :raises AirflowException: the line has another form, for example because other output is mixed with it.
    """
    try:
        value = typed_json.loads(text)
    except ValueError as error:
        raise _unreadable(error) from error
    return _checked_result(value)


def _checked_result(value: object) -> dict[str, Any]:
    """Return a result of :meth:`~ignite_kafka.verification.connector.VerifyResult.to_dict`, after checking its form.

    :raises AirflowException: the result has another form.
    """
    try:
        result = typed_json.json_object(value)
        for cache in map(typed_json.json_object, typed_json.array(result.get("caches"))):
            missing = [
                name
                for name in ("equal", "cache", "topic", "entries", "records", "differences", *_COUNTS)
                if name not in cache
            ]
            if missing:
                raise ValueError(f"{missing[0]} is missing")
            for difference in typed_json.array(cache["differences"]):
                typed_json.text(typed_json.json_object(difference).get("text"))
        return result
    except ValueError as error:
        raise _unreadable(error) from error


def _unreadable(error: ValueError) -> AirflowException:
    return AirflowException(f"The result of the app cannot be read: {error}. A retry compares again.")


def _line(cache: Mapping[str, Any]) -> str:
    """Return the counts of a cache in one line."""
    counts = ", ".join(f"{name} {cache[name]}" for name in _COUNTS)
    return f"{cache['cache']} and {cache['topic']}: {cache['entries']} entries, {cache['records']} records, {counts}"
