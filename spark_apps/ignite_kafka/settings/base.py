"""Base class of settings: frozen, checked on creation, and read from texts or JSON values.

Secrets are no settings: see `secrets.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from ..common.python_compat import Self
from ..errors import IgniteKafkaError, NotAvailableYet, SettingsError, describe_settings
from ..events import Event, emit
from .fields import Setting, SettingType
from .findings import Findings
from .mapped_names import spelling
from .secrets import is_secret
from .suggestions import did_you_mean


def setting(default: object, value_type: SettingType, help: str, **more: Any) -> Any:
    """Return a dataclass field that defines a setting.

    :param more: other fields of :class:`~ignite_kafka.settings.fields.Setting`.
    """
    metadata = {"setting": Setting(value_type, help, **more)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base class of all settings; :func:`setting` defines each of its fields.

    :param origin: place of each setting (name -> "file, line 3", "command line"), for messages; not compared.
    :raises SettingsError: a value is not allowed or contradicts another; the error has the setting, its value,
        the allowed values and the origin.
    :raises NotAvailableYet: a value of a feature that this version does not have.
    """

    all_when_absent: ClassVar[tuple[str, ...]] = ()
    """Names of the list settings whose absence selects everything."""

    origin: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        definitions = {name: value.metadata["setting"] for name, value in vars(cls).items() if _is_setting(value)}
        references = {definition.reference: name for name, definition in definitions.items() if definition.reference}
        describe_settings({name: name for name in definitions} | references)

    def __post_init__(self) -> None:
        findings = Findings()
        self.check(findings)
        findings.raise_all()

    def check(self, findings: Findings) -> None:
        """Check each setting, then settings that depend on one another."""
        for name, definition in self.definitions().items():
            with findings.check(name):
                self._check_value(name, definition.type)
        for name, definition in self.definitions().items():
            with findings.check(name):
                self._check_supported(name, definition)
        self.check_together(findings)

    def check_together(self, findings: Findings) -> None:
        """Check settings that depend on one another; subclasses add these checks."""

    @classmethod
    def definitions(cls) -> Mapping[str, Setting]:
        """Return the definition of every setting by name, in the order of the class's fields."""
        return _definitions_of(cls)  # type: ignore[arg-type]  # mypy takes the __hash__ of instances for the class's

    @classmethod
    def defaults(cls) -> Mapping[str, Any]:
        """Return the default of each setting; an empty text for a required setting."""
        return _defaults_of(cls)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return every setting as a JSON value; :meth:`from_dict` reads the result back."""
        return {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else _copy(value)
            for name in self.definitions()
        }

    def changed(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults as JSON values; :meth:`from_dict` reads them."""
        defaults = self.defaults()
        return {name: value for name, value in self.to_dict().items() if getattr(self, name) != defaults[name]}

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        origin: str | Mapping[str, str] = "settings",
        before: Iterable[IgniteKafkaError] = (),
    ) -> Self:
        """Parse and check settings given as JSON values or texts.

        :param origin: origin of all settings, or the origin of each by name.
        :param before: errors found earlier in the same source, raised together with the errors of this call.
        :raises SettingsError: see the class; also for an unknown name (the error suggests the closest name), and
            for a secret among the settings.
        """
        origins = dict.fromkeys(values, origin) if isinstance(origin, str) else dict(origin)
        findings = Findings(before)
        parsed = cls.parsed_values(values, origins, findings)
        if "name" not in values:
            with findings.check("name"):
                raise SettingsError(
                    "name is missing", "Name the connector: its offsets are stored under that name", setting="name"
                )
        if findings.errors:
            cls._unchecked(parsed, origins).check(findings)
        findings.raise_all()
        return cls(**parsed, origin=origins)

    @classmethod
    def parsed_values(cls, values: Mapping[str, Any], origins: Mapping[str, str], findings: Findings) -> dict[str, Any]:
        """Parse each value by its setting's type; return the parsed values by name, and add errors to ``findings``."""
        parsed: dict[str, Any] = {}
        for name, value in values.items():
            with findings.check():
                cls.refuse_unknown(name, origins.get(name))
                parsed[name] = cls.parsed(name, value, origins)
        return parsed

    @classmethod
    def unchecked(cls, values: Mapping[str, Any], origins: Mapping[str, str]) -> Self:
        """Build settings without checks, to find further errors; an unparsable value is left at its default."""
        return cls._unchecked(cls.parsed_values(values, origins, Findings()), origins)

    @classmethod
    def _unchecked(cls, parsed: Mapping[str, Any], origins: Mapping[str, str]) -> Self:
        """Build settings without checks; a missing setting has its default."""
        settings = object.__new__(cls)
        for name, value in {**cls.defaults(), **parsed, "origin": origins}.items():
            object.__setattr__(settings, name, value)
        return settings

    @classmethod
    def refuse_empty(cls, values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
        """Refuse an empty list for a setting that selects everything when it is absent.

        An empty list often comes from a form, a template or another task, and its author did not mean "everything".

        :raises SettingsError: such a setting is an empty list.
        """
        for name in cls.all_when_absent:
            value = values.get(name, ...)
            if (
                (isinstance(value, str) and not value.strip())
                or (isinstance(value, (list, tuple)) and not value)
                or value is None
            ):
                raise SettingsError(
                    f"{name} was given and is empty: nothing is chosen",
                    f"Name at least one pattern; `.*`, or leaving {name} out, chooses all.",
                    setting=name,
                    set_in=origins.get(name),
                )

    @classmethod
    def refuse_unknown(cls, name: str, origin: str | None) -> None:
        """Refuse the name of a setting that does not exist.

        :raises SettingsError: the name is unknown (the error suggests the closest name), or it is a secret's.
        """
        cls.refuse_secret(name, origin)
        if name not in cls.definitions():
            hint = spelling(name, cls.definitions()) or did_you_mean(name, cls.definitions())
            raise SettingsError("there is no such setting", hint or "See docs/settings.md", setting=name, set_in=origin)

    @classmethod
    def refuse_secret(cls, name: str, origin: str | None) -> None:
        """Refuse a secret among the settings.

        :raises SettingsError: the name is that of a secret; the value is not shown.
        """
        if name not in cls.definitions() and is_secret(name):
            raise SettingsError(
                "a secret is no setting",
                "Put it into the secrets file (--secrets) or into the Airflow connection, where no plan, log or "
                "command line shows it",
                setting=name,
                set_in=origin,
            )

    @classmethod
    def parsed(cls, name: str, value: object, origins: Mapping[str, str]) -> Any:
        """Parse the value of one setting to its canonical form.

        :raises SettingsError: the value is not allowed.
        """
        try:
            return cls.definitions()[name].type.parse(value)
        except ValueError as error:
            raise cls._error(name, value, str(error), "", origins) from error
        except RecursionError:
            raise cls._error(name, value, "its JSON is nested too deeply", "", origins) from None

    def wrong(self, name: str, reason: str, remedy: str = "", **where: Any) -> SettingsError:
        """Return the error to raise for a setting whose value breaks a rule.

        :param where: further places; `allowed` is what the setting's type allows.
        """
        return self._error(name, getattr(self, name), reason, remedy, self.origin, **where)

    @classmethod
    def _error(
        cls, name: str, value: object, reason: str, remedy: str, origins: Mapping[str, str], **more: Any
    ) -> SettingsError:
        value_type = cls.definitions()[name].type
        where = {
            "value": _format_value(value) if value_type.shown else None,
            "allowed": value_type.allowed,
            "set_in": origins.get(name),
        }
        return SettingsError(f"{name} is wrong: {reason}", remedy, setting=name, **(where | more))

    def _check_value(self, name: str, value_type: SettingType) -> None:
        value = getattr(self, name)
        try:
            canonical = value_type.parse(value)
        except ValueError as error:
            raise self.wrong(name, str(error)) from error
        if canonical != value or type(canonical) is not type(value):
            raise self.wrong(
                name, "it has not the form that from_dict gives it", "Build settings from texts with from_dict"
            )

    def _check_supported(self, name: str, definition: Setting) -> None:
        value = getattr(self, name)
        default = self.defaults()[name]
        if value != default and (definition.unsupported is None or value in definition.unsupported):
            remedy = definition.instead or f"Leave {name} at its default" + (
                "" if default in ("", (), {}) else f", {_format_value(default)}"
            )
            what = (
                f"{name} {_format_value(value)} is not available yet"
                if definition.type.shown
                else f"{name} is not available yet"
            )
            raise NotAvailableYet(what, remedy, setting=name, set_in=self.origin.get(name))

    def warnings(self) -> list[tuple[Event, dict[str, Any]]]:
        """Return the events to log at the start of a run, each with its fields."""
        return []

    def emit_warnings(self) -> None:
        """Log the events of :meth:`warnings`."""
        for event, fields in self.warnings():
            emit(event, **fields)


def _is_setting(value: object) -> bool:
    return isinstance(value, dataclasses.Field) and "setting" in value.metadata


@cache
def _definitions_of(settings: type[Any]) -> Mapping[str, Setting]:
    return {item.name: item.metadata["setting"] for item in dataclasses.fields(settings) if _is_setting(item)}


@cache
def _defaults_of(settings: type[Any]) -> Mapping[str, Any]:
    return {item.name: _default(item) for item in dataclasses.fields(settings) if _is_setting(item)}


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return "" if item.default is dataclasses.MISSING else item.default


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _format_value(value: object) -> str:
    """Format a setting's value for messages."""
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
