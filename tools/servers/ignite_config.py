"""Spring configuration of one Ignite node on loopback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from .certificates import Certificates

_CONFIGURATION = "org.apache.ignite.configuration"
BACKLOG_REGION = "kafka-connect"  # the backlog service's default data region


@dataclass(frozen=True)
class NodePorts:
    """Ports of one node; all stay the same when it is started again."""

    client: int
    discovery: int
    communication: int


@dataclass(frozen=True)
class IgniteOptions:
    """Options of the nodes of a cluster.

    :param tls: certificates; clients must connect by TLS.
    :param client_certificate: with TLS, clients must have a certificate too.
    :param authentication: require user and password (first user: ignite, ignite); implies ``persistence``.
    :param data_region_mib: largest size of the default data region.
    :param backlog_mib: largest size of the backlog service's data region; 0: neither region nor service.
    :param partitions: of each cache; None: Ignite's default, 1,024.
    :param regions: additional data regions, name and largest size in MiB; persistent like the default one.
    :param class_path: additional jars or class folders on the nodes' class path.
    :param java_options: additional Java options, after the defaults.
    :param properties: additional properties of IgniteConfiguration, name to Spring XML, such as ``<bean class="…"/>``.
    """

    tls: Certificates | None = None
    client_certificate: bool = False
    authentication: bool = False
    persistence: bool = False
    data_region_mib: int = 512
    heap_mib: int = 512
    backlog_mib: int = 128
    partitions: int | None = None
    regions: tuple[tuple[str, int], ...] = ()
    class_path: tuple[Path, ...] = ()
    java_options: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def persistent(self) -> bool:
        """Whether data regions are persistent."""
        return self.persistence or self.authentication


def node_xml(
    name: str, ports: NodePorts, discovery_ports: Sequence[int], directory: Path, options: IgniteOptions
) -> str:
    """Return the Spring XML file that CommandLineStartup reads."""
    properties = {
        "igniteInstanceName": name,
        "consistentId": name,
        "localHost": "127.0.0.1",
        "workDirectory": str(directory),
        "authenticationEnabled": _flag(options.authentication),
        "metricsLogFrequency": "0",
        "gridLogger": _bean("org.apache.ignite.logger.java.JavaLogger", {}),
        "connectorConfiguration": "<null/>",
        "clientConnectorConfiguration": _client_connector(ports.client, options),
        "communicationSpi": _bean(
            "org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi", {"localPort": ports.communication}
        ),
        "discoverySpi": _discovery(ports.discovery, discovery_ports),
        "dataStorageConfiguration": _storage(options),
        **_cache_template(options),
        **dict(options.properties),
    }
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<beans xmlns="http://www.springframework.org/schema/beans" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        ' xsi:schemaLocation="http://www.springframework.org/schema/beans http://www.springframework.org/schema/beans/spring-beans.xsd">\n'
        f"{_bean(f'{_CONFIGURATION}.IgniteConfiguration', properties)}\n</beans>\n"
    )


def _client_connector(port: int, options: IgniteOptions) -> str:
    properties: dict[str, object] = {"port": port, "portRange": 0, "threadPoolSize": 4}
    if options.tls is not None:
        stores = {
            "keyStoreFilePath": options.tls.server_store,
            "keyStorePassword": options.tls.password,
            "keyStoreType": "PKCS12",
            "trustStoreFilePath": options.tls.trust_store,
            "trustStorePassword": options.tls.password,
            "trustStoreType": "PKCS12",
        }
        properties |= {
            "sslEnabled": "true",
            "sslClientAuth": _flag(options.client_certificate),
            "useIgniteSslContextFactory": "false",
            "sslContextFactory": _bean("org.apache.ignite.ssl.SslContextFactory", stores),
        }
    return _bean(f"{_CONFIGURATION}.ClientConnectorConfiguration", properties)


def _discovery(port: int, all_ports: Sequence[int]) -> str:
    addresses = "".join(f"<value>127.0.0.1:{other}</value>" for other in all_ports)
    finder = _bean(
        "org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder",
        {"addresses": f"<list>{addresses}</list>"},
    )
    return _bean(
        "org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi",
        {"localPort": port, "localPortRange": 0, "ipFinder": finder},
    )


def _storage(options: IgniteOptions) -> str:
    backlog = ((BACKLOG_REGION, options.backlog_mib),) if options.backlog_mib else ()
    regions = "".join(_region(name, mib, options) for name, mib in (*backlog, *options.regions))
    storage = {
        "defaultDataRegionConfiguration": _region("default", options.data_region_mib, options),
        "dataRegionConfigurations": f"<list>{regions}</list>",
        "walMode": "LOG_ONLY",
        "walSegmentSize": 8 << 20,
        "walSegments": 4,
    }
    return _bean(f"{_CONFIGURATION}.DataStorageConfiguration", storage)


def _cache_template(options: IgniteOptions) -> dict[str, object]:
    if options.partitions is None:
        return {}
    affinity = _bean(
        "org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction", {"partitions": options.partitions}
    )
    # a name that ends in * makes a template, which caches that clients and SQL create follow
    template = _bean(f"{_CONFIGURATION}.CacheConfiguration", {"name": "*", "affinity": affinity})
    return {"cacheConfiguration": f"<list>{template}</list>"}


def _region(name: str, mib: int, options: IgniteOptions) -> str:
    region = {
        "name": name,
        "initialSize": 32 << 20,
        "maxSize": mib << 20,
        "persistenceEnabled": _flag(options.persistent),
    }
    if options.persistent:
        region["checkpointPageBufferSize"] = 32 << 20
    return _bean(f"{_CONFIGURATION}.DataRegionConfiguration", region)


def _bean(class_name: str, properties: Mapping[str, object]) -> str:
    return f"<bean class={quoteattr(class_name)}>{''.join(_property(name, value) for name, value in properties.items())}</bean>"


def _property(name: str, value: object) -> str:
    text = str(value)
    if text.startswith("<"):
        return f"<property name={quoteattr(name)}>{text}</property>"
    return f"<property name={quoteattr(name)} value={quoteattr(text)}/>"


def _flag(value: bool) -> str:
    return str(value).lower()
