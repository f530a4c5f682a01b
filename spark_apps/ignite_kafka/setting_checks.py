"""What settings must hold, one by one and together, and what a start should say about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import routing
from .errors import NotAvailableYet, SettingsError
from .events import CONFIG_CHANGED, NOTHING_TO_SEND, REMOVALS_NOT_SENT, TLS_NOT_VERIFIED, UPDATES_NOT_CAPTURED, Event
from .setting_kinds import Setting
from .thin.connection import split_address

if TYPE_CHECKING:
    from .settings import SourceSettings

STREAM = "it is used only when run_mode is continuous or failover_policy is BACKLOG"
"""Why a setting of streams has no effect on a snapshot."""
_TLS_FILES = ("ignite_tls_ca_file", "ignite_tls_cert_file", "ignite_tls_key_file")


def check(settings: SourceSettings, known: Mapping[str, Setting], defaults: Mapping[str, Any]) -> None:
    """Check every setting alone, then together.

    :raises SettingsError: a value is not allowed or contradicts another.
    :raises NotAvailableYet: a value whose feature this version does not have.
    """
    for name, setting in known.items():
        _check_kind(settings, name, setting.kind.parse)
    for name, setting in known.items():
        _check_available(settings, name, setting, defaults[name])
    _check_lists(settings)
    _check_ignite(settings)
    _check_transactions(settings)


def notices(settings: SourceSettings, known: Mapping[str, Setting], defaults: Mapping[str, Any]) -> list[tuple[Event, dict[str, Any]]]:
    """Events that a start should log: settings without effect, and choices that can lose data, with the setting that prevents it."""
    found: list[tuple[Event, dict[str, Any]]] = [
        (CONFIG_CHANGED, {"reason": f"{name} has no effect: {setting.idle}", "setting": name, "set_in": settings.origin.get(name)})
        for name, setting in known.items()
        if setting.idle and getattr(settings, name) != defaults[name] and not (setting.idle == STREAM and settings.streams)
    ]
    if settings.failover_policy == "NONE":
        found.append((UPDATES_NOT_CAPTURED, {"reason": "failover_policy is NONE", "setting": "failover_policy"}))
    if not settings.process_removals:
        found.append((REMOVALS_NOT_SENT, {"reason": "process_removals is false", "setting": "process_removals"}))
    if not settings.streams and not settings.load_initial_data:
        reason = "run_mode is once and load_initial_data is false"
        found.append((NOTHING_TO_SEND, {"reason": reason, "setting": "load_initial_data"}))
    if settings.ignite_tls_enabled and not settings.ignite_tls_verify:
        found.append((TLS_NOT_VERIFIED, {"reason": "ignite_tls_verify is false", "setting": "ignite_tls_verify"}))
    return found


def wrong(settings: SourceSettings, name: str, reason: str, remedy: str = "") -> SettingsError:
    """The error of one setting that is built already."""
    kind = type(settings).kind_of(name)
    value = shown(getattr(settings, name)) if kind.shown else None
    return SettingsError(
        f"{name} is wrong: {reason}", remedy, setting=name, value=value, allowed=kind.allowed, set_in=settings.origin.get(name)
    )


def shown(value: object) -> str:
    """A value as messages show it."""
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _check_kind(settings: SourceSettings, name: str, parse: Any) -> None:
    value = getattr(settings, name)
    try:
        canonical = parse(value)
    except ValueError as error:
        raise wrong(settings, name, str(error)) from error
    if canonical != value or type(canonical) is not type(value):
        raise wrong(
            settings, name, "it has not the form that from_dict gives it", "Build settings from texts with SourceSettings.from_dict"
        )


def _check_available(settings: SourceSettings, name: str, setting: Setting, default: object) -> None:
    value = getattr(settings, name)
    if value != default and (setting.later is None or value in setting.later):
        remedy = f"Leave {name} at its default" + ("" if default in ("", (), {}) else f", {shown(default)}")
        what = f"{name} {shown(value)} is not available yet" if setting.kind.shown else f"{name} is not available yet"
        raise NotAvailableYet(what, remedy, setting=name, set_in=settings.origin.get(name))


def _check_lists(settings: SourceSettings) -> None:
    for name in ("cache_whitelist", "cache_blacklist"):
        for pattern in getattr(settings, name):
            try:
                routing.check_pattern(pattern)
            except ValueError as error:
                raise wrong(settings, name, f"it holds no regular expression: {error}", routing.pattern_remedy(pattern)) from error
    if settings.key_converter != settings.value_converter:
        what = f"key_converter {settings.key_converter} with value_converter {settings.value_converter} is not available yet"
        where = settings.origin.get("key_converter") or settings.origin.get("value_converter")
        raise NotAvailableYet(what, "Set both to the same converter", setting="key_converter", set_in=where)


def _check_ignite(settings: SourceSettings) -> None:
    if not settings.ignite_addresses:
        raise wrong(settings, "ignite_addresses", "it is empty")
    for address in settings.ignite_addresses:
        try:
            split_address(address)
        except ValueError as error:
            raise wrong(settings, "ignite_addresses", str(error)) from error
    for name in _TLS_FILES:
        if getattr(settings, name) and not settings.ignite_tls_enabled:
            raise wrong(settings, name, "it has no effect without TLS", "Set ignite_tls_enabled to true, or leave it out")
    if settings.ignite_tls_key_file and not settings.ignite_tls_cert_file:
        raise wrong(settings, "ignite_tls_key_file", "it is a key without a certificate", "Set ignite_tls_cert_file too")


def _check_transactions(settings: SourceSettings) -> None:
    if settings.transaction_max_ms >= settings.transaction_timeout_ms:
        remedy = f"It must be below transaction_timeout_ms, which is {settings.transaction_timeout_ms}"
        raise wrong(settings, "transaction_max_ms", "every transaction would time out", remedy)
