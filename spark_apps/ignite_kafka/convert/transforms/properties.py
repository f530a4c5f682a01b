"""Properties of transforms and predicates, as Kafka's ``ConfigDef`` defines them.

Kafka ignores unknown properties; here they are refused, because most are typing errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.redaction import in_message
from ...errors import SettingsError
from ...settings.fields import ANY_TEXT, BOOLEAN, TEXTS, SettingType
from ...settings.suggestions import did_you_mean
from .unknown_transforms import new_name

REQUIRED = object()
"""Marker for a property without a default, which must be set."""


@dataclass(frozen=True)
class Property:
    """Definition of a property of a transform or predicate.

    :param default: value of the property if it is not set, in canonical form.
    :param not_empty: whether an empty text or list is refused.
    :param once: whether repeated items of the list are dropped.
    """

    type: SettingType = ANY_TEXT
    default: Any = REQUIRED
    not_empty: bool = False
    once: bool = False


_BLANKS = "".join(map(chr, range(33)))  # characters that Java's String.trim removes
Properties = Mapping[str, Property]
WITH_DEFAULT = "replace.null.with.default"
REPLACE_NULL: Properties = {WITH_DEFAULT: Property(BOOLEAN, True)}
FIELDS = Property(TEXTS, not_empty=True, once=True)


@dataclass(frozen=True)
class ComponentProperties:
    """The parsed properties of one transform or predicate.

    :param name: name of the class, for messages.
    :param values: values of all its properties by name, in canonical form.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def refused(self, name: str, why: str, remedy: str = "") -> SettingsError:
        """Return the error for a property whose value is not allowed."""
        return SettingsError(f"{self.name} has a {name} that cannot be used: {why}", remedy, setting=name)


def read_properties(owner: str, definitions: Properties, properties: Mapping[str, str]) -> ComponentProperties:
    """Parse the properties of a transform or predicate; unset ones get their defaults.

    :param owner: name of the class, for messages.
    :raises SettingsError: a property is missing, unknown, or has a value that is not allowed.
    """
    for name in properties:
        if name not in definitions:
            names = ", ".join(sorted(definitions)) or "none"
            close = new_name(name, definitions) or did_you_mean(name, definitions)
            raise SettingsError(
                f"{owner} has no property {name}", f"{close} Its properties: {names}.".strip(), setting=name
            )
    return ComponentProperties(
        owner,
        {
            name: _value(ComponentProperties(owner), name, definition, properties)
            for name, definition in definitions.items()
        },
    )


def _value(owner: ComponentProperties, name: str, definition: Property, properties: Mapping[str, str]) -> Any:
    if name not in properties:
        if definition.default is REQUIRED:
            raise SettingsError(
                f"{owner.name} needs the property {name}", f"Give it {definition.type.allowed}.", setting=name
            )
        return definition.default
    try:
        value: Any = definition.type.parse(properties[name].strip(_BLANKS))
    except ValueError as error:
        remedy = f"Give it {definition.type.allowed}."
        raise owner.refused(name, f"{in_message(repr(properties[name]))}: {error}", remedy) from None
    if definition.not_empty and not value:
        raise owner.refused(name, "it is empty")
    return tuple(dict.fromkeys(value)) if definition.once else value
