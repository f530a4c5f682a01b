"""What settings must hold, one by one and together, and what a start should say about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import NotAvailableYet, SettingsError
from ..events import CONFIG_CHANGED, TLS_NOT_VERIFIED, Event
from ..ignite.connection import split_address
from . import java_patterns
from .fields import Setting
from .findings import Findings

if TYPE_CHECKING:
    from .connector import ConnectorSettings

STREAM = "it is used only when run_mode is continuous or failover_policy is BACKLOG"
CONTINUOUS = "it is used only when run_mode is continuous"
"""Why a setting of streams has no effect on a snapshot, or on a run that ends where the topics ended."""
_TLS_FILES = ("ignite_tls_ca_file", "ignite_tls_cert_file", "ignite_tls_key_file")


def check(settings: ConnectorSettings, found: Findings) -> None:
    """Check every setting alone, then those together that both directions have: values that are not allowed, contradict one another, or
    are of a feature that this version does not have.
    """
    for name, setting in settings.known().items():
        with found.check(name):
            _check_kind(settings, name, setting.kind.parse)
    for name, setting in settings.known().items():
        with found.check(name):
            _check_available(settings, name, setting, settings.defaults()[name])
    with found.check("key_converter", "value_converter"):
        _check_converters(settings)
    _check_ignite(settings, found)


def notices(settings: ConnectorSettings) -> list[tuple[Event, dict[str, Any]]]:
    """Events that a start of either direction should log."""
    defaults = settings.defaults()
    found: list[tuple[Event, dict[str, Any]]] = [
        (CONFIG_CHANGED, {"reason": f"{name} has no effect: {setting.idle}", "setting": name, "set_in": settings.origin.get(name)})
        for name, setting in settings.known().items()
        if setting.idle and getattr(settings, name) != defaults[name] and not (setting.idle in (STREAM, CONTINUOUS) and settings.streams)
    ]
    if settings.ignite_tls_enabled and not settings.ignite_tls_verify:
        found.append((TLS_NOT_VERIFIED, {"reason": "ignite_tls_verify is false", "setting": "ignite_tls_verify"}))
    return found


def check_pattern(settings: ConnectorSettings, name: str, pattern: str) -> None:
    """Raise SettingsError where a setting's text is no regular expression."""
    try:
        java_patterns.check_pattern(pattern)
    except ValueError as error:
        raise wrong(settings, name, f"it holds no regular expression: {error}", java_patterns.pattern_remedy(pattern)) from error


def wrong(settings: ConnectorSettings, name: str, reason: str, remedy: str = "") -> SettingsError:
    """The error of one setting that is built already."""
    kind = type(settings).kind_of(name)
    value = shown(getattr(settings, name)) if kind.shown else None
    return SettingsError(
        f"{name} is wrong: {reason}", remedy, setting=name, value=value, allowed=kind.allowed, set_in=settings.origin.get(name)
    )


def shown(value: object) -> str:
    """A value as messages show it."""
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _check_kind(settings: ConnectorSettings, name: str, parse: Any) -> None:
    value = getattr(settings, name)
    try:
        canonical = parse(value)
    except ValueError as error:
        raise wrong(settings, name, str(error)) from error
    if canonical != value or type(canonical) is not type(value):
        raise wrong(settings, name, "it has not the form that from_dict gives it", "Build settings from texts with from_dict")


def _check_available(settings: ConnectorSettings, name: str, setting: Setting, default: object) -> None:
    value = getattr(settings, name)
    if value != default and (setting.later is None or value in setting.later):
        remedy = f"Leave {name} at its default" + ("" if default in ("", (), {}) else f", {shown(default)}")
        what = f"{name} {shown(value)} is not available yet" if setting.kind.shown else f"{name} is not available yet"
        raise NotAvailableYet(what, remedy, setting=name, set_in=settings.origin.get(name))


def _check_converters(settings: ConnectorSettings) -> None:
    if settings.key_converter != settings.value_converter:
        what = f"key_converter {settings.key_converter} with value_converter {settings.value_converter} is not available yet"
        where = settings.origin.get("key_converter") or settings.origin.get("value_converter")
        raise NotAvailableYet(what, "Set both to the same converter", setting="key_converter", set_in=where)


def _check_ignite(settings: ConnectorSettings, found: Findings) -> None:
    with found.check("ignite_addresses"):
        _check_addresses(settings)
    for name in _TLS_FILES:
        with found.check(name, "ignite_tls_enabled"):
            if getattr(settings, name) and not settings.ignite_tls_enabled:
                raise wrong(settings, name, "it has no effect without TLS", "Set ignite_tls_enabled to true, or leave it out")
    with found.check(*_TLS_FILES):
        _check_key_file(settings)


def _check_addresses(settings: ConnectorSettings) -> None:
    if not settings.ignite_addresses:
        raise wrong(settings, "ignite_addresses", "it is empty")
    for address in settings.ignite_addresses:
        try:
            split_address(address)
        except ValueError as error:
            raise wrong(settings, "ignite_addresses", str(error)) from error


def _check_key_file(settings: ConnectorSettings) -> None:
    if settings.ignite_tls_key_file and not settings.ignite_tls_cert_file:
        raise wrong(settings, "ignite_tls_key_file", "it is a key without a certificate", "Set ignite_tls_cert_file too")
