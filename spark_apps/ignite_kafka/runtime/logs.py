"""Output to stderr: the log of the library, and the error that ends a process."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ..errors import IgniteKafkaError
from ..events import MISCONFIGURED
from .spark_conf import configured

_LOG4J = Path(__file__).with_name("log4j2.properties")
_SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"  # precedes the driver's other Java options, which override it


def spark_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return environment variables that limit Spark's log in client mode to warnings and errors.

    Empty if the user configured Spark's log.
    """
    options = environment.get(_SUBMIT_OPTIONS, "")
    if configured(environment, _LOG4J.name) or "log4j" in options:
        return {}
    return {_SUBMIT_OPTIONS: f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} {options}".strip()}


def configure(level: int, form: str) -> None:
    """Set up logging to stderr: the library's messages from ``level``, those of py4j from WARNING."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_is_no_finding)
    logging.basicConfig(level=level, format=form, handlers=[handler])
    logging.getLogger("py4j").setLevel(logging.WARNING)


def show_error(error: IgniteKafkaError, *, as_json: bool = False) -> None:
    """Print the error that ends a process to stderr: a line for each finding, then ``ignite-kafka: <error> <message>``.

    :param as_json: write one line of JSON instead: ``{"error": {"type", "what", "remedy", "where", "findings"},
        "exit_code"}``.
    """
    if as_json:
        findings = [finding.to_dict() for finding in error.findings]
        print(
            json.dumps({"error": {**error.to_dict(), "findings": findings}, "exit_code": error.exit_code}),
            file=sys.stderr,
        )
        return
    for finding in error.findings:
        print(f"ignite-kafka: {type(finding).__name__} {finding}", file=sys.stderr)
    text = f"{len(error.findings)} settings are wrong, see above" if error.findings else str(error)
    print(f"ignite-kafka: {type(error).__name__} {text}", file=sys.stderr)


def _is_no_finding(record: logging.LogRecord) -> bool:
    """Return false for log records of event 15000, because the error with the same text is printed, too."""
    return record.__dict__.get("event_id") != MISCONFIGURED.id
