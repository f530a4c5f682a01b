"""Servers of the fault tests: a broker with a second listener behind the proxy, an Ignite cluster with small caches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka.admin import AdminClient

from tests.support import QUICK_JVM
from tests.support.kafka_proxy import KafkaProxy
from tools.servers import IgniteCluster, Jars, KafkaBroker, free_ports

CACHE_TEMPLATE = "small-"  # a cache whose name begins with it has PARTITIONS partitions and one backup
PARTITIONS = 32
_TEMPLATE = f"""<bean class="org.apache.ignite.configuration.CacheConfiguration">
 <property name="name" value="{CACHE_TEMPLATE}*"/><property name="backups" value="1"/>
 <property name="atomicityMode" value="%s"/>
 <property name="writeSynchronizationMode" value="FULL_SYNC"/>
 <property name="affinity"><bean class="org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction">
  <property name="partitions" value="{PARTITIONS}"/></bean></property></bean>"""


class Brokers(Protocol):
    """Kafka as tests of a connector need it: :class:`ProxiedBroker`, or a :class:`KafkaCluster`."""

    @property
    def bootstrap(self) -> str: ...
    @property
    def clients(self) -> str: ...
    @property
    def log(self) -> Path: ...
    @property
    def admin(self) -> AdminClient: ...


class ProxiedBroker:
    """One broker: :attr:`bootstrap` for the oracles, :attr:`proxy` for the clients under test.

    :param users: user to password; clients behind the proxy log in by SASL/PLAIN and are subject to ACLs.
    """

    def __init__(self, directory: Path, jars: Jars, users: Mapping[str, str] | None = None) -> None:
        self.proxy = KafkaProxy()
        self._admin: AdminClient | None = None
        direct, self._proxied_port, controller = free_ports(3)
        self._bootstrap = f"127.0.0.1:{direct}"
        settings: dict[str, Any] = {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{self._bootstrap},PROXIED://127.0.0.1:{self._proxied_port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap},PROXIED://{self.proxy.bootstrap}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:{'SASL_' if users else ''}PLAINTEXT",
        }
        if users:
            known = " ".join(f'user_{user}="{password}"' for user, password in users.items())
            settings |= {
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.proxied.plain.sasl.jaas.config": (
                    f"org.apache.kafka.common.security.plain.PlainLoginModule required {known};"
                ),
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "allow.everyone.if.no.acl.found": "true",
                "super.users": "User:ANONYMOUS",
            }
        self._broker = KafkaBroker(directory, jars=jars, port=direct, settings=settings, java_options=QUICK_JVM)

    @property
    def bootstrap(self) -> str:
        return self._bootstrap

    @property
    def clients(self) -> str:
        """Address for the clients under test."""
        return self.proxy.bootstrap

    @property
    def log(self) -> Path:
        return self._broker.log

    def start(self) -> ProxiedBroker:
        """Start, again on the same ports and data, and wait until it answers."""
        self._broker.start()
        self.proxy.forward_to(self._proxied_port)
        return self

    @property
    def admin(self) -> AdminClient:
        """A shared admin client: a client must live until its answers have arrived."""
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        return self._admin

    def kill(self) -> None:
        """Kill the broker (SIGKILL)."""
        self._broker.kill()

    def stop(self) -> None:
        self.proxy.close()
        self._broker.stop()

    def __enter__(self) -> ProxiedBroker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def small_caches(
    directory: Path,
    jars: Jars,
    nodes: int = 1,
    *,
    atomicity: str = "ATOMIC",
    data_region_mib: int = 128,
    properties: Mapping[str, str] | None = None,
    **options: Any,
) -> IgniteCluster:
    """A cluster with a template for caches of few partitions; the thin protocol cannot set a partition count."""
    configuration = {"cacheConfiguration": _TEMPLATE % atomicity, **(properties or {})}
    options = {"data_region_mib": data_region_mib, "properties": tuple(configuration.items()), "java_options": QUICK_JVM, **options}
    return IgniteCluster(directory, jars=jars, nodes=nodes, **options)


def fill(ignite: IgniteCluster, cache: str, entries: Mapping[int, Any]) -> None:
    """Get or create the cache and put the entries; keys are Java longs."""
    with ignite.client() as client:
        made = client.get_or_create_cache(cache)
        if entries:
            made.put_all(dict(entries))


def destroy(ignite: IgniteCluster, cache: str) -> None:
    with ignite.client() as client:
        client.get_cache(cache).destroy()
