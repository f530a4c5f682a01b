"""A real ZooKeeper on loopback, for Kafka before 3.3, whose KRaft mode lacks what brokers with ZooKeeper have."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from .jars import Jars, java_command
from .process import ServerProcess, await_condition, free_ports


class ZooKeeper:
    """One server from the jars of Kafka; it keeps its port and data across :meth:`stop` and :meth:`start`."""

    def __init__(self, directory: Path, *, jars: Jars) -> None:
        self.directory = directory
        self._jars = jars
        self._port = free_ports(1)[0]
        self._process: ServerProcess | None = None

    @property
    def address(self) -> str:
        """Value for ``zookeeper.connect``."""
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start unless it runs, and wait until it answers.

        :raises ServerFailed: it ended or did not answer in time.
        """
        if self._process is not None and self._process.running():
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.directory / "zookeeper.properties"
        settings = {"dataDir": self.directory / "data", "clientPortAddress": "127.0.0.1", "clientPort": self._port}
        settings |= {
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "ruok,dump",
            "tickTime": 1_000,
            "maxClientCnxns": 0,
        }
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        command = java_command(
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", [file], [self._jars.kafka], ["-Xmx128m"]
        )
        self._process = ServerProcess("ZooKeeper", command, self.directory / "zookeeper.log")
        self._process.await_ready(lambda: self._ask("ruok") == "imok")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()

    def await_end_of(self, broker: int) -> None:
        """Wait until no broker of this id is registered: a killed broker stays so for its session's time, and a new one would be refused.

        :raises ServerFailed: it still is.
        """
        await_condition(
            lambda: f"/brokers/ids/{broker}\n" not in f"{self._ask('dump')}\n",
            f"broker {broker} is no longer registered",
        )

    def _ask(self, word: str) -> str:
        """Answer to a four-letter word; empty if there is none."""
        answer = b""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 5) as link:
            link.sendall(word.encode())
            while more := link.recv(65_536):
                answer += more
        return answer.decode()
