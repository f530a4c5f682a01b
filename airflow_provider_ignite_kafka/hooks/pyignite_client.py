"""pyignite clients of nodes that the library's own connection has verified."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, split_address


@contextmanager
def pyignite_client(address: str, endpoint: IgniteEndpoint, credentials: IgniteCredentials) -> Iterator[Any]:
    """A connected :class:`pyignite.Client` of one node.

    pyignite verifies the certificate of a node but not its host name, so give it only an address to which a
    :class:`~ignite_kafka.ignite.connection.ThinConnection`, which verifies both, has just connected. pyignite connects over IPv4 only.

    :param address: `host:port` of the node.
    :raises Exception: any error of pyignite; they have no common base class.
    """
    import pyignite  # loaded by the web server and by tasks that use it, not when a Dag is parsed

    client = pyignite.Client(
        partition_aware=False,
        timeout=endpoint.request_timeout_ms / 1000,
        handshake_timeout=endpoint.connect_timeout_ms / 1000,
        username=credentials.username,
        password=credentials.password,
        **tls_arguments(endpoint, credentials),
    )
    try:
        with client.connect([split_address(address)]):
            yield client
    finally:
        client.close()


def tls_arguments(endpoint: IgniteEndpoint, credentials: IgniteCredentials) -> dict[str, Any]:
    """TLS arguments of a pyignite client, as the endpoint has them."""
    tls = endpoint.tls
    if not tls.enabled:
        return {"use_ssl": False}
    return {
        "use_ssl": True,
        "ssl_version": ssl.PROTOCOL_TLS,  # pyignite's default is TLS 1.2 alone
        "ssl_cert_reqs": ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE,
        "ssl_ca_certfile": tls.ca_file or ssl.get_default_verify_paths().cafile,
        "ssl_certfile": tls.cert_file,
        "ssl_keyfile": tls.key_file,
        "ssl_keyfile_password": credentials.key_password or "",  # without one OpenSSL would ask at a terminal
    }
