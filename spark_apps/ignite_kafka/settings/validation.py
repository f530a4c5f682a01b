"""Rules between the settings that both directions have, and the warnings of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import NotAvailableYet
from ..events import CONFIG_CHANGED, TLS_NOT_VERIFIED, Event
from ..ignite.endpoint import split_address
from . import java_patterns
from .findings import Findings

if TYPE_CHECKING:
    from .connector import ConnectorSettings

STREAM = "it is used only when run_mode is continuous or failover_policy is BACKLOG"
CONTINUOUS = "it is used only when run_mode is continuous"
"""Why a setting of streams has no effect on a run that ends by itself."""
_TLS_FILES = ("ignite_tls_ca_file", "ignite_tls_cert_file", "ignite_tls_key_file")


def check(settings: ConnectorSettings, found: Findings) -> None:
    """Check converters, addresses, TLS files and the dead-letter topic; errors are added to ``found``."""
    with found.check("key_converter", "value_converter"):
        _check_converters(settings)
    with found.check("ignite_addresses"):
        _check_addresses(settings)
    for name in _TLS_FILES:
        with found.check(name, "ignite_tls_enabled"):
            if getattr(settings, name) and not settings.ignite_tls_enabled:
                raise settings.wrong(name, "it has no effect without TLS", "Set ignite_tls_enabled to true, or leave it out")
    with found.check(*_TLS_FILES):
        if settings.ignite_tls_key_file and not settings.ignite_tls_cert_file:
            raise settings.wrong("ignite_tls_key_file", "it is a key without a certificate", "Set ignite_tls_cert_file too")
    with found.check("dead_letter_topic", "error_handling_policy"):
        if (settings.error_handling_policy == "DEAD_LETTER") != bool(settings.dead_letter_topic):
            reason = f"error_handling_policy is {settings.error_handling_policy}"
            raise settings.wrong("dead_letter_topic", reason, "Set both: policy DEAD_LETTER and the topic, or none of them")


def warnings(settings: ConnectorSettings) -> list[tuple[Event, dict[str, Any]]]:
    """Events, with their fields, for settings without effect and for TLS that does not verify the other side."""
    defaults = settings.defaults()
    found: list[tuple[Event, dict[str, Any]]] = [
        (CONFIG_CHANGED, {"reason": f"{name} has no effect: {reason}", "setting": name, "set_in": settings.origin.get(name)})
        for name, setting in settings.known().items()
        if (reason := setting.no_effect_because)
        and getattr(settings, name) != defaults[name]
        and not (reason in (STREAM, CONTINUOUS) and settings.streams)
    ]
    if settings.ignite_tls_enabled and not settings.ignite_tls_verify:
        found.append((TLS_NOT_VERIFIED, {"reason": "ignite_tls_verify is false", "setting": "ignite_tls_verify"}))
    return found


def check_pattern(settings: ConnectorSettings, name: str, pattern: str) -> None:
    """Check one regular expression of a setting.

    :raises SettingsError: it is no regular expression.
    """
    try:
        java_patterns.check_pattern(pattern)
    except ValueError as error:
        raise settings.wrong(name, f"it holds no regular expression: {error}", java_patterns.pattern_remedy(pattern)) from error


def _check_converters(settings: ConnectorSettings) -> None:
    if settings.key_converter != settings.value_converter:
        what = f"key_converter {settings.key_converter} with value_converter {settings.value_converter} is not available yet"
        where = settings.origin.get("key_converter") or settings.origin.get("value_converter")
        raise NotAvailableYet(what, "Set both to the same converter", setting="key_converter", set_in=where)


def _check_addresses(settings: ConnectorSettings) -> None:
    if not settings.ignite_addresses:
        raise settings.wrong("ignite_addresses", "it is empty")
    for address in settings.ignite_addresses:
        try:
            split_address(address)
        except ValueError as error:
            raise settings.wrong("ignite_addresses", str(error)) from error
