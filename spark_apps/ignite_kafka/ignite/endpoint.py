"""Settings of connections to an Ignite cluster: addresses, limits, TLS files and credentials."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

DEFAULT_PORT = 10800
MAX_FRAME_BYTES = 512 << 20
_MIN_CONNECT_MS = 1_000


@dataclass(frozen=True)
class TlsSettings:
    """TLS settings of a connection; certificate and host name are verified unless switched off.

    Files are PEM, or Java's stores: JKS or PKCS#12.
    """

    enabled: bool = False
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify: bool = True
    check_hostname: bool = True


@dataclass(frozen=True)
class IgniteEndpoint:
    """Addresses, time-outs and limits for connections to an Ignite cluster, without secrets.

    :param addresses: each `host:port`, `host`, `[ipv6]:port`, `[ipv6]` or `ipv6`.
    :param retry_timeout_ms: longest wait for the reply to a put that its node may still execute (`cache_writer.py`).
    :param max_frame_bytes: longest reply that is accepted.
    :param address_map: pairs ``announced=reachable`` for addresses that nodes announce (`address_map.py`).
    """

    addresses: tuple[str, ...] = ("127.0.0.1:10800",)
    tls: TlsSettings = field(default_factory=TlsSettings)
    connect_timeout_ms: int = 5_000
    request_timeout_ms: int = 60_000
    retry_timeout_ms: int = 300_000
    max_frame_bytes: int = MAX_FRAME_BYTES
    address_map: tuple[str, ...] = ()

    def bounded(self, timeout_s: float) -> IgniteEndpoint:
        """Shorten the time-outs, so that trying all addresses takes about `timeout_s` seconds at most."""
        bound = max(1, int(timeout_s * 1000))
        connect = min(self.connect_timeout_ms, max(_MIN_CONNECT_MS, bound // len(self.addresses)))
        return replace(self, connect_timeout_ms=connect, request_timeout_ms=min(self.request_timeout_ms, bound))


@dataclass(frozen=True, repr=False)
class IgniteCredentials:
    """User, passwords and backlog secret for an Ignite cluster; the repr masks everything but the user.

    :param key_password: password of the private key; `ca_password` of a trust store, `cert_password` of a key store.
    :param ca_pem: trusted certificates as text, instead of a file.
    :param cert_pem: the client's certificates and private key as text, instead of files; the key may be encrypted by
        ``key_password``.
    """

    username: str | None = None
    password: str | None = None
    key_password: str | None = None
    backlog_secret: str | None = None
    ca_password: str | None = None
    cert_password: str | None = None
    ca_pem: str | None = None
    cert_pem: str | None = None

    def __repr__(self) -> str:
        shown = {name: "***" if value is not None else None for name, value in vars(self).items() if name != "username"}
        return (
            f"IgniteCredentials(username={self.username!r}, "
            + ", ".join(f"{name}={value}" for name, value in shown.items())
            + ")"
        )


def split_address(address: str) -> tuple[str, int]:
    """Split `host:port`, `host`, `[ipv6]:port`, `[ipv6]` or bare `ipv6` into host and port.

    :raises ValueError: there is no host, or the port is not a number from 1 to 65535.
    """
    host = address
    port = ""
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        port = rest.removeprefix(":")
    elif address.count(":") == 1:
        host, _, port = address.partition(":")
    if not host or (port and not port.isdecimal()) or (port and not 0 < int(port) < 65536):
        raise ValueError(f"'{address}' is not host:port")
    return host, int(port) if port else DEFAULT_PORT
