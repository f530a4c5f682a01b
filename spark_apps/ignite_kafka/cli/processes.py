"""Processes of a command, one for each connector, which run together.

Each has its own Spark driver: in one session the job of a stream would hold the cores that the other jobs wait for.
"""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from ..common.deadline import Deadline
from ..errors import IgniteKafkaError
from ..runtime import logs
from . import render

THIS_COMMAND = (sys.executable, "-m", "ignite_kafka.cli")
"""Words that begin the command line of such a process."""
log = logging.getLogger(__name__)
_POLL_S = 0.2
_STOP_S = 120.0  # time given to a process to end before it is killed


class Part:
    """A process of the command, whose output lines are printed with its name.

    :param as_json: the process prints a record in JSON on stdout, which is kept; its other lines are printed on stderr.
    """

    def __init__(self, name: str, command: Sequence[str], *, as_json: bool = False) -> None:
        self.name = name
        self.as_json = as_json
        self.record: dict[str, Any] | None = None
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._readers: list[threading.Thread] = []

    def start(self) -> None:
        """Start the process, and a thread that prints the process's output lines."""
        # a session of its own: Ctrl-C in the terminal reaches only this command, which ends the processes in order
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if self.as_json else subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        if self.as_json:
            self._read(self._process.stdout, self._keep_record)
            self._read(self._process.stderr, lambda line: print_line(self.name, line, sys.stderr))
        else:
            self._read(self._process.stdout, lambda line: print_line(self.name, line))

    def _read(self, output: IO[str] | None, handle: Callable[[str], object]) -> None:
        reader = threading.Thread(target=_handle_lines, args=(output, handle), daemon=True)
        self._readers.append(reader)
        reader.start()

    def _keep_record(self, line: str) -> None:
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            self.record = value
        else:
            print_line(self.name, line, sys.stderr)

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
        if self._process is None:
            return
        if self.code is None:
            self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        for output in (self._process.stdout, self._process.stderr):
            if output is not None:
                output.close()


def _handle_lines(output: IO[str], handle: Callable[[str], object]) -> None:
    for line in output:
        handle(line.rstrip("\n"))


def print_line(name: str, text: str, stream: IO[str] | None = None) -> None:
    """Print a line of a process or of this command, after its name.

    :param stream: None: stdout.
    """
    print(f"{name:6} | {text}", file=stream, flush=True)


def show_records(parts: Iterable[Part]) -> None:
    """Print the record of each process's run in JSON; null for a run that did not end successfully."""
    render.print_json({"runs": {part.name: part.record for part in parts}})


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
    error = IgniteKafkaError(f"the {failed.name} failed with exit code {failed.code}{ended}", remedy)
    logs.show_error(error, as_json=failed.as_json)
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
