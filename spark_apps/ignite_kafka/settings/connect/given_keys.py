"""Keys of a connector's file while they are translated: values, and the ignored, renamed and refused keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...errors import IgniteKafkaError, SettingsError
from ..key_table import Refusal


@dataclass
class ConnectKeys:
    """Keys of a connector's file, prepared for the translation to this project's settings.

    :param values: values by key.
    :param origin: place where each key was set.
    :param ignored: reason by ignored key.
    :param renamed: original key by its replacement in ``values``.
    :param errors: SettingsError of each refused key.
    """

    values: dict[str, Any]
    origin: dict[str, str]
    ignored: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    errors: list[IgniteKafkaError] = field(default_factory=list)

    def ignore(self, name: str, reason: str) -> None:
        """Remove a key that has no effect here, and record the reason."""
        del self.values[name]
        self.ignored[name] = reason

    def rename(self, name: str, other: str, value: Any) -> None:
        """Replace a key by another one; its value overrides a value already given under the other key."""
        del self.values[name]
        if other in self.values and self.values[other] != value:
            self.ignored[other] = f"{name} takes precedence"
        self.values[other], self.origin[other], self.renamed[other] = value, self.origin.get(name, ""), name

    def refuse(self, name: str, refusal: Refusal) -> None:
        """Remove a key that cannot be translated, and record its error."""
        del self.values[name]
        self.errors.append(SettingsError(refusal.reason, refusal.remedy, setting=name, set_in=self.origin.get(name)))
