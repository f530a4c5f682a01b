"""Merging of a Kafka Connect worker's file into a connector's file, whose defaults it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import IgniteKafkaError
from ...settings import key_table
from .config_providers import DECLARED, is_declaration

SIDES = ("key", "value", "header")
_CLIENTS = ("producer.", "consumer.")
_SECURITY = ("security.protocol", "ssl.", "sasl.")
_OF_CONNECTORS = ("bootstrap.servers", "topic.creation.enable")


@dataclass(frozen=True)
class GivenFile:
    """A worker's or connector's file of Kafka Connect, with unchanged keys and values.

    :param file: name of the file, for messages; with the connector's name, if the file has several.
    :param values: values by key.
    :param origin: place of each key.
    :param ignored: further keys in the file, with the reason.
    :param errors: SettingsError of each key in a wrong form.
    :param cluster: name of this `KafkaConnect`, or of the connector's `KafkaConnect`; None: the file is no resource of
        Strimzi.
    """

    file: str
    values: Mapping[str, Any]
    origin: Mapping[str, str]
    ignored: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[IgniteKafkaError, ...] = ()
    is_worker: bool = False
    cluster: str | None = None


@dataclass
class Merged:
    """A connector's keys and values, after the worker's defaults were added.

    :param became: fate of each key that the connector does not get, by (file, key).
    """

    values: dict[str, Any]
    origin: dict[str, str]
    became: dict[tuple[str, str], str] = field(default_factory=dict)
    file_of: dict[str, str] = field(default_factory=dict)


def merge_worker_file(worker: GivenFile | None, connector: GivenFile) -> Merged:
    """Add the worker's defaults to a connector's keys; the connector's own values take precedence."""
    merged = Merged(
        dict(connector.values), dict(connector.origin), file_of=dict.fromkeys(connector.values, connector.file)
    )
    if worker is None:
        return merged
    own = {side for side in SIDES if f"{side}.converter" in connector.values}
    for side in SIDES:
        for name in [name for name in connector.values if name.startswith(f"{side}.converter.") and side not in own]:
            if f"{side}.converter" in worker.values:
                del merged.values[name]
                merged.became[connector.file, name] = (
                    f"Kafka Connect reads it only beside the connector's own {side}.converter"
                )
    for name, value in worker.values.items():
        reason = _reason_to_leave(name, own)
        if reason is None and name in merged.values and not is_declaration(name):
            reason = f"{connector.file} has its own"
        if reason is None and is_declaration(name) and DECLARED in connector.values:
            reason = "the connector's file declares its own config providers"
        if reason is not None:
            merged.became[worker.file, name] = reason
        else:
            merged.values[name], merged.origin[name] = value, worker.origin[name]
            merged.file_of[name] = worker.file
    return merged


def _reason_to_leave(name: str, own: set[str]) -> str | None:
    """Return why a key of the worker's file does not apply to the connector; None if the key applies."""
    reason = next((reason for ending, reason in key_table.IGNORED_ENDINGS.items() if name.endswith(ending)), None)
    reason = reason or key_table.WORKER_IGNORED.get(name)
    if reason is not None:
        return reason
    side = next((side for side in SIDES if name == f"{side}.converter" or name.startswith(f"{side}.converter.")), None)
    if side is not None:
        return f"the connector has its own {side}.converter" if side in own else None
    if is_declaration(name) or name in _OF_CONNECTORS or name.startswith((*_CLIENTS, *_SECURITY)):
        return None
    beginnings = key_table.WORKER_IGNORED_BEGINNINGS.items()
    reason = next((reason for beginning, reason in beginnings if name.startswith(beginning)), None)
    return reason or "a worker of Kafka Connect has no such setting"
