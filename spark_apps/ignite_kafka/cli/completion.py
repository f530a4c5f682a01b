"""Completion of connectors' names in a shell."""

from __future__ import annotations

import logging
import threading

import click

from .arguments import CommandArguments

MOST_S = 3.0
"""Longest time that a shell waits for names, in seconds."""


def complete_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of connectors with a beginning, from the brokers of ``--kafka`` or ``--settings``.

    Without both, after :data:`MOST_S` or after a failure there are none, because a completion has no place for errors.
    """
    if not ctx.params.get("kafka") and not ctx.params.get("file"):
        return []
    names: list[str] = []
    # a daemon: the process of the completion ends although a broker has not answered
    reader = threading.Thread(target=_read_names, args=(dict(ctx.params), names), daemon=True)
    logging.disable(logging.CRITICAL)
    try:
        reader.start()
        reader.join(MOST_S)
    finally:
        logging.disable(logging.NOTSET)
    return [name for name in names if name.startswith(incomplete)]


def _read_names(values: dict[str, object], names: list[str]) -> None:
    from ..admin.target_state import list_connectors
    from ..errors import IgniteKafkaError
    from ..kafka.topics import Topics
    from ..runtime.clients import kafka_clients
    from .command_settings import secrets_of, settings_of_cluster

    lists = {name: values.get(name) or () for name in ("allow_kafka_option", "allow_config_provider")}
    insecure = bool(values.get("allow_insecure_connections"))
    arguments = CommandArguments(**{**values, **lists, "name": None, "allow_insecure_connections": insecure})
    try:
        settings = settings_of_cluster(arguments)
        clients = kafka_clients(settings, secrets_of(arguments))
        names += list_connectors(clients, Topics(clients), settings.internal_topic_prefix)
    except IgniteKafkaError:
        return
