"""The command `serve`: Kafka Connect's REST interface, and local runs of the connectors declared by it."""

from __future__ import annotations

import logging
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.private_files import ensure_private_folder
from ..errors import SettingsError
from ..settings.metrics import is_loopback
from .arguments import CommandArguments, allowed_providers, provider_arguments
from .command_settings import secrets_of, settings_of_cluster

if TYPE_CHECKING:
    import uvicorn

    from ..connect_rest.access import Logins
    from ..connect_rest.service import ConnectService

log = logging.getLogger(__name__)
_THIS = (sys.executable, "-m", "ignite_kafka.cli")
_MOST_REQUESTS = 64
_IDLE_S = 15
_START_POLL_S = 0.1
_HEADER_BYTES = 32_768


def serve(arguments: CommandArguments) -> int:
    """Serve Kafka Connect's REST interface, and run the declared connectors, until SIGTERM or Ctrl-C."""
    _require_libraries()
    from ..connect_rest.access import Logins
    from ..connect_rest.configuration import Operator
    from ..connect_rest.late_deletions import LateDeletions
    from ..connect_rest.service import ConnectService, SharedState

    logins = Logins.read(arguments.users, arguments.token_file)
    check_exposure(arguments.host, logins, tls=bool(arguments.tls_cert), plain=arguments.allow_plain_http)
    if bool(arguments.tls_cert) != bool(arguments.tls_key):
        raise SettingsError("a certificate and its key belong together", "Give --tls-cert and --tls-key.")
    operator = Operator(settings_of_cluster(arguments), secrets_of(arguments), allowed_providers(arguments))
    service = ConnectService(operator, SharedState(deletions=LateDeletions() if arguments.no_runs else None))
    service.reader.clients.check()
    with tempfile.TemporaryDirectory(prefix="ignite-kafka-serve-") as temporary:
        folder = Path(arguments.work or temporary)
        check_work_folder(folder)
        _serve(arguments, service, logins, folder)
    return 0


def check_work_folder(folder: Path) -> None:
    """Create the folder of settings and logs, or check that only this user may access the existing one.

    :raises SettingsError: other users could read settings, or replace the files of runs.
    """
    try:
        ensure_private_folder(folder)
    except OSError as error:
        raise SettingsError(
            f"the folder of --work cannot be used: {error.strerror}",
            "Give a new folder, or one of this user with mode 0700: chmod 700 FOLDER.",
            folder=folder,
        ) from None


def check_exposure(host: str, logins: Logins, *, tls: bool, plain: bool) -> None:
    """Refuse to listen beyond loopback without a login, or without TLS unless that is said.

    :raises SettingsError: others could change connectors, or read passwords on the way.
    """
    if is_loopback(host):
        return
    if not logins.required:
        raise SettingsError(
            f"everybody who reaches {host} could change connectors",
            "Give --users or --token-file, or listen on 127.0.0.1.",
        )
    if not tls and not plain:
        raise SettingsError(
            f"passwords and tokens would travel readable to {host}",
            "Give --tls-cert and --tls-key, or --allow-plain-http behind a proxy with TLS.",
        )


def _require_libraries() -> None:
    try:
        for module in ("starlette.applications", "uvicorn"):
            import_module(module)
    except ImportError as cause:
        raise SettingsError(
            "the Python packages starlette and uvicorn are not installed", "Install them by the extra serve"
        ) from cause


def _serve(arguments: CommandArguments, service: ConnectService, logins: Logins, folder: Path) -> None:
    import uvicorn

    from ..connect_rest.keeper import Keeper

    def command(file: Path, run_id: str) -> Sequence[str]:
        return run_command(arguments, file, run_id)

    def stop(*_: object) -> None:
        server.should_exit = True

    server = uvicorn.Server(_configure(arguments, service, logins))
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises a signal again after it has stopped
        signal.signal(number, stop)
    ended = threading.Event()
    keeper = Keeper(service.reader, service.operator, command, folder)

    def keep() -> None:
        try:
            while not (server.started or ended.wait(_START_POLL_S)):
                pass
            if server.started:  # the runs of a server that cannot listen would fence those of the one that does
                keeper.run()
        finally:
            stop()  # a server whose connectors nobody keeps must not look healthy

    keeping = threading.Thread(target=keep, name="ignite-kafka-keeper")
    if not arguments.no_runs:
        keeping.start()
    try:
        log.info("serving on %s port %d", arguments.host, arguments.port)
        server.run()
    except (SystemExit, OSError) as error:  # uvicorn exits if the port is taken; ssl's errors are of OSError
        raise _no_server(arguments, error) from None
    finally:
        ended.set()
        keeper.stop()
        if not arguments.no_runs:
            log.info("ending the runs")
            keeping.join()


def _no_server(arguments: CommandArguments, error: BaseException) -> SettingsError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else "the log line above has the cause"
    return SettingsError(
        f"the server cannot listen: {reason}",
        "Check that no other program uses the port, and that --tls-cert and --tls-key are PEM files of one key.",
        host=arguments.host,
        port=arguments.port,
    )


def _configure(arguments: CommandArguments, service: ConnectService, logins: Logins) -> uvicorn.Config:
    """Return the configuration of the web server, with limits of headers, connections and idle times."""
    import uvicorn

    from ..connect_rest.access import Guard
    from ..connect_rest.application import create_application
    from ..connect_rest.connections import bounded_connection

    return uvicorn.Config(
        create_application(service, Guard(logins, arguments.host)),
        host=arguments.host,
        port=arguments.port,
        ssl_certfile=arguments.tls_cert,
        ssl_keyfile=arguments.tls_key,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_REQUESTS,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_IDLE_S,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        http=bounded_connection(),
        lifespan="off",
        ws="none",
    )


def run_command(arguments: CommandArguments, file: Path, run_id: str) -> list[str]:
    """Return the command of a connector's run, with what the server's user granted."""
    options: dict[str, Any] = {"--master": arguments.master, "--secrets": arguments.secrets}
    given_options = [part for name, value in options.items() if value is not None for part in (name, str(value))]
    kafka_options = [part for value in arguments.allow_kafka_option for part in ("--allow-kafka-option", value)]
    insecure = ["--allow-insecure-connections"] if arguments.allow_insecure_connections else []
    return [
        *_THIS,
        *(["--quiet"] if arguments.quiet else []),
        *("run", str(file), "--run-id", run_id, "--unless-stopped"),
        *given_options,
        *kafka_options,
        *insecure,
        *provider_arguments(arguments),
    ]
