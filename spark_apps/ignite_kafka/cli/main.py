"""The command `ignite-kafka`: check, plan, run, inspect and control connectors without Airflow.

Exit codes are those of :mod:`ignite_kafka.errors`: 0 success, 1 failure, 2 invalid settings or arguments, 3 fenced by a
newer run, 4 outcome unknown, 130 interrupted; `verify` also has 5 and 6 for differences. The last line on stderr of a
failure is ``ignite-kafka: <error> <message>``, with ``--json`` a line of JSON.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..common.local_disk import disk_errors
from ..errors import IgniteKafkaError, Interrupted
from ..events import collect
from ..runtime import logs
from ..runtime.spark_conf import require_pyspark
from ..settings.metrics import check_metrics_host
from ..settings.registry_login import check_registry
from ..settings.sink import SinkSettings
from ..settings.transport_security import check_ignite, check_kafka
from . import connector_folder, render
from .arguments import Parser, add_allowed_providers, command_after_interrupt, whole
from .command_settings import (
    add_name_instead_of_file,
    permissions_of,
    require_source,
    secrets_of,
    settings_by_file_or_name,
    settings_of,
)
from .doctor import ShowVersion, add_doctor, doctor
from .migrate import add_connectors, add_migrate, holds_resources, run_all, validate_all
from .offset_commands import alter_offsets, backlog_cleanup, backlog_status, resend, reset_offsets, show_offsets
from .replicate import add_replicate, replicate
from .settings_table import describe_run_end, list_shown_settings, settings_table
from .verify import HISTORY, add_verify, join_history


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = join_history(sys.argv[1:] if argv is None else argv)
    arguments = parser().parse_args(words)
    as_json = getattr(arguments, "json", False)
    level = logging.WARNING if arguments.quiet else logging.INFO
    logs.configure(level, "%(levelname)s %(message)s")
    try:
        command: Callable[[argparse.Namespace], int] = (
            connector_folder.folder_command(arguments, arguments.command.__name__) or arguments.command
        )
        with disk_errors():
            return command(arguments)
    except IgniteKafkaError as error:
        logs.show_error(error, as_json=as_json)
        return error.exit_code
    except BrokenPipeError:
        # the reader of the output has ended; without this, Python would report the error again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        logs.show_error(
            Interrupted(
                "interrupted by Ctrl-C (SIGINT)", command_after_interrupt(words) if _may_have_written(arguments) else ""
            ),
            as_json=as_json,
        )
        return 128 + signal.SIGINT


def _may_have_written(arguments: argparse.Namespace) -> bool:
    """Return whether an interrupted command may have written records or entries; repeating the command continues it."""
    return arguments.command in (run, replicate) or (arguments.command is verify and arguments.repair)


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    top = Parser(prog="ignite-kafka", description="Copy data between Apache Ignite caches and Kafka topics.")
    top.add_argument("-q", "--quiet", action="store_true", help="log warnings and errors only")
    top.add_argument("--version", action=ShowVersion, help="print the versions of the library and of what it uses here")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    text = "check a settings file and show its settings and addresses; connects to no cluster"
    add_connectors(_add_file(commands, "validate", validate, text))
    add_migrate(commands)
    _add_plan(commands)
    text = (
        "ask Ignite, Kafka, the registry and Spark's executors what a run of the connector would miss; writes nothing"
    )
    add_doctor(_add_file(commands, "doctor", doctor, text, or_name=True))
    text = "bring states and offsets of a folder of connector files to Kafka"
    connector_folder.add_apply(_add_file(commands, "apply", connector_folder.apply, text))
    _add_run(commands)
    add_replicate(commands)
    add_verify(
        _add_file(
            commands, "verify", verify, "compare topics with caches, key by key; repair what differs", or_name=True
        )
    )
    _add_name(commands, HISTORY, verify_history, "show the last comparisons of a connector (also: verify history)")
    _add_name(commands, "status", status, "show a connector and its runs")
    _add_events(commands)
    _add_name(commands, "pause", pause, "pause a running connector until it is resumed")
    _add_name(commands, "resume", resume, "resume a paused connector")
    stop_parser = _add_name(commands, "stop", stop, "stop a running connector after the current batch")
    wait = "time to wait for its end, in milliseconds (default: 60000; 0: no wait)"
    stop_parser.add_argument("--wait-ms", type=whole, default=60_000, metavar="MS", help=wait)
    _add_offsets(
        commands.add_parser("offsets", help="offsets of a connector").add_subparsers(required=True, metavar="ACTION")
    )
    _add_backlog(commands)
    return top


def _add_plan(commands: Any) -> None:
    text = "dry run: show what a run would copy and what is done already; writes nothing"
    plan_parser = _add_file(commands, "plan", plan, text, or_name=True)
    text = "the snapshot to plan (default: the last unfinished one, else a new one)"
    plan_parser.add_argument("--snapshot-id", help=text)
    plan_parser.add_argument("--json", action="store_true", help="print JSON")


def _add_run(commands: Any) -> None:
    run_parser = _add_file(commands, "run", run, "copy the caches to topics, or the topics to caches")
    add_connectors(run_parser)
    run_parser.add_argument("--master", help="Spark master (default: that of spark-defaults.conf, else local[*,4])")
    run_parser.add_argument(
        "--snapshot-id", help="the snapshot to begin or continue (default: the last unfinished one, else a new one)"
    )
    run_parser.add_argument("--run-id", help="key of this run's status record (default: derived from the time)")
    run_parser.add_argument(
        "--metrics-host",
        metavar="HOST",
        help="metrics_host: where the endpoint of metrics_port listens, without a login",
    )
    run_parser.add_argument("--json", action="store_true", help="print the run's record as JSON")
    run_parser.add_argument("--mounted-secrets", metavar="FILE", help="secrets file at this path on every executor")
    run_parser.add_argument(
        "--ship-secrets-unprotected",
        action="store_true",
        help="send --secrets to executors although Spark does not authenticate: anyone who reaches the driver's port "
        "can read them",
    )


def _add_events(commands: Any) -> None:
    text = "show the events of a connector's runs: how often, when, and the newest texts"
    events_parser = _add_name(commands, "events", events, text)
    events_parser.add_argument(
        "--since", metavar="TIME", help="only events since this time, such as 2025-01-31T12:00Z (default: all)"
    )
    events_parser.add_argument(
        "--follow", action="store_true", help="print each event as a line, and go on with new ones until Ctrl-C"
    )


def _add_offsets(offsets: Any) -> None:
    _add_name(offsets, "show", show_offsets, "show finished cache partitions and the update numbers sent")
    alter = _add_name(
        offsets, "alter", alter_offsets, "set the highest update number sent of a cache partition; only while stopped"
    )
    alter.add_argument("--cache", required=True, metavar="CACHE")
    alter.add_argument("--partition", required=True, type=whole, metavar="NUMBER")
    alter.add_argument(
        "--sent", required=True, type=whole, metavar="NUMBER", help="highest update number that counts as sent"
    )
    text = (
        "remove the offsets of a source, or set the offsets of a sink, for all, one cache or topic, or one partition; "
        "only while stopped"
    )
    reset = _add_name(offsets, "reset", reset_offsets, text)
    reset.add_argument("--cache", metavar="CACHE", help="of a source")
    reset.add_argument("--topic", metavar="TOPIC", help="of a sink")
    reset.add_argument("--partition", type=whole, metavar="NUMBER", help="partition of that cache or topic")
    reset.add_argument(
        "--to",
        metavar="PLACE",
        help="where a sink continues: earliest, latest, a time such as 2025-01-31T12:00Z, or an offset",
    )
    for changing in (alter, reset):
        changing.add_argument(
            "--force", action="store_true", help="proceed although the newest run has not ended: its driver is dead"
        )


def _add_backlog(commands: Any) -> None:
    text = "send a cache, or one partition of it, again"
    resend_parser = commands.add_parser("resend", help=text, description=text)
    resend_parser.add_argument("cache", metavar="CACHE")
    resend_parser.add_argument("partition", metavar="PARTITION", type=whole, nargs="?")
    resend_parser.add_argument(
        "--name", metavar="NAME", help="the connector's name (default: that of the settings file)"
    )
    _add_connector(resend_parser, resend)
    backlog = commands.add_parser("backlog", help="the backlog of a connector").add_subparsers(
        required=True, metavar="ACTION"
    )
    status_parser = _add_name(backlog, "status", backlog_status, "show captured caches and unsent changes")
    cleanup_parser = _add_name(
        backlog, "cleanup", backlog_cleanup, "end the capture and destroy the backlog cache of a stopped connector"
    )
    cleanup_parser.add_argument(
        "--force", action="store_true", help="clean up although the connector did not stop gracefully"
    )
    for added in (resend_parser, status_parser, cleanup_parser):
        _add_ignite(added)


def _add_file(
    commands: Any, name: str, command: Callable[[argparse.Namespace], int], text: str, *, or_name: bool = False
) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    if or_name:
        add_name_instead_of_file(added)
    folders = "; or a folder of connector files in YAML" if name in connector_folder.FOLDER_COMMANDS else ""
    text = f"settings file: .properties (names of the GridGain connector or ours) or .json{folders}"
    added.add_argument("file", metavar="FILE", nargs="?" if or_name else None, help=text)
    _add_ignite(added)
    return _add_common(added, command)


def _add_name(
    commands: Any, name: str, command: Callable[[argparse.Namespace], int], text: str
) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    added.add_argument("name", metavar="NAME", help="the connector's name")
    return _add_connector(added, command)


def _add_connector(
    added: argparse.ArgumentParser, command: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    added.add_argument(
        "--settings", dest="file", metavar="FILE", help="settings file, if a connection needs more than an address"
    )
    added.add_argument("--internal-topic-prefix", metavar="PREFIX", help="internal_topic_prefix of the connector")
    added.add_argument("--json", action="store_true", help="print JSON")
    return _add_common(added, command)


def _add_ignite(added: argparse.ArgumentParser) -> None:
    added.add_argument("--ignite", metavar="HOST:PORT,…", help="client connectors of Ignite nodes: ignite_addresses")
    text = "ignite_address_map; with --ignite that of the file is not used"
    added.add_argument("--ignite-address-map", metavar="ANNOUNCED=REACHABLE,…", help=text)


def _add_common(
    added: argparse.ArgumentParser, command: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    added.add_argument("--kafka", metavar="HOST:PORT,…", help="Kafka brokers: bootstrap_servers")
    added.add_argument("--secrets", metavar="FILE", help="JSON file with secrets, readable by its owner only")
    added.add_argument(
        "--allow-kafka-option", action="append", default=[], metavar="NAME=VALUE",
        help="allow a Kafka property of the secrets file that loads code, runs a command, or sends or writes files",
    )  # fmt: skip
    added.add_argument(
        "--allow-insecure-connections", action="store_true",
        help="send the credentials of the secrets file also over connections without TLS, or with TLS that does not "
             "verify the other side",
    )  # fmt: skip
    add_allowed_providers(added)
    added.set_defaults(command=command)
    return added


def validate(arguments: argparse.Namespace) -> int:
    """Check the settings and, if given, the secrets file."""
    if arguments.connectors:
        return validate_all(arguments)
    settings = settings_of(arguments, conversion=True)
    secrets = secrets_of(arguments)
    check_kafka(settings, secrets)
    check_ignite(settings, secrets)
    check_registry(settings, secrets)
    settings.emit_warnings()
    print(settings_table(settings))
    others = len(settings.definitions()) - len(list_shown_settings(settings))
    print(describe_run_end(settings))
    print(f"{arguments.file} is valid: connector {settings.name}, {others} other settings have their defaults")
    return 0


def plan(arguments: argparse.Namespace) -> int:
    """Show the plan of the next run."""
    from .sink_views import SinkPlanView, sink_plan_view
    from .views import PlanView, plan_view

    settings = settings_by_file_or_name(arguments)
    secrets = secrets_of(arguments)
    if isinstance(settings, SinkSettings):
        return render.show(arguments, sink_plan_view(settings, secrets), SinkPlanView.text)
    return render.show(arguments, plan_view(require_source(settings), secrets, arguments.snapshot_id), PlanView.text)


def run(arguments: argparse.Namespace) -> int:
    """Run a connector with a Spark session in this process."""
    if arguments.connectors or holds_resources(arguments.file):
        return run_all(arguments)
    require_pyspark()
    from ..app import stop_on_sigterm
    from .local_run import run_locally
    from .views import run_table

    with collect() as log_of_run:
        settings = settings_of(arguments)
        check_metrics_host(
            settings.metrics_host, arguments.metrics_host, "--metrics-host", settings.origin.get("metrics_host")
        )
        ended = run_locally(
            settings,
            master=arguments.master,
            run_id=arguments.run_id,
            snapshot_id=arguments.snapshot_id,
            secrets=arguments.secrets,
            mounted_secrets=arguments.mounted_secrets,
            ship_secrets_unprotected=arguments.ship_secrets_unprotected,
            permissions=permissions_of(arguments),
            stop=stop_on_sigterm(settings),
            log_of_run=log_of_run,
        )
    print(ended.to_json().decode() if arguments.json else run_table(ended))
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Compare topics with caches; return 5 for differences."""
    settings = settings_by_file_or_name(arguments)
    require_pyspark()
    from .verify import verify_locally

    return verify_locally(settings, secrets_of(arguments), arguments)


def verify_history(arguments: argparse.Namespace) -> int:
    """Show the last comparisons of a connector."""
    from ..admin.comparison_history import comparisons_of
    from .verify_history import history_text

    return render.show(arguments, comparisons_of(settings_of(arguments), secrets_of(arguments)), history_text)


def status(arguments: argparse.Namespace) -> int:
    """Show a connector, its snapshot and its runs."""
    from .views import StatusView, status_view

    return render.show(arguments, status_view(settings_of(arguments), secrets_of(arguments)), StatusView.text)


def events(arguments: argparse.Namespace) -> int:
    """Show the events of a connector, or follow them until Ctrl-C."""
    from ..admin.connector_events import follow_events, parse_since, read_connector_events

    connector = settings_of(arguments), secrets_of(arguments)
    since_ms = parse_since(arguments.since)
    if not arguments.follow:
        return render.show(arguments, read_connector_events(*connector, since_ms), render.events)
    for id, occurrence in follow_events(*connector, since_ms):
        print(render.event_line(id, occurrence, as_json=arguments.json), flush=True)
    return 0


def pause(arguments: argparse.Namespace) -> int:
    """Pause a connector."""
    return _request_state(arguments, "PAUSED")


def resume(arguments: argparse.Namespace) -> int:
    """Resume a paused connector."""
    return _request_state(arguments, "RUNNING")


def stop(arguments: argparse.Namespace) -> int:
    """Stop a connector and wait for its run; return 1 unless the run ended in time and gracefully."""
    return _request_state(arguments, "STOPPED", arguments.wait_ms)


def _request_state(arguments: argparse.Namespace, target: str, wait_ms: int = 0) -> int:
    from ..admin.target_state import request_target_state

    change = request_target_state(settings_of(arguments), secrets_of(arguments), target, wait_ms)
    render.show(arguments, change, render.target_state)
    return 0 if change.done else 1


if __name__ == "__main__":
    sys.exit(main())
