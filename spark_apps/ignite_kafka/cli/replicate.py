"""The command `replicate`: runs a source and a sink together, each in its own process.

Each process has its own Spark driver: in one session the source's job would hold the cores that the sink's job waits
for.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from ..common.deadline import Deadline, Interval
from ..errors import IgniteKafkaError, SettingsError
from ..runtime import logs
from ..settings import secrets
from ..settings.connect.config_providers import AllowedProvider
from ..settings.connector import ConnectorSettings
from ..settings.files import load as settings_files
from ..settings.files.both_directions import load_both
from ..settings.permissions import Permissions
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..settings.topic_names import types_topic
from .arguments import add_allowed_providers, allowed_providers

log = logging.getLogger(__name__)
_POLL_S = 0.2
_STOP_S = 120.0  # time given to a process to end before it is killed
_THIS = (sys.executable, "-m", "ignite_kafka.cli")


def add_replicate(commands: Any) -> None:
    """Add the command `replicate` with its arguments."""
    text = "copy caches of one Ignite cluster to another through Kafka: a source and a sink as one command"
    added = commands.add_parser("replicate", help=text, description=text)
    added.add_argument(
        "source",
        metavar="SOURCE",
        help="settings file of the source; alone: of both, where source. and sink. are before names of one",
    )
    added.add_argument("sink", metavar="SINK", nargs="?", help="settings file of the sink")
    added.add_argument("--master", help="Spark master of both (default: that of spark-defaults.conf, else local[*,4])")
    added.add_argument("--secrets", metavar="FILE", help="JSON file with secrets of the source")
    added.add_argument(
        "--sink-secrets", metavar="FILE", help="JSON file with secrets of the sink (default: those of the source)"
    )
    insecure = (
        "send the credentials of both also over connections without TLS, or with TLS that does not verify the other "
        "side"
    )
    added.add_argument("--allow-insecure-connections", action="store_true", help=insecure)
    add_allowed_providers(added)
    added.set_defaults(command=replicate)


def replicate(arguments: argparse.Namespace) -> int:
    """Run a source and a sink until both end; return 0, or the exit code of the first process to fail."""
    sink_file = Path(arguments.sink) if arguments.sink else None
    source, sink = load_settings_of_both(Path(arguments.source), sink_file, allowed_providers(arguments))
    sink_secrets = arguments.sink_secrets or arguments.secrets
    permissions = Permissions((), arguments.allow_insecure_connections)
    every = Interval(sink.progress_interval_ms / 1000)
    lag = Lag(
        source, _read_secrets(arguments.secrets, permissions), sink, _read_secrets(sink_secrets, permissions), every
    )
    _ensure_types_topic(source, lag.source_secrets)
    with tempfile.TemporaryDirectory(prefix="ignite-kafka-") as folder:
        options = ["--master", arguments.master] if arguments.master else []
        options += ["--allow-insecure-connections"] if arguments.allow_insecure_connections else []
        quiet = ["--quiet"] if arguments.quiet else []
        parts = [
            Part(
                "source",
                (
                    *_THIS,
                    *quiet,
                    "run",
                    _write_settings(source, folder),
                    *options,
                    *_secrets_arguments(arguments.secrets),
                ),
            ),
            Part(
                "sink",
                (*_THIS, *quiet, "run", _write_settings(sink, folder), *options, *_secrets_arguments(sink_secrets)),
            ),
        ]
        # the sink ends at the topics' ends, so it begins when the snapshot is in the topics
        stages = [parts] if source.streams else [[part] for part in parts]
        for stage in stages:
            code = run_together(stage, lag.show_if_due)
            if code:
                return code
    lag.show()
    return 0


def _ensure_types_topic(source: SourceSettings, source_secrets: Secrets) -> None:
    """Create the types topic before source and sink start together, because a sink refuses to start without it."""
    from ..kafka.topics import Topics
    from ..runtime.clients import kafka_clients
    from ..source.topic_creation import ensure_types_topic

    ensure_types_topic(source, Topics(kafka_clients(source, source_secrets)))


def load_settings_of_both(
    source_file: Path, sink_file: Path | None = None, allowed: Sequence[AllowedProvider] = ()
) -> tuple[SourceSettings, SinkSettings]:
    """Load the settings of a source and a sink; without ``types_topic``, the sink uses the source's types topic.

    :param sink_file: file of the sink; None: the first file has the settings of both connectors
        (:func:`~ignite_kafka.settings.files.both_directions.load_both`).
    :param allowed: see :func:`~ignite_kafka.settings.files.load.load`.
    :raises SettingsError: a file is of the other direction, or the settings do not fit together.
    """
    require_source, of_sink = (
        load_both(source_file, allowed)
        if sink_file is None
        else (settings_files.load(source_file, allowed), settings_files.load(sink_file, allowed))
    )
    source = require_source.settings_of(SourceSettings)
    sink = of_sink.settings_of(SinkSettings)
    if source.streams != sink.streams:
        what = f"run_mode of the source is {source.run_mode}, that of the sink {sink.run_mode}"
        raise SettingsError(what, "Set both to once, or both to continuous", setting="run_mode")
    if source.name == sink.name and source.internal_topic_prefix == sink.internal_topic_prefix:
        raise SettingsError(
            "source and sink have one name", "Give the sink another one", setting="name", value=sink.name
        )
    for name in ("key_converter", "value_converter"):
        if getattr(source, name) != getattr(sink, name):
            what = f"{name} of the source is {getattr(source, name)}, that of the sink {getattr(sink, name)}"
            raise SettingsError(what, "Set both to the same, such as ignite-binary", setting=name)
    described = sink.types_topic or types_topic(source.internal_topic_prefix)
    return source, replace(sink, types_topic="" if described == types_topic(sink.internal_topic_prefix) else described)


def _write_settings(settings: ConnectorSettings, folder: str) -> str:
    """Write complete settings, which have no secrets, to a file, and return the file's path."""
    path = Path(folder) / f"{'sink' if isinstance(settings, SinkSettings) else 'source'}.json"
    path.write_text(json.dumps(settings.changed()))
    return str(path)


def _secrets_arguments(file: str | None) -> tuple[str, ...]:
    return ("--secrets", file) if file else ()


def _read_secrets(file: str | None, permissions: Permissions) -> Secrets:
    return secrets.load(Path(file), permissions) if file else Secrets()


@dataclass(frozen=True)
class Lag:
    """Lag of both connectors: changes in the source's backlog, and records that the sink has not stored."""

    source: SourceSettings
    source_secrets: Secrets
    sink: SinkSettings
    sink_secrets: Secrets
    due: Interval

    def show_if_due(self) -> None:
        """Print the lag once every ``progress_interval_ms`` of the sink."""
        if self.due.due():
            self.show()

    def show(self) -> None:
        """Print the lag in one line, without a connector whose servers do not answer now."""
        if parts := [
            text for part in (self._describe_source, self._describe_sink) if (text := _text_if_readable(part))
        ]:
            _print_line("lag", "; ".join(parts))

    def _describe_source(self) -> str:
        from ..admin import backlog

        if not self.source.streams:
            return ""
        changes = sum(unit.changes for unit in backlog.status(self.source, self.source_secrets).units)
        return f"the source has {changes:,} changes to send"

    def _describe_sink(self) -> str:
        from .sink_views import sink_plan_view

        topics = sink_plan_view(self.sink, self.sink_secrets).topics
        behind = [f"{topic.topic} {topic.records:,}" for topic in topics if topic.records]
        total = sum(topic.records for topic in topics)
        return f"the sink has {total:,} records to store" + (f" ({', '.join(behind)})" if behind else "")


def _text_if_readable(text: Callable[[], str]) -> str:
    try:
        return text()
    except IgniteKafkaError as error:
        log.debug("the lag is unknown: %s", error)
        return ""


class Part:
    """A process of the command, whose output lines are printed with its name."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> None:
        """Start the process, and a thread that prints the process's output lines."""
        # a session of its own: Ctrl-C in the terminal reaches only this command, which ends the processes in order
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=_print_lines, args=(self.name, self._process.stdout), daemon=True)
        self._reader.start()

    @property
    def code(self) -> int | None:
        """Exit code; None while the process runs or before it is started."""
        return None if self._process is None else self._process.poll()

    def end(self) -> None:
        """Ask the process to end after its current batch."""
        if self._process is not None and self.code is None:
            self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Kill the process if it has not ended, and print the rest of its output lines."""
        if self._process is None or self._reader is None:
            return
        if self.code is None:
            self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()


def _print_lines(name: str, output: IO[str]) -> None:
    for line in output:
        _print_line(name, line.rstrip("\n"))


def _print_line(name: str, text: str) -> None:
    print(f"{name:6} | {text}", flush=True)


def run_together(parts: Sequence[Part], on_poll: Callable[[], object]) -> int:
    """Run processes until all have ended; after a failure, end the other processes.

    :returns: 0, also if Ctrl-C or SIGTERM ended streams after their batch; otherwise the exit code of the first failed
        process.
    :raises KeyboardInterrupt: Ctrl-C or SIGTERM ended a process without a stream, which ends at once.
    """
    with _catch_stop_signals() as stop:
        try:
            for part in parts:
                part.start()
            while not stop.wait(_POLL_S):
                failed = next((part for part in parts if part.code), None)
                if failed is not None:
                    return _end_others(failed, parts)
                if all(part.code is not None for part in parts):
                    return 0
                on_poll()
            _end(parts)
        finally:
            for part in parts:
                part.close()
    if any(part.code for part in parts):
        raise KeyboardInterrupt
    return 0


def _end_others(failed: Part, parts: Sequence[Part]) -> int:
    others = [part for part in parts if part is not failed and part.code is None]
    _end(others)
    failed.close()
    ended = f"; the {' and the '.join(part.name for part in others)} was ended" if others else ""
    remedy = "The lines above have its error. Then run the same command again: both continue from what was committed"
    logs.show_error(IgniteKafkaError(f"the {failed.name} failed with exit code {failed.code}{ended}", remedy))
    return failed.code or 1


def _end(parts: Sequence[Part]) -> None:
    for part in parts:
        part.end()
    deadline = Deadline.after(_STOP_S)
    waiting = threading.Event()
    while any(part.code is None for part in parts) and not deadline.expired:
        waiting.wait(_POLL_S)


@contextmanager
def _catch_stop_signals() -> Iterator[threading.Event]:
    """Set an event on Ctrl-C or SIGTERM; a second signal has its default effect."""
    stop = threading.Event()
    before: dict[int, Any] = {}

    def handle(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, before[number])

    before.update({number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)})
    try:
        yield stop
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
