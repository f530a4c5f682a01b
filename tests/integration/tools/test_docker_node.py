"""The configuration of the Ignite image, started without the image."""

from __future__ import annotations

import os
from pathlib import Path

import pyignite
from pyignite.exceptions import SocketError

from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from tools.servers import Jars, ServerProcess, free_ports
from tools.servers.jars import CHECKOUT, class_path


def test_two_nodes_start_with_the_images_configuration_and_find_each_other(jars: Jars, tmp_path: Path) -> None:
    image = CHECKOUT / "docker" / "ignite"
    ports = free_ports(4)
    clients, discovery = ports[:2], ports[2:]
    command = ["java", f"@{image / 'java.opts'}", "-Xmx512m", "-DIGNITE_LOCAL_HOST=127.0.0.1", "-cp", class_path(jars.ignite, jars.backlog)]
    command += ["org.apache.ignite.startup.cmdline.CommandLineStartup", str(image / "ignite.xml")]
    nodes = []
    try:
        for number in range(2):
            environment = {
                **os.environ,
                "IGNITE_WORK": str(tmp_path / f"work-{number}"),
                "IGNITE_CLIENT_PORT": str(clients[number]),
                "IGNITE_DISCOVERY_PORT": str(discovery[number]),
                "IGNITE_DISCOVERY": ",".join(f"127.0.0.1:{port}" for port in discovery),
                "IGNITE_REGION_MIB": "256",
                "IGNITE_BACKLOG_MIB": "64",
            }
            nodes.append(ServerProcess(f"node {number}", command, tmp_path / f"{number}.log", env=environment, cwd=tmp_path))
        for node in nodes:
            node.await_ready(lambda node=node: "servers=2" in node.output())  # type: ignore[misc]
        for port in clients:
            nodes[0].await_ready(lambda port=port: _answers(port))  # type: ignore[misc]
        assert _captures(f"127.0.0.1:{clients[0]}") == 2
    finally:
        for node in nodes:
            node.kill()


def _captures(address: str) -> int:
    """Nodes that capture the changes of a cache: they have the jar and its region."""
    with Cluster(IgniteEndpoint((address,))) as cluster:
        client = pyignite.Client()
        with client.connect("127.0.0.1", int(address.rpartition(":")[2])):
            client.create_cache("captured")
        return int(BacklogService(cluster.connection()).start("c", {}, ["captured"])["registered"])


def _answers(port: int) -> bool:
    client = pyignite.Client()
    try:
        with client.connect("127.0.0.1", port):
            return client.get_cache_names() == []
    except (OSError, SocketError):
        return False
