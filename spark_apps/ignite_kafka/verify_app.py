"""The Spark app that compares a connector's topics with its caches.

The result is the last line of the output. In a cluster, whose output the submitter does not read, it is a record of the
status topic, too (:mod:`~ignite_kafka.state.comparisons`).
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from .app import AppRequest, Arguments, app_session, exit_code_of, find_secrets
from .common.deadline import Interval
from .common.event_log import EventLog
from .common.redaction import set_log_values
from .settings.connector import ConnectorSettings
from .settings.secrets import Secrets
from .settings.sink import SinkSettings
from .settings.source import SourceSettings

if TYPE_CHECKING:
    from .verification.result import VerifyOptions, VerifyResult

RESULT_LINE = "ignite-kafka verified: "
"""Prefix of the result line, before the JSON of :meth:`~ignite_kafka.verification.connector.VerifyResult.to_dict`."""
DIRECTIONS: dict[str, type[ConnectorSettings]] = {"source": SourceSettings, "sink": SinkSettings}
_LINE_S = 10.0

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, and repair if the options request it.

    :returns: exit code 0 if there is a result, whatever it is; otherwise the error's exit code, and stderr ends with
        the error and its remedy.
    """
    from .verification.result import VerifyOptions

    signal.signal(signal.SIGTERM, _end)
    own, rest = _parser().parse_known_args(argv)

    def work(_: EventLog) -> None:
        arguments = Arguments.parse(rest)
        request = AppRequest.load(arguments.request, DIRECTIONS[own.direction])
        set_log_values(request.settings.log_values)
        options = VerifyOptions.from_json(json.loads(own.options))
        hidden = arguments.read_secrets(request.permissions)
        if own.record and _ended_before(request, hidden):
            return
        compare = _reported if own.record else _verify
        result = compare(arguments, request, hidden, options)
        print(f"{RESULT_LINE}{json.dumps(result.to_dict())}", flush=True)

    return exit_code_of(work)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False, add_help=False)
    parser.add_argument("--direction", choices=DIRECTIONS, required=True)
    parser.add_argument("--options", default="{}", help="JSON of VerifyOptions")
    parser.add_argument("--record", action="store_true", help="also write progress and result to the status topic")
    return parser


def _end(*_: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)


def _ended_before(request: AppRequest[ConnectorSettings], hidden: Secrets) -> bool:
    """Return whether an earlier attempt of this YARN application has ended the comparison: nothing is left to do.

    :raises IgniteKafkaError: the comparison has ended with this error.
    """
    from .runtime.yarn_attempt import comparison_has_ended

    return comparison_has_ended(request.settings, hidden, request.run_id)


def _reported(
    arguments: Arguments, request: AppRequest[ConnectorSettings], hidden: Secrets, options: VerifyOptions
) -> VerifyResult:
    """Compare, and write progress and result, or the error, to the status topic."""
    from .runtime.clients import kafka_clients
    from .verification.report import ComparisonReport

    clients = kafka_clients(request.settings, hidden)
    clients.check()
    report = ComparisonReport(request.settings, clients, request.run_id)
    with report.errors_reported():
        result = _verify(arguments, request, hidden, options, report.progress)
    report.completed(result)
    return result


def _verify(
    arguments: Arguments,
    request: AppRequest[ConnectorSettings],
    hidden: Secrets,
    options: VerifyOptions,
    report: Callable[[str, int, int], None] = lambda _step, _done, _tasks: None,
) -> VerifyResult:
    from .runtime.spark_versions import require_spark
    from .verification.connector import check_connector, verify_connector

    require_spark()
    settings = request.settings
    lines = Interval(_LINE_S)

    def show(what: str, done: int, count: int) -> None:
        report(what, done, count)
        if lines.due():
            log.info("%s: %d of %d tasks", what, done, count)

    check_connector(settings, hidden, options)
    with app_session(settings.name) as spark:
        secrets = find_secrets(spark, arguments, request.permissions)
        return verify_connector(spark, settings, hidden, secrets, options, show)
