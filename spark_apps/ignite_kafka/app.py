"""What the Spark apps share: their arguments, their request, and how secrets reach executors.

The request holds no secret. Secrets stand in a file of their own (:mod:`.secrets`), either shipped or mounted:

- shipped (``--secrets FILE``): the driver makes a private copy at once, so the caller's file may go, and Spark's file server hands it
  to executors;
- mounted (``--mounted-secrets FILE``): a path that exists on the driver and on every executor; nothing is copied.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import events, secrets
from .connector_settings import ConnectorSettings
from .errors import IgniteKafkaError, SettingsError
from .secrets import Secrets
from .secrets_file import SecretsFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .kafka.status import RunStatus
    from .pipelines.connector_run import RunRequest

log = logging.getLogger(__name__)
S = TypeVar("S", bound=ConnectorSettings)


def main(argv: Sequence[str] | None, direction: type[S], run: Callable[[SparkSession, RunRequest[S]], RunStatus]) -> int:
    """Read the request, run it. 0: done; any other code: the last line on stderr says what failed, where, why and what to do."""
    from .pipelines.connector_run import RunRequest

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        arguments = Arguments.parse(argv)
        request = AppRequest.load(arguments.request, direction)
        stop = stop_on_sigterm(request.settings)
        spark = session_builder(request.settings.name).getOrCreate()
        try:
            with ship_secrets(spark, arguments, request.allowed_kafka_options) as secrets_file:
                run(spark, RunRequest(request.settings, request.run_id, request.snapshot_id, secrets_file, show_progress, stop))
        finally:
            spark.stop()
    except IgniteKafkaError as error:
        if error.exit_code == 2:
            events.emit(events.MISCONFIGURED, reason=str(error))
        print(f"ignite-kafka: {type(error).__name__} {error}", file=sys.stderr)
        return error.exit_code
    return 0


def session_builder(connector: str) -> SparkSession.Builder:
    """A session's builder; a Python worker that crashes tells where."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.appName(f"ignite-kafka {connector}").config("spark.python.worker.faulthandler.enabled", "true")


@dataclass(frozen=True)
class Arguments:
    """The command line of an app."""

    request: str
    secrets: str | None = None
    mounted_secrets: str | None = None

    @staticmethod
    def parse(argv: Sequence[str] | None) -> Arguments:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--request", required=True, help="JSON file: connector, run_id, snapshot_id, settings")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--secrets", help="file of secrets to ship to executors")
        where.add_argument("--mounted-secrets", help="file of secrets that exists on the driver and every executor")
        given = parser.parse_args(argv)
        return Arguments(given.request, given.secrets, given.mounted_secrets)


@dataclass(frozen=True)
class AppRequest(Generic[S]):
    """One run of a connector. A run id names the status record; a snapshot id names what is sent once.

    :param allowed_kafka_options: what an administrator allows of :data:`.client_properties.HOST_ACCESS`, each ``name=value``.
    """

    settings: S
    run_id: str
    snapshot_id: str | None
    allowed_kafka_options: tuple[str, ...] = ()

    @staticmethod
    def load(path: str, direction: type[S]) -> AppRequest[S]:
        """
        :raises SettingsError: the file is missing, is not JSON, or holds a bad setting.
        """
        try:
            data: Mapping[str, Any] = json.loads(Path(local_file(path)).read_text())
            settings, run_id = data["settings"], data["run_id"]
        except (OSError, ValueError, KeyError) as cause:
            raise SettingsError(
                f"the request cannot be read: {cause!r}", "Give --request a file as the operator writes it.", file=path
            ) from cause
        named = {"name": data["connector"], **settings} if "connector" in data else settings
        return AppRequest(direction.from_dict(named), run_id, data.get("snapshot_id"), tuple(data.get("allowed_kafka_options", ())))


def local_file(path: str) -> str:
    """The path, or where a cluster manager put the file of that name when the app was submitted with ``--files``."""
    if os.path.exists(path):
        return path
    shipped = Path.cwd() / os.path.basename(path)
    return str(shipped) if shipped.exists() else path


@contextmanager
def ship_secrets(spark: SparkSession, arguments: Arguments, allowed: tuple[str, ...] = ()) -> Iterator[SecretsFile | None]:
    """Where driver and executors find the secrets; the driver's private copy lives as long as the context.

    :param allowed: see :attr:`AppRequest.allowed_kafka_options`.
    """
    if arguments.mounted_secrets:
        yield SecretsFile(arguments.mounted_secrets, allowed=allowed)
    elif arguments.secrets:
        folder = tempfile.mkdtemp(prefix="ignite-kafka-")  # mode 0700
        try:
            copy = Path(folder) / f"{os.path.basename(folder)}.secrets"
            secrets.dump(_given_secrets(arguments.secrets, allowed), copy)
            spark.sparkContext.addFile(str(copy))
            yield SecretsFile(str(copy), copy.name, allowed)
        finally:
            shutil.rmtree(folder)
    else:
        yield None


def _given_secrets(path: str, allowed: tuple[str, ...]) -> Secrets:
    """The caller's file, which others may not read; one that a cluster manager copied here has the mode of its umask."""
    found = local_file(path)
    if found != path and os.stat(found).st_uid == os.geteuid():
        secrets.restrict(found)
    return secrets.load(found, allowed)


def stop_on_sigterm(settings: ConnectorSettings) -> threading.Event:
    """Have SIGTERM end this process: a stream after its batch in hand, by the event returned; another run, or a second signal, at once."""
    stop = threading.Event()

    def handle(*_: object) -> None:
        # no log here: the signal may have interrupted one under its lock
        if not settings.streams or stop.is_set():
            sys.exit(128 + signal.SIGTERM)
        stop.set()

    signal.signal(signal.SIGTERM, handle)
    return stop


def show_progress(status: RunStatus) -> None:
    """Log what is committed so far, one line a cache that has something to tell."""
    for name, cache in status.caches.items():
        log.info(
            "progress %s -> %s: %d of %d partitions, %s records", name, cache.topic, cache.units_done, cache.units, f"{cache.records:,}"
        )
