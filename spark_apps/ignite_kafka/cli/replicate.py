"""The command `replicate`: runs a source and a sink together, each in its own process.

Each process has its own Spark driver: in one session the source's job would hold the cores that the sink's job waits
for.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from ..common.deadline import Interval
from ..errors import IgniteKafkaError, SettingsError
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
from .arguments import CommandArguments, allowed_providers
from .processes import THIS_COMMAND, Part, print_line, run_together, show_records
from .progress_bar import ProgressBar

log = logging.getLogger(__name__)


def replicate(arguments: CommandArguments) -> int:
    """Run a source and a sink until both end; return 0, or the exit code of the first process to fail."""
    sink_file = Path(arguments.sink) if arguments.sink else None
    source, sink = load_settings_of_both(Path(arguments.source), sink_file, allowed_providers(arguments))
    sink_secrets = arguments.sink_secrets or arguments.secrets
    permissions = Permissions((), arguments.allow_insecure_connections)
    every = Interval(sink.progress_interval_ms / 1000)
    lag = Lag(
        source,
        read_secrets(arguments.secrets, permissions),
        sink,
        read_secrets(sink_secrets, permissions),
        every,
        sys.stderr if arguments.json else None,
        ProgressBar(sys.stderr, quiet=arguments.quiet, unit="records"),
    )
    _ensure_types_topic(source, lag.source_secrets)
    with tempfile.TemporaryDirectory(prefix="ignite-kafka-") as folder:
        parts = [
            _make_part("source", _write_settings(source, folder), arguments.secrets, arguments),
            _make_part("sink", _write_settings(sink, folder), sink_secrets, arguments),
        ]
        # the sink ends at the topics' ends, so it begins when the snapshot is in the topics
        stages = [parts] if source.streams else [[part] for part in parts]
        try:
            code = next(filter(None, (run_together(stage, lag.show_if_due) for stage in stages)), 0)
        finally:
            lag.end()
    if not code:
        lag.show()
    if arguments.json:
        show_records(parts)
    return code


def _make_part(name: str, settings: str, secrets_file: str | None, arguments: CommandArguments) -> Part:
    """Return the process that runs one of both connectors.

    :param settings: path of its settings file.
    """
    quiet = ["--quiet"] if arguments.quiet else []
    options = ["--master", arguments.master] if arguments.master else []
    options += ["--allow-insecure-connections"] if arguments.allow_insecure_connections else []
    options += ["--secrets", secrets_file] if secrets_file else []
    options += ["--json"] if arguments.json else []
    return Part(name, (*THIS_COMMAND, *quiet, "run", settings, *options), as_json=arguments.json)


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
    if source.active_active != sink.active_active:
        raise SettingsError(
            f"active_active of the {'source' if source.active_active else 'sink'} is true, that of the other is not",
            "Set both to the same",
            setting="active_active",
        )
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


def read_secrets(file: str | None, permissions: Permissions) -> Secrets:
    """Read a secrets file; no secrets without a file."""
    return secrets.load(Path(file), permissions) if file else Secrets()


@dataclass
class SinkProgress:
    """Records stored by a sink since the first look, and records to store.

    :param done: number of stored records.
    :param left: number of records to store; None before the first look.
    """

    done: int = 0
    left: int | None = None

    @property
    def count(self) -> int:
        """Number of stored records and of those to store."""
        return self.done + (self.left or 0)

    def add(self, left: int) -> None:
        """Add a look; more records than before have come from the source."""
        self.done += max(0, self.left - left) if self.left is not None else 0
        self.left = left


@dataclass(frozen=True)
class Lag:
    """Lag of both connectors: changes in the source's backlog, and records that the sink has not stored.

    :param stream: where the lag is printed; None: stdout.
    :param bar: shows the lag on a terminal instead, with the rate at which the sink stores records.
    """

    source: SourceSettings
    source_secrets: Secrets
    sink: SinkSettings
    sink_secrets: Secrets
    due: Interval
    stream: IO[str] | None = None
    bar: ProgressBar | None = None
    stored: SinkProgress = field(default_factory=SinkProgress)

    def show_if_due(self) -> None:
        """Print the lag once every ``progress_interval_ms`` of the sink."""
        if self.due.due():
            self.show()

    def show(self) -> None:
        """Print the lag in one line, without a connector whose servers do not answer now."""
        if parts := [
            text for part in (self._describe_source, self._describe_sink) if (text := _text_if_readable(part))
        ]:
            if self.bar is not None and self.bar.drawn:
                self.bar.show("lag", self.stored.done, self.stored.count, "; ".join(parts))
            else:
                print_line("lag", "; ".join(parts), self.stream)

    def end(self) -> None:
        """Remove the bar; from now on the lag is a line."""
        if self.bar is not None:
            self.bar.end()
            self.bar.drawn = False

    def _describe_source(self) -> str:
        from ..admin.lag_by_name import source_lag

        if not self.source.streams:
            return ""
        changes = sum(source_lag(self.source, self.source_secrets).values())
        return f"the source has {changes:,} changes to send"

    def _describe_sink(self) -> str:
        from .sink_views import sink_plan_view

        topics = sink_plan_view(self.sink, self.sink_secrets).topics
        behind = [f"{topic.topic} {topic.records:,}" for topic in topics if topic.records]
        total = sum(topic.records for topic in topics)
        self.stored.add(total)
        return f"the sink has {total:,} records to store" + (f" ({', '.join(behind)})" if behind else "")


def _text_if_readable(text: Callable[[], str]) -> str:
    try:
        return text()
    except IgniteKafkaError as error:
        log.debug("the lag is unknown: %s", error)
        return ""
