"""Options of the Spark data sources, read strictly: Spark lower-cases their names and gives every value as text."""

from __future__ import annotations

from collections.abc import Mapping

from ..client_properties import PRODUCER
from ..errors import SettingsError
from ..kafka_names import librdkafka_settings
from ..secrets import is_secret
from ..secrets_file import SecretsFile
from ..thin.cluster import Cluster
from ..thin.connection import IgniteCredentials, IgniteEndpoint, TlsSettings


def refuse_secrets(options: Mapping[str, str]) -> None:
    """
    :raises SettingsError: an option would put a secret into Spark's plans, UI and event log.
    """
    for name in options:
        if name != "secrets_file" and is_secret(name.lower().removeprefix("kafka.")):
            raise SettingsError(
                f"option {name!r} would show a secret in Spark's UI and event log",
                "Put it into a file (ignite_kafka.secrets) and name that in the option secrets_file.",
                setting=name,
            )


def required(options: Mapping[str, str], name: str, source: str) -> str:
    value = options.get(name)
    if not value:
        raise SettingsError(f"option {name!r} of {source} is missing", f'Give it with .option("{name}", …).', setting=name)
    return value


def bounded_int(options: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = options.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise SettingsError(f"option {name!r} is {text!r}", f"Give a whole number from {least} to {most}.", setting=name)
    return value


def boolean(options: Mapping[str, str], name: str, default: bool) -> bool:
    text = options.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise SettingsError(f"option {name!r} is {text!r}", "Give true or false.", setting=name)
    return text == "true"


def one_of(options: Mapping[str, str], name: str, default: str, *others: str) -> str:
    value = options.get(name, default)
    if value not in (default, *others):
        raise SettingsError(f"option {name!r} is {value!r}", f"Give {' or '.join((default, *others))}.", setting=name)
    return value


def kafka_options(options: Mapping[str, str], source: str, known: frozenset[str] = PRODUCER) -> dict[str, str]:
    """librdkafka's settings among the options: ``bootstrap.servers`` and all that begin with ``kafka.``.

    :param known: names of the kind of client: PRODUCER or CONSUMER.
    :raises SettingsError: one is no such setting, or may not be an option; no value is shown.
    """
    given = {name.removeprefix("kafka."): value for name, value in options.items() if name.startswith("kafka.")}
    try:
        settings = librdkafka_settings(given, known)
    except ValueError as error:
        raise SettingsError(f"an option kafka.… of {source} is wrong: {error}", "Correct it, or leave it out.") from error
    return {**settings, "bootstrap.servers": required(options, "bootstrap.servers", source)}


def ignite_endpoint(options: Mapping[str, str]) -> IgniteEndpoint:
    """Where the nodes are, and how they are spoken to: ``addresses`` and the options of TLS."""
    tls = TlsSettings(
        boolean(options, "tls", False),
        options.get("tls_ca_file"),
        options.get("tls_cert_file"),
        options.get("tls_key_file"),
        boolean(options, "tls_verify", True),
        boolean(options, "tls_check_hostname", True),
    )
    return IgniteEndpoint(tuple(address.strip() for address in options.get("addresses", "127.0.0.1:10800").split(",")), tls)


def connected(endpoint: IgniteEndpoint, secrets_file: str | None) -> Cluster:
    """A cluster, with the credentials of the file if there is one."""
    return Cluster(endpoint, SecretsFile(secrets_file).load().ignite if secrets_file else IgniteCredentials())
