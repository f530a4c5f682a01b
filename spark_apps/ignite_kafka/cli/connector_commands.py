"""Commands that check, plan, run, compare, inspect and control a connector."""

from __future__ import annotations

from ..events import collect
from ..runtime.spark_conf import require_pyspark
from ..settings.metrics import check_metrics_host
from ..settings.registry_login import check_registry
from ..settings.sink import SinkSettings
from ..settings.transport_security import check_ignite, check_kafka
from . import render
from .arguments import CommandArguments
from .command_settings import (
    permissions_of,
    require_source,
    secrets_of,
    settings_by_file_or_name,
    settings_of,
    settings_of_cluster,
)
from .file_results import ValidationResult, valid_connector
from .migrate import holds_resources, run_all, validate_all
from .settings_table import describe_run_end, list_shown_settings, settings_table


def validate(arguments: CommandArguments) -> int:
    """Check the settings and, if given, the secrets file."""
    if arguments.connectors:
        return validate_all(arguments)
    settings = settings_of(arguments, conversion=True)
    secrets = secrets_of(arguments)
    check_kafka(settings, secrets)
    check_ignite(settings, secrets)
    check_registry(settings, secrets)
    settings.emit_warnings()
    if arguments.json:
        render.print_json(ValidationResult(True, (valid_connector(settings, arguments.file),)).to_dict())
        return 0
    print(settings_table(settings))
    others = len(settings.definitions()) - len(list_shown_settings(settings))
    print(describe_run_end(settings))
    print(f"{arguments.file} is valid: connector {settings.name}, {others} other settings have their defaults")
    return 0


def plan(arguments: CommandArguments) -> int:
    """Show the plan of the next run."""
    from .sink_views import SinkPlanView, sink_plan_view
    from .views import PlanView, plan_view

    settings = settings_by_file_or_name(arguments)
    secrets = secrets_of(arguments)
    if isinstance(settings, SinkSettings):
        return render.show(arguments, sink_plan_view(settings, secrets), SinkPlanView.text)
    return render.show(arguments, plan_view(require_source(settings), secrets, arguments.snapshot_id), PlanView.text)


def run(arguments: CommandArguments) -> int:
    """Run a connector with a Spark session in this process."""
    if arguments.connectors or holds_resources(arguments.file):
        return run_all(arguments)
    require_pyspark()
    from ..app import stop_on_sigterm
    from .local_run import run_locally
    from .run_progress import run_progress
    from .views import run_table

    with collect() as log_of_run:
        settings = settings_of(arguments)
        check_metrics_host(
            settings.metrics_host, arguments.metrics_host, "--metrics-host", settings.origin.get("metrics_host")
        )
        with run_progress(ends=not settings.streams, quiet=arguments.quiet) as progress:
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
                progress=progress,
            )
    print(ended.to_json().decode() if arguments.json else run_table(ended))
    return 0


def verify(arguments: CommandArguments) -> int:
    """Compare topics with caches; return 5 for differences."""
    settings = settings_by_file_or_name(arguments)
    require_pyspark()
    from .verify import verify_locally

    return verify_locally(settings, secrets_of(arguments), arguments)


def status(arguments: CommandArguments) -> int:
    """Show a connector, its snapshot and its runs; or all connectors, once or until Ctrl-C."""
    if arguments.name is None or arguments.watch:
        return _show_all(arguments)
    from .views import StatusView, status_view

    return render.show(arguments, status_view(settings_of(arguments), secrets_of(arguments)), StatusView.text)


def _show_all(arguments: CommandArguments) -> int:
    from ..admin.overview import OverviewReader
    from ..admin.target_state import unknown_connector_error
    from ..runtime.clients import kafka_clients
    from .all_connectors import ConnectorList, read_connectors
    from .watch import watch

    settings = settings_of_cluster(arguments)
    clients = kafka_clients(settings, secrets_of(arguments))
    clients.check()
    reader = OverviewReader(settings.internal_topic_prefix)
    if not arguments.watch:
        return render.show(arguments, read_connectors(clients, reader), ConnectorList.text)
    if arguments.name is not None and not read_connectors(clients, reader, arguments.name).connectors:
        names = [line.name for line in read_connectors(clients, reader).connectors]
        raise unknown_connector_error(settings_of(arguments), names)
    return watch(lambda: read_connectors(clients, reader, arguments.name), as_json=arguments.json)


def events(arguments: CommandArguments) -> int:
    """Show the events of a connector, or follow them until Ctrl-C."""
    from ..admin.connector_events import follow_events, parse_since, read_connector_events

    connector = settings_of(arguments), secrets_of(arguments)
    since_ms = parse_since(arguments.since)
    if not arguments.follow:
        return render.show(arguments, read_connector_events(*connector, since_ms), render.events)
    for id, occurrence in follow_events(*connector, since_ms):
        print(render.event_line(id, occurrence, as_json=arguments.json), flush=True)
    return 0


def pause(arguments: CommandArguments) -> int:
    """Pause a connector."""
    return _request_state(arguments, "PAUSED")


def resume(arguments: CommandArguments) -> int:
    """Resume a paused connector."""
    return _request_state(arguments, "RUNNING")


def stop(arguments: CommandArguments) -> int:
    """Stop a connector and wait for its run; return 1 unless the run ended in time and gracefully."""
    return _request_state(arguments, "STOPPED", arguments.wait_ms)


def _request_state(arguments: CommandArguments, target: str, wait_ms: int = 0) -> int:
    from ..admin.target_state import request_target_state

    change = request_target_state(settings_of(arguments), secrets_of(arguments), target, wait_ms)
    render.show(arguments, change, render.target_state)
    return 0 if change.done else 1
