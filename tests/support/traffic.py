"""Continuous writers of caches: `tests/java/Traffic.java` as a process, a client node that survives the death of server nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import QUICK_JVM
from tests.support.java_programs import compile_java
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, Jars, ServerProcess
from tools.servers.jars import IGNITE_JAVA_OPTIONS, java_command

SOURCE = Path(__file__).parents[1] / "java" / "Traffic.java"


@dataclass(frozen=True)
class Counts:
    """Counts of the writers: ``operations`` were answered; ``failures`` ended with an exception, with unknown outcome.

    ``highest``: no value written so far is greater.
    """

    operations: int
    puts: int
    removes: int
    rolled_back: int
    failures: int
    highest: int


class TrafficProgram:
    """The compiled program; ``start`` begins traffic of it.

    :param directory: classes, logs and Ignite's work folders.
    """

    def __init__(self, jars: Jars, directory: Path) -> None:
        self._jars, self._directory, self._runs = jars, directory, 0
        self._classes = directory / "classes"
        compile_java([SOURCE], jars.ignite, self._classes)

    def start(
        self, cluster: IgniteCluster, writers: Sequence[str], *, seed: int = 1, rate: float = 200, first: int = 0, keys: int = 100
    ) -> Traffic:
        """Begin and wait for the first answers.

        :param writers: ``mode:cache[,cache…]`` each, a thread with keys of its own: puts, batches, tx, stream, insert (see the program).
        :param rate: operations a second of all writers together.
        :param first: all values are greater; for traffic after traffic on the same keys its ``highest``.
        :param keys: long keys of each writer; writer i has those from ``i * keys`` on.
        """
        self._runs += 1
        home = self._directory / f"traffic-{self._runs}"
        home.mkdir(parents=True)
        stop_file = home / "stop"
        arguments: list[str | Path] = [",".join(cluster.discovery_addresses), home, stop_file, str(seed), str(rate), str(first), str(keys)]
        options = ["-Xmx192m", *QUICK_JVM, "-DIGNITE_UPDATE_NOTIFIER=false", "-DIGNITE_NO_ASCII=true", *IGNITE_JAVA_OPTIONS]
        command = java_command("Traffic", [*arguments, *writers], [self._classes, self._jars.ignite], options)
        traffic = Traffic(ServerProcess("traffic", command, home / "traffic.log", cwd=home), stop_file)
        try:
            traffic.await_operations(len(writers))
        except BaseException:
            traffic.leave()
            raise
        return traffic


class Traffic:
    """Writers that run; a context manager that ends their process."""

    def __init__(self, process: ServerProcess, stop_file: Path) -> None:
        self._process, self._stop_file = process, stop_file

    def counts(self) -> Counts:
        """As of some hundred milliseconds ago."""
        report = self._report()
        return Counts(**{name: report[name] for name in Counts.__annotations__})

    def await_operations(self, more: int) -> Counts:
        """Wait until as many operations more were answered.

        :raises AssertionError: the process ended.
        """
        wanted = self._report().get("operations", 0) + more

        def reached() -> bool:
            self._assert_running()
            return bool(self._report().get("operations", 0) >= wanted)

        wait_until(reached, f"{more} operations of the traffic (see {self._process.log})")
        return self.counts()

    def stop(self) -> Counts:
        """Let each writer end its operation. The client node stays, for the topology changes when it leaves."""
        self._stop_file.touch()

        def ended() -> bool:
            self._assert_running()
            return bool(self._report()["ended"])

        wait_until(ended, f"the end of the writers (see {self._process.log})")
        return self.counts()

    def leave(self) -> None:
        """End the process by SIGTERM: its node leaves in good order, where the servers would wait half a minute for a killed client."""
        self._process.stop()

    def _assert_running(self) -> None:
        assert self._process.running(), f"the traffic ended:\n{self._process.output()[-3000:]}"

    def _report(self) -> dict[str, Any]:
        """The last report; another thread's line may follow it on its line, because both streams go to one file."""
        lines = [line for line in self._process.output().split("\n")[:-1] if line.startswith('{"ended"')]
        found: dict[str, Any] = json.JSONDecoder().raw_decode(lines[-1])[0] if lines else {}
        return found

    def __enter__(self) -> Traffic:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
