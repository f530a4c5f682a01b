"""Checks, from this machine, of a connector's clusters and registries: each server, login and version."""

from __future__ import annotations

import uuid
from dataclasses import replace
from urllib.parse import urlsplit

from confluent_kafka import KafkaException

from ..errors import IgniteKafkaError, IgniteUnreachable
from ..ignite.cluster import Cluster
from ..ignite.connection import ThinConnection
from ..ignite.endpoint import IgniteEndpoint, split_address
from ..ignite.protocol import ThinError
from ..ignite.sql_views import node_versions
from ..kafka.bounded_calls import CallStuck, bounded, stuck
from ..kafka.clients import KafkaClients, translate
from ..kafka.topics import Topics
from ..registry.client import registry
from ..registry.registries import registry_configs
from ..runtime.clients import ignite_cluster
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.source import SourceSettings
from ..source.stream.capture import owner_of
from ..source.stream.query_capture import capture_of
from .findings import FAILED, OK, WARNING, Diagnosis, Server
from .reachability import CONNECT_S, find_problem


def check_ignite(settings: ConnectorSettings, secrets: Secrets, diagnosis: Diagnosis) -> None:
    """Connect and log in to each address of the settings, and to each node of the cluster."""
    with diagnosis.failures_of("Ignite"), ignite_cluster(settings, secrets) as cluster:
        answered = _check_addresses(settings.ignite_endpoint, secrets, diagnosis)
        if not cluster.active():
            diagnosis.add("Ignite", FAILED, "the cluster is not active", "Activate it: control.sh --set-state ACTIVE.")
            return
        try:
            nodes = cluster.endpoints()
        except ThinError as error:
            raise IgniteKafkaError(f"Ignite does not name its nodes: {error.message}") from error
        for node, addresses in sorted(nodes.items()):
            _check_node(cluster, node, addresses, diagnosis)
        if not nodes:
            diagnosis.add(
                "Ignite nodes", WARNING, "they are too old to name each other", "List every node in ignite_addresses."
            )
            diagnosis.servers += [Server(f"Ignite {name}", (_with_port(name),)) for name in answered]
        _check_versions(cluster, diagnosis)
        diagnosis.add("Ignite caches", OK, f"{len(cluster.cache_names())} are visible")


def check_capture(settings: ConnectorSettings, secrets: Secrets, clients: KafkaClients, diagnosis: Diagnosis) -> None:
    """Check that the nodes can capture changes for this connector, as a stream does at its start."""
    if not isinstance(settings, SourceSettings) or not settings.streams:
        return
    with diagnosis.failures_of("Changes"), ignite_cluster(settings, secrets) as cluster:
        capture_of(settings, cluster, owner_of(Topics(clients), settings.internal_topic_prefix)).check()
        diagnosis.add("Changes", OK, f"the nodes can follow them for failover_policy {settings.failover_policy}")


def _check_addresses(endpoint: IgniteEndpoint, secrets: Secrets, diagnosis: Diagnosis) -> list[str]:
    """Check each Ignite address of the settings; return the addresses that answered."""
    answered = []
    errors: dict[str, IgniteKafkaError] = {}
    quick = replace(endpoint, connect_timeout_ms=min(endpoint.connect_timeout_ms, int(CONNECT_S * 1000)))
    for address in endpoint.addresses:
        try:
            with ThinConnection(quick, secrets.ignite, address) as connection:
                protocol = ".".join(map(str, connection.version))
            diagnosis.add(f"Ignite address {address}", OK, f"accepts the login; thin protocol {protocol}")
            answered.append(address)
        except IgniteKafkaError as error:
            errors[address] = error
    for address, cause in errors.items():
        unreachable = isinstance(cause, IgniteUnreachable) and answered  # a run uses the other addresses
        diagnosis.add(f"Ignite address {address}", WARNING if unreachable else FAILED, cause.what, cause.advice)
    return answered


def _check_node(cluster: Cluster, node: uuid.UUID, addresses: tuple[str, ...], diagnosis: Diagnosis) -> None:
    subject = f"Ignite node {str(node)[:8]}"
    # a node behind address translation is reached through the addresses in the settings
    diagnosis.servers.append(
        Server(
            subject, tuple(dict.fromkeys(map(_with_port, (*cluster.reachable(addresses), *cluster.endpoint.addresses))))
        )
    )
    connection = cluster.connection(node)
    if connection.node_id == node:
        diagnosis.add(subject, OK, f"answers at {connection.address}")
        return
    tried = cluster.reachable(addresses)
    mapped = f", which ignite_address_map makes {', '.join(tried)}" if tried != addresses else ""
    diagnosis.add(
        subject,
        WARNING,
        f"announces {', '.join(addresses) or 'no address'}{mapped}, and none answers here: its partitions are read by "
        "other nodes, more slowly",
        "Open the port of its client connector, or name in ignite_address_map the address at which this machine "
        "reaches it.",
    )


def _check_versions(cluster: Cluster, diagnosis: Diagnosis) -> None:
    try:
        versions = node_versions(cluster)
    except ThinError as error:
        remedy = "The nodes need ignite-indexing, and the user the right to read SYS.NODES."
        diagnosis.add("Ignite version", WARNING, f"unknown, without it a copy works: {error.message}", remedy)
        return
    state = OK if len(versions) == 1 else WARNING
    diagnosis.add(
        "Ignite version", state, ", ".join(versions), "" if state == OK else "All nodes must have one version."
    )


def _with_port(address: str) -> str:
    host, port = split_address(address)
    return f"{host}:{port}"


def check_kafka(clients: KafkaClients, diagnosis: Diagnosis) -> None:
    """Log in to Kafka, and connect to each broker of the cluster."""
    with diagnosis.failures_of("Kafka"):
        clients.check()
        admin, memory = clients.admin()
        try:
            metadata = bounded(lambda: admin.list_topics(timeout=CONNECT_S * 2), CONNECT_S * 2)
        except CallStuck as cause:
            raise stuck("reading the list of brokers", cause, bootstrap_servers=clients.bootstrap) from cause
        except KafkaException as cause:
            raise translate(
                cause.args[0], "reading the list of brokers", memory, bootstrap_servers=clients.bootstrap
            ) from cause
        diagnosis.add(
            "Kafka login", OK, f"accepted; cluster {metadata.cluster_id}, {len(metadata.topics)} topics are visible"
        )
        for broker in sorted(metadata.brokers.values(), key=lambda broker: broker.id):
            address = f"{broker.host}:{broker.port}"
            server = Server(f"Kafka broker {broker.id}", (address,))
            diagnosis.servers.append(server)
            problem = find_problem(server.addresses)
            remedy = "Check the broker, advertised.listeners and the network between this machine and it."
            diagnosis.add(
                server.subject, FAILED if problem else OK, problem or f"answers at {address}", remedy if problem else ""
            )


def check_registries(settings: ConnectorSettings, secrets: Secrets, diagnosis: Diagnosis) -> None:
    """Log in to the schema registries of the connector's converters."""
    for config in registry_configs(settings, secrets):
        subject = f"Registry {', '.join(config.urls)}"
        with diagnosis.failures_of(subject):
            registry(replace(config, retry_s=0.0)).check()
            diagnosis.add(subject, OK, "answers and accepts the login")
        diagnosis.servers.append(Server(subject, tuple(map(_address_of, config.urls))))


def _address_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
