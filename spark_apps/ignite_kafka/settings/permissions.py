"""Permissions that only an Airflow administrator, or the user of a command, can grant.

They allow actions that connections, secrets files and settings alone may not do.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Permissions:
    """Permissions of a process, for actions that settings, connections and secrets files must not allow themselves.

    :param kafka_options: allowed Kafka properties that act on the host, each ``name=value``; see
        :mod:`.client_properties`.
    :param insecure_connections: whether credentials may be sent over connections that are not protected; see
        :mod:`.transport_security`.
    """

    kafka_options: tuple[str, ...] = ()
    insecure_connections: bool = False


NONE = Permissions()
