"""Checks of triggers' arguments, and errors as events of triggers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.triggers.base import TriggerEvent

from airflow_provider_ignite_kafka.cache_watch.poll import FATAL
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.suggestions import did_you_mean


def refuse_unknown(trigger: str, unknown: Iterable[str], arguments: Iterable[str]) -> None:
    """Refuse misspelt arguments of a trigger when the Dag is parsed.

    A triggerer ignores arguments of a newer version.

    :raises SettingsError: an argument is unknown; the error suggests the closest argument.
    """
    names = sorted(unknown)
    if names:
        remedy = did_you_mean(names[0], arguments) or f"Known are {', '.join(arguments)}."
        raise SettingsError(f"{trigger} has no argument {', '.join(names)}", remedy)


def seconds(trigger: str, name: str, value: Any, *, positive: bool = False) -> float:
    """Check that a trigger's argument is a number of seconds, and return it unchanged.

    :raises SettingsError: the argument is no number, is negative or, if `positive`, is 0.
    """
    try:
        in_order = (value > 0 if positive else value >= 0) and value < float("inf")
    except TypeError:
        in_order = False
    if not in_order:
        raise SettingsError(
            f"{name} of {trigger} is {value!r}", f"Give seconds, {'more than 0' if positive else '0 or more'}."
        )
    return value  # type: ignore[no-any-return]  # unchanged: Airflow compares stored arguments


def error_event(error: Exception) -> TriggerEvent:
    """Make the event of a trigger that reports an error to its deferred task."""
    return TriggerEvent({"error": f"{type(error).__name__}: {error}", "final": isinstance(error, FATAL)})


def event_to_exception(event: Mapping[str, Any]) -> AirflowException | None:
    """Convert an event of :func:`error_event` back to an exception; None for any other event."""
    if "error" not in event:
        return None
    return (AirflowFailException if event.get("final") else AirflowException)(event["error"])
