"""Check of a connector's settings while its Dag file is parsed, without looking up connections or reading files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files.load import LoadedSettings
from ignite_kafka.settings.findings import Findings

_TEMPLATE_MARKS = ("{{", "{%", "{#")
_OF_CONNECTIONS = ("ignite_address", "ignite_tls_", "bootstrap_servers")


def check_settings(
    settings: object,
    direction: type[ConnectorSettings],
    arguments: Mapping[str, Any],
    *,
    dag: str,
    task: str,
    complete: bool = True,
) -> None:
    """Check an operator's settings while the Dag file is parsed, leaving out values known only at run time.

    Names are always checked, values unless they are templates or come from other tasks, and settings that depend on one
    another if every value is known. Addresses and TLS, which the connections decide, are not compared with other
    settings. The path of a settings file is not checked, because the file is on the worker.

    :param arguments: arguments of the operator that override settings of the same name; None: not given.
    :param complete: whether these are all settings of the task; False: settings are not compared with each other.
    :raises SettingsError: a setting is wrong, or unknown (the error suggests the closest name); the error names Dag and
        task.
    :raises NotAvailableYet: a value of a feature that this version does not have.
    """
    if not isinstance(settings, Mapping):
        return
    try:
        _check(
            {**settings, **{name: value for name, value in arguments.items() if value is not None}},
            direction,
            complete=complete,
        )
    except IgniteKafkaError as error:
        error.where.update(dag=dag, task=task)
        raise


def is_mapped(operator: object) -> bool:
    """Return whether an operator comes from a mapped task, to be checked at run time instead."""
    return bool(getattr(operator, "_BaseOperator__from_mapped", False))


def is_plain(value: object) -> bool:
    """Return whether a value is final when the Dag is parsed: JSON without a Jinja template."""
    if isinstance(value, str):
        return not any(mark in value for mark in _TEMPLATE_MARKS)
    if isinstance(value, Mapping):
        return all(map(is_plain, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, int, float))


def is_of_connections(name: str) -> bool:
    """Return whether a setting is an address or a TLS setting, because connections override these."""
    return name.startswith(_OF_CONNECTIONS)


def _check(settings: Mapping[str, Any], direction: type[ConnectorSettings], *, complete: bool) -> None:
    if wrong := [name for name in settings if not isinstance(name, str)]:
        raise SettingsError(f"the name of a setting is {wrong[0]!r}", "Names are texts")
    origin = dict.fromkeys(settings, "operator")
    plain = {name: value for name, value in settings.items() if is_plain(value)}
    findings = Findings()
    for name in settings.keys() - plain.keys():
        with findings.check():
            direction.refuse_unknown(name, origin[name])
    direction.parsed_values(plain, origin, findings)
    with findings.check():
        direction.refuse_empty(plain, origin)
    findings.raise_all()
    if complete and len(plain) == len(settings):
        compared = {name: value for name, value in plain.items() if not is_of_connections(name)}
        LoadedSettings({"name": "default", **compared}, origin, direction=direction).settings()
