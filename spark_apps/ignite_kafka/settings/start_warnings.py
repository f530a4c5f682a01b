"""Warnings about a connector's settings, logged when a run starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..events import BAD_RECORDS_SKIPPED, CONFIG_CHANGED, TLS_NOT_VERIFIED, Event
from . import converters
from .error_policies import LOG_ONLY
from .fields import Setting
from .transforms import WithTransforms, without_effect

STREAM = "it is used only when run_mode is continuous or failover_policy is BACKLOG"
CONTINUOUS = "it is used only when run_mode is continuous"
"""Reasons why a setting for streams has no effect when a run ends by itself."""


class StartedSettings(WithTransforms, Protocol):
    """Interface of a connector's settings, with the attributes that warnings at a start need."""

    @property
    def origin(self) -> Mapping[str, str]:
        """Place where each setting was set, such as file and line, by the setting's name."""

    @property
    def streams(self) -> bool:
        """Whether the run copies changes."""

    @property
    def ignite_tls_enabled(self) -> bool:
        """Whether connections to Ignite use TLS."""

    @property
    def ignite_tls_verify(self) -> bool:
        """Whether the certificates of Ignite nodes are verified."""

    def definitions(self) -> Mapping[str, Setting]:
        """Return the definition of every setting by name."""

    def defaults(self) -> Mapping[str, Any]:
        """Return the default of each setting."""


def warnings_of(settings: StartedSettings) -> list[tuple[Event, dict[str, Any]]]:
    """Return the events to log when a run starts: settings without effect, and choices that can lose data."""
    defaults = settings.defaults()
    events: list[tuple[Event, dict[str, Any]]] = [
        (
            CONFIG_CHANGED,
            {"reason": f"{name} has no effect: {reason}", "setting": name, "set_in": settings.origin.get(name)},
        )
        for name, setting in settings.definitions().items()
        if (reason := setting.no_effect_because)
        and getattr(settings, name) != defaults[name]
        and not (reason in (STREAM, CONTINUOUS) and settings.streams)
    ]
    for side in ("key", "value", "header"):
        setting = f"{side}_converter_config"
        properties = converters.PROPERTIES[getattr(settings, f"{side}_converter")]
        for name in getattr(settings, setting):
            if properties[name].ignored:
                fields = {"reason": f"{name} has no effect: {properties[name].ignored}", "setting": f"{setting}.{name}"}
                events.append((CONFIG_CHANGED, {**fields, "set_in": settings.origin.get(setting)}))
    for name, reason, set_in in without_effect(settings):
        events.append(
            (CONFIG_CHANGED, {"reason": f"{name} has no effect: {reason}", "setting": name, "set_in": set_in})
        )
    if settings.ignite_tls_enabled and not settings.ignite_tls_verify:
        events.append((TLS_NOT_VERIFIED, {"reason": "ignite_tls_verify is false", "setting": "ignite_tls_verify"}))
    for name in ("error_handling_policy", "conversion_error_policy"):
        if getattr(settings, name) == LOG_ONLY:
            events.append((BAD_RECORDS_SKIPPED, {"reason": f"{name} is LOG_ONLY", "setting": name}))
    return events
