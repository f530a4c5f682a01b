"""Real Ignite nodes on loopback, with the backlog service."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pyignite

from .archives import archive_options
from .ignite_config import IgniteOptions, NodePorts, node_xml
from .jars import IGNITE_JAVA_OPTIONS, Jars, java_command
from .process import ServerProcess, free_ports

_STARTED = "Topology snapshot"
_ACTIVATED_BY_CLIENT = (2, 9)  # the first version with this request of thin clients


class IgniteCluster:
    """Nodes of one cluster. A node keeps its ports and its data folder across :meth:`kill` and :meth:`start_node`.

    :param directory: of configuration, data and logs; one subfolder per node.
    :param outlives_parent: see :class:`ServerProcess`.
    """

    user = "ignite"
    password = "ignite"

    def __init__(
        self,
        directory: Path,
        *,
        jars: Jars,
        nodes: int = 1,
        options: IgniteOptions | None = None,
        client_ports: list[int] | None = None,
        outlives_parent: bool = False,
        **named: Any,
    ) -> None:
        self.directory = directory
        self.options = replace(options or IgniteOptions(), **named)
        self._jars = jars
        self._outlives_parent = outlives_parent
        free = free_ports(3 * nodes)
        client = client_ports or free[:nodes]
        self._ports = [NodePorts(client[i], free[nodes + i], free[2 * nodes + i]) for i in range(nodes)]
        self._nodes: dict[int, ServerProcess] = {}

    @property
    def addresses(self) -> tuple[str, ...]:
        """Client addresses of all nodes, running or not."""
        return tuple(f"127.0.0.1:{ports.client}" for ports in self._ports)

    @property
    def discovery_addresses(self) -> tuple[str, ...]:
        """Discovery addresses of all nodes, for servers and client nodes."""
        return tuple(f"127.0.0.1:{ports.discovery}" for ports in self._ports)

    @property
    def address(self) -> str:
        """Client address of node 0."""
        return self.addresses[0]

    @property
    def log(self) -> Path:
        """Log of node 0."""
        return self._home(0) / "node.log"

    @property
    def pids(self) -> list[int]:
        """Process ids of the nodes."""
        return [node.pid for node in self._nodes.values()]

    def start(self) -> IgniteCluster:
        """Start all nodes and wait until each answers and the cluster is active.

        :raises ServerFailed: a node ended or did not answer in time.
        """
        try:
            self._start_nodes()
            self._activate()
        except BaseException:
            self.stop()
            raise
        return self

    def kill_and_start_nodes(self) -> None:
        """Kill all nodes (SIGKILL), start them again, and wait until each answers."""
        for index in range(len(self._ports)):
            self.kill(index)
        self._start_nodes()

    def _start_nodes(self) -> None:
        for index in range(len(self._ports)):
            self.start_node(index, wait=False)
        for index in range(len(self._ports)):
            self.await_node(index)

    def start_node(self, index: int, *, wait: bool = True) -> None:
        """Start a node, for the first time or again after :meth:`kill`."""
        home = self._home(index)
        home.mkdir(parents=True, exist_ok=True)
        file = home / "ignite.xml"
        file.write_text(
            node_xml(
                f"node-{index}", self._ports[index], [ports.discovery for ports in self._ports], home, self.options
            )
        )
        options = [
            "-Xms128m",
            f"-Xmx{self.options.heap_mib}m",
            "-DIGNITE_UPDATE_NOTIFIER=false",
            "-DIGNITE_NO_ASCII=true",
        ]
        options += [
            "-XX:MaxDirectMemorySize=256m",
            *archive_options("ignite", self._jars.ignite),
            *IGNITE_JAVA_OPTIONS,
            *self.options.java_options,
        ]
        main = "org.apache.ignite.startup.cmdline.CommandLineStartup"
        backlog = [self._jars.backlog] if self.options.backlog_mib else []
        command = java_command(main, [file], [self._jars.ignite, *backlog, *self.options.class_path], options)
        self._nodes[index] = ServerProcess(
            f"Ignite node {index}", command, home / "node.log", cwd=home, outlives_parent=self._outlives_parent
        )
        if wait:
            self.await_node(index)

    def _home(self, index: int) -> Path:
        return self.directory / f"node-{index}"

    def await_node(self, index: int) -> None:
        """Wait until a node answers a thin client."""
        self._nodes[index].await_ready(lambda: self._answers(index))

    def node(self, index: int) -> ServerProcess:
        """Process of a node."""
        return self._nodes[index]

    def kill(self, index: int = 0) -> None:
        """Kill a node (SIGKILL)."""
        self._nodes[index].kill()

    def stop(self) -> None:
        """End all nodes; data in memory is lost."""
        for node in self._nodes.values():
            node.kill()
        self._nodes.clear()

    @contextmanager
    def client(self) -> Iterator[pyignite.Client]:
        """Connect a pyignite client with the cluster's user and certificates."""
        client = pyignite.Client(**self._client_options())
        with client.connect([("127.0.0.1", ports.client) for ports in self._ports]):
            yield client

    def destroy_caches(self, *beginnings: str) -> None:
        """Destroy the caches whose names begin so."""
        with self.client() as client:
            for name in client.get_cache_names():
                if name.startswith(beginnings):
                    client.get_cache(name).destroy()

    def _client_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.options.authentication:
            options |= {"username": self.user, "password": self.password, "use_ssl": self.options.tls is not None}
        if self.options.tls is not None:
            tls = self.options.tls
            options |= {"use_ssl": True, "ssl_ca_certfile": str(tls.ca), "ssl_certfile": str(tls.client_certificate)}
            options |= {"ssl_keyfile": str(tls.client_key), "ssl_keyfile_password": tls.client_key_password}
        return options

    def _answers(self, index: int) -> bool:
        started = _STARTED in self._nodes[index].output()
        return started and _handshake_answered(self._ports[index].client, tls=self.options.tls is not None)

    def _activate(self) -> None:
        if self._jars.ignite_version < _ACTIVATED_BY_CLIENT and not self.options.persistent:
            return  # a cluster without persistence starts active
        with self.client() as client:
            cluster = client.get_cluster()
            cluster.set_state(1)

    def __enter__(self) -> IgniteCluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _handshake_answered(port: int, *, tls: bool) -> bool:
    """Whether a node answers a thin handshake; with TLS, whether it takes connections."""
    body = struct.pack("<BHHHB", 1, 1, 7, 0, 2) + struct.pack("<BI", 12, 0)
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as connection:
        if tls:
            return True
        connection.settimeout(5)
        connection.sendall(struct.pack("<I", len(body)) + body)
        return len(connection.recv(4)) == 4
    return False
