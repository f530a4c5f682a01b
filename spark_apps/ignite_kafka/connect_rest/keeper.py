"""Keeper of the processes that run declared connectors: a process `ignite-kafka run` for each.

Each process has its own Spark driver. It outlives a server that is killed; the run that the next server starts fences
it, so that nothing is sent twice.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..admin.overview import ConnectorOverview
from ..common.deadline import Deadline
from ..common.new_id import new_id
from ..common.private_files import open_private_log
from ..errors import IgniteKafkaError
from ..settings.connector import ConnectorSettings
from .configuration import Operator, check_declared
from .deletions import Deletions
from .reading import ConnectorReader
from .supervision import Action, Desired, LocalRun, decide, wait_s, why_not_restarted

log = logging.getLogger(__name__)
POLL_S = 1.0
STOP_S = 120.0
"""Time that a process has to end before it is killed, in seconds."""
_LARGE_LOG_BYTES = 64 << 20
Command = Callable[[Path, str], Sequence[str]]


class Keeper:
    """Processes of declared connectors, kept as their records in Kafka say. :meth:`run` blocks until :meth:`stop`.

    :param command: makes the command of a run from its settings file and run id.
    :param folder: private folder for settings files and logs.
    """

    def __init__(self, reader: ConnectorReader, operator: Operator, command: Command, folder: Path) -> None:
        self._reader = reader
        self._operator = operator
        self._command = command
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._runs: dict[str, LocalRun] = {}
        self._kill_at: dict[str, Deadline] = {}
        self._desired: dict[str, Desired] = {}
        self._refused: dict[str, str] = {}
        self._run_ids: dict[str, str] = {}
        self._dead: dict[str, str] = {}
        self._deletions = Deletions(operator)
        self._stop = threading.Event()

    def run(self) -> None:
        """Keep the processes until :meth:`stop`; then end all of them in good order."""
        try:
            while not self._stop.wait(POLL_S):
                try:
                    self.step()
                except IgniteKafkaError as error:
                    log.warning("The declared connectors cannot be read; the runs continue: %s", error)
        finally:
            self._end_all()

    def stop(self) -> None:
        """Let :meth:`run` end the processes, and return."""
        self._stop.set()

    def step(self) -> None:
        """Bring the processes to the state of the connectors' records."""
        self._collect_ended()
        connectors = self._reader.read_with_deleted()
        for name in connectors.keys() | self._runs.keys():
            self._keep(name, connectors.get(name))
        ended = [name for name, connector in connectors.items() if connector.must_be_cleaned and name not in self._runs]
        self._deletions.advance(ended, self._dead)

    def _keep(self, name: str, connector: ConnectorOverview | None) -> None:
        desired = None if connector is None else self._desired_of(connector)
        run = self._runs.get(name)
        action = decide(desired, run, time.monotonic())
        if action is Action.STOP:
            self._end(name)
        elif action is Action.START and desired is not None and connector is not None:
            self._start(desired, connector)
        elif (desired is None or desired.stopped) and run is not None and not run.running:
            del self._runs[name]  # settled: a later request to resume starts it
        if desired is not None:
            self._desired[name] = desired

    def _desired_of(self, connector: ConnectorOverview) -> Desired | None:
        """Return the desired state of a connector; None if it is not declared, or its record is of another program."""
        try:
            return Desired.of(connector)
        except IgniteKafkaError as error:
            self._refuse(connector.name, error)
            return None

    def _refuse(self, name: str, error: IgniteKafkaError) -> None:
        if self._refused.get(name) != str(error):
            self._refused[name] = str(error)
            log.error("Connector %s does not run: %s", name, error)

    def _start(self, desired: Desired, connector: ConnectorOverview) -> None:
        name = desired.name
        try:
            settings = check_declared(name, connector.config or {}, self._operator)
        except IgniteKafkaError as error:
            self._refuse(name, error)
            return
        try:
            run_id = f"serve-{new_id()}"
            process = self._launch(name, settings, run_id)
        except OSError as error:
            what = f"its process cannot be started: {error.strerror}"
            self._refuse(name, IgniteKafkaError(what, "Check memory and disk of this host.", file=error.filename))
            return
        self._refused.pop(name, None)
        before = self._runs.get(name)
        failures = before.failures if before is not None and before.digest == desired.digest else 0
        self._processes[name] = process
        self._run_ids[name] = run_id
        self._runs[name] = LocalRun(desired.digest, desired.restart_ms, time.monotonic(), failures=failures)
        log.info("Connector %s starts as process %d; log: %s", name, process.pid, self._folder / f"{name}.log")

    def _launch(self, name: str, settings: ConnectorSettings, run_id: str) -> subprocess.Popen[bytes]:
        """Start the process of a run, with its settings in a private file and its output in a log.

        :raises OSError: a file cannot be written, or the process cannot be started.
        """
        path = self._folder / f"{name}.json"
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(settings.changed(), file)
        output = self._folder / f"{name}.log"
        if output.is_file() and not output.is_symlink() and output.stat().st_size > _LARGE_LOG_BYTES:
            output.replace(output.with_suffix(".log.1"))
        with open_private_log(output) as file_of_log:
            # a session of its own: Ctrl-C on the server's terminal must not reach it before the server stops it
            return subprocess.Popen(
                self._command(path, run_id),
                stdin=subprocess.DEVNULL,
                stdout=file_of_log,
                stderr=file_of_log,
                start_new_session=True,
            )

    def _end(self, name: str) -> None:
        """Ask a process to end after its current batch, and kill it if it has not ended in time."""
        process = self._processes[name]
        if name not in self._kill_at:
            self._kill_at[name] = Deadline.after(STOP_S)
            self._runs[name] = replace(self._runs[name], stopping=True)
            process.send_signal(signal.SIGTERM)
        elif self._kill_at[name].expired:
            log.warning("Connector %s has not ended within %.0f s and is killed", name, STOP_S)
            process.kill()

    def _collect_ended(self) -> None:
        for name, process in list(self._processes.items()):
            code = process.poll()
            if code is None:
                continue
            del self._processes[name]
            self._dead[name] = self._run_ids.pop(name)
            self._kill_at.pop(name, None)
            self._runs[name] = self._runs[name].ended(code, time.monotonic())
            self._report_end(name, self._runs[name])

    def _report_end(self, name: str, run: LocalRun) -> None:
        if run.failures == 0:
            log.info("The run of connector %s has ended", name)
            return
        desired = self._desired.get(name)
        reason = "it is not declared any more" if desired is None else why_not_restarted(desired, run)
        then = f"no restart: {reason}" if reason else f"restart in {wait_s(run):.0f} s"
        log.error("The run of connector %s failed with exit code %s; %s", name, run.exit_code, then)

    def _end_all(self) -> None:
        """End all processes, side by side."""
        deadline = Deadline.after(STOP_S)
        for name in self._processes:
            self._end(name)
        while self._processes and not deadline.expired:
            time.sleep(POLL_S / 5)
            self._collect_ended()
        for name, process in self._processes.items():
            log.warning("Connector %s has not ended within %.0f s and is killed", name, STOP_S)
            process.kill()
            process.wait()
