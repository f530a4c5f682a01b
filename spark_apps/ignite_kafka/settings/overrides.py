"""Overrides: settings for single caches of a source or topics of a sink, chosen by regular expressions of their names.

The first matching expression counts. :meth:`NamedSettings.of` returns the settings of one cache or topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ..common.python_compat import Self
from ..errors import IgniteKafkaError, SettingsError
from ..java import patterns as java_patterns
from .base import Settings
from .control_characters import refuse_in_line
from .fields import SettingType, json_object
from .findings import Findings
from .name_rules import NamedBy, new_name, replacement_parts
from .suggestions import did_you_mean

S = TypeVar("S", bound="NamedSettings")


def _parse_overrides(value: object) -> dict[str, dict[str, Any]]:
    value = json_object(value)
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and isinstance(values, Mapping) for name, values in value.items()
    ):
        raise ValueError("it is not a mapping of regular expressions to mappings of settings")
    return {
        refuse_in_line(name): {key: list(item) if isinstance(item, tuple) else item for key, item in values.items()}
        for name, values in value.items()
    }


OVERRIDES = SettingType(
    "mapping",
    "a mapping of regular expressions, in order, to mappings of settings; as a text: JSON",
    _parse_overrides,
    shown=False,
    ordered=True,
)


class NamedSettings(Settings):
    """Base class of source and sink settings: rules for names, and overrides for single caches or topics."""

    overrides: Mapping[str, Mapping[str, Any]]

    own_name: ClassVar[str] = ""
    """Key in an override that names a cache's topic (source) or a topic's cache (sink)."""

    def override_of(self, name: str) -> str | None:
        """Return the expression in `overrides` that applies to a cache (source) or topic (sink); None without a match.

        :raises SettingsError: an expression cannot be used with this name.
        """
        try:
            return first_match(self.overrides, name)
        except ValueError as error:
            raise self.wrong("overrides", f"{error}") from error

    def of(self, name: str) -> Self:
        """Return the settings that apply to one cache (source) or topic (sink), its override included.

        Equal overrides give the same object.

        :raises SettingsError: an expression cannot be used with this name.
        """
        pattern = self.override_of(name)
        return self if pattern is None else self._overridden[pattern]

    @property
    def variants(self) -> tuple[Self, ...]:
        """Settings of the connector, followed by the settings under each override."""
        return (self, *self._overridden.values())

    @cached_property
    def _overridden(self) -> Mapping[str, Self]:
        return {pattern: overridden(self, pattern) for pattern in self.overrides}

    @classmethod
    def _unchecked(cls, parsed: Mapping[str, Any], origins: Mapping[str, str]) -> Self:
        """Build settings and their overridden variants without checks, which would repeat errors for each override."""
        settings = super()._unchecked(parsed, origins)
        variants: dict[str, Self] = {}
        for pattern in settings.overrides:
            with suppress(SettingsError):  # check_overrides() reports the error
                changed, origin = _with_override(settings, pattern)
                variants[pattern] = super()._unchecked({**parsed, **changed}, origin)
        settings.__dict__["_overridden"] = variants  # instead of the cached property's value
        return settings

    def also_overridden(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return further settings that must change when some settings are overridden."""
        return {}

    def check_own_name(self, name: object, set_in: str) -> None:
        """Check the topic name (source) or cache name (sink) in an override.

        :raises SettingsError: the value cannot be a name.
        """

    def _own_name(self, of: str) -> NamedBy | None:
        """Return the topic name (source) or cache name (sink) that an override gives; None if it gives none."""
        pattern = self.override_of(of)
        name = self.overrides[pattern].get(self.own_name) if pattern is not None else None
        return None if name is None else NamedBy(name, f"overrides {pattern!r}")

    def check(self, findings: Findings) -> None:
        """Check each setting, settings that depend on one another, and the overrides."""
        super().check(findings)
        check_overrides(self, findings)

    def check_pattern(self, name: str, pattern: str) -> None:
        """Check that an item of a setting is a valid regular expression.

        :raises SettingsError: the text is no regular expression.
        """
        try:
            java_patterns.check_pattern(pattern)
        except ValueError as error:
            raise self.wrong(
                name, f"it holds no regular expression: {error}", java_patterns.pattern_remedy(pattern)
            ) from error

    def check_names(self, findings: Findings, name: str, form: str, allowed: str) -> None:
        """Check a setting's rules for topic or cache names: their expressions and replacements.

        :param form: regular expression for a replacement's text, without its references to groups.
        :param allowed: description of `form` in words.
        """
        for pattern, replacement in getattr(self, name).items():
            with findings.check():
                self.check_pattern(name, pattern)
                try:
                    parts = replacement_parts(pattern, replacement)
                except ValueError as error:
                    remedy = (
                        "$1 and ${name} are the texts of groups, $0 is the whole name, and a backslash escapes "
                        "the next character"
                    )
                    raise self.wrong(
                        name, f"the replacement {replacement!r} of {pattern!r}: {error}", remedy
                    ) from error
                if not parts or not all(re.fullmatch(form, part) for part in parts if isinstance(part, str)):
                    raise self.wrong(
                        name, f"the replacement {replacement!r} of {pattern!r} makes no name", f"Allowed: {allowed}"
                    )

    def named_by(self, name: str, of: str) -> NamedBy | None:
        """Return the topic or cache name that a setting's rules give; None if no rule matches.

        :raises SettingsError: an expression cannot be used with this name.
        """
        try:
            return new_name(of, name, getattr(self, name))
        except ValueError as error:
            raise self.wrong(name, f"{error}") from error


def first_match(overrides: Mapping[str, Any], name: str) -> str | None:
    """Return the first expression in the overrides that matches the whole name; None without a match.

    :raises ValueError: an expression cannot be used with a name of that length.
    """
    return next((pattern for pattern in overrides if java_patterns.matches_whole(name, pattern)), None)


def values_of(settings: NamedSettings, pattern: str) -> dict[str, Any]:
    """Parse the settings in the override of an expression, without the topic's or cache's name in it.

    :raises SettingsError: a name is unknown, or cannot be overridden, or a value is not allowed.
    """
    overridable = {name for name, definition in settings.definitions().items() if definition.overridable}
    place = _place_of(settings, pattern)
    values: dict[str, Any] = {}
    for name, value in settings.overrides[pattern].items():
        if name == settings.own_name:
            settings.check_own_name(value, place)
            continue
        settings.refuse_secret(name, place)
        if name not in overridable:
            hint = (
                did_you_mean(name, {*overridable, settings.own_name})
                or f"Allowed: {', '.join(sorted({*overridable, settings.own_name}))}"
            )
            what = (
                "it cannot differ between caches or topics"
                if name in settings.definitions()
                else "there is no such setting"
            )
            raise SettingsError(what, hint, setting=name, set_in=place)
        values[name] = settings.parsed(name, value, {name: place})
    for side in ("key", "value"):  # an overridden converter does not keep the properties
        if f"{side}_converter" in values:
            values.setdefault(f"{side}_converter_config", {})
    return values


def overridden(settings: S, pattern: str) -> S:
    """Return the settings of the caches or topics to which the override of ``pattern`` applies.

    :raises SettingsError: see :func:`values_of`; or an overridden value contradicts another setting.
    :raises NotAvailableYet: a value of a feature that this version does not have.
    """
    changed, origin = _with_override(settings, pattern)
    try:
        return replace(settings, **changed, origin=origin)
    except IgniteKafkaError as error:
        for finding in error.findings or (error,):
            finding.where.setdefault("override", pattern)
        raise


def _with_override(settings: NamedSettings, pattern: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that an override changes, and the origin of all settings.

    :raises SettingsError: see :func:`values_of`.
    """
    values = values_of(settings, pattern)
    origin = {**settings.origin, **dict.fromkeys(values, _place_of(settings, pattern))}
    return {"overrides": {}, **settings.also_overridden(values), **values}, origin


def check_overrides(settings: NamedSettings, findings: Findings) -> None:
    """Check the names and values in each override, and whether it suits the other settings.

    The second check is left out if the other settings have errors.
    """
    before = len(findings.errors)
    for pattern in settings.overrides:
        with findings.check():
            settings.check_pattern("overrides", pattern)
        with findings.check():
            values_of(settings, pattern)
    if not before and not findings.errors:
        for pattern in settings.overrides:
            with findings.check():
                overridden(settings, pattern)


def without_effect(settings: NamedSettings, names: Iterable[str]) -> dict[str, str]:
    """Return the overrides that apply to none of the selected caches or topics, each with a hint.

    :param names: names of the selected caches or topics.
    """
    chosen = list(names)
    used = {settings.override_of(name) for name in chosen}
    nothing = "No chosen cache or topic has such a name that no earlier expression matches."
    return {pattern: did_you_mean(pattern, chosen) or nothing for pattern in settings.overrides if pattern not in used}


def _place_of(settings: NamedSettings, pattern: str) -> str:
    set_in = settings.origin.get("overrides")
    return f"overrides {pattern!r}" + (f" of {set_in}" if set_in else "")
