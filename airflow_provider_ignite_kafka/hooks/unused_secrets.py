"""Event about secrets in Airflow connections that have no effect, because a secrets file replaces them."""

from __future__ import annotations

from pathlib import Path

from ignite_kafka.events import CONFIG_CHANGED, emit
from ignite_kafka.settings.secrets import Secrets, to_dict


def report_unused_secrets(
    of_connection: Secrets, used: Secrets, secrets_file: str | Path, user: str = "the app"
) -> None:
    """Emit event 15001 with the names of secrets in connections that a secrets file replaces.

    :param of_connection: secrets of the connections.
    :param used: secrets of the secrets file.
    :param user: reader of the secrets, for the message.
    """
    held = to_dict(used)
    replaced = to_dict(of_connection)
    unused = [
        f"{name} of the {side.capitalize()} connection"
        for side in ("ignite", "kafka", "registry")
        for name, value in replaced[side].items()
        if value and value != held[side].get(name)
    ]
    if unused:
        reason = f"{', '.join(unused)}: not used by {user}, which reads its secrets only from {secrets_file}"
        emit(CONFIG_CHANGED, reason=reason, setting="secrets_file", set_in="operator")
