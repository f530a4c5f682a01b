"""Keys of a connector's file during their translation: remaining values, and ignored, renamed and refused keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...errors import IgniteKafkaError, SettingsError
from ..key_table import Refusal


@dataclass
class ConnectKeys:
    """Keys of a connector's file, the input of the translation.

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
        """Remove a key, and record the reason."""
        del self.values[name]
        self.ignored[name] = reason

    def rename(self, name: str, other: str, value: Any) -> None:
        """Replace a key by another key, whose own value is overridden."""
        del self.values[name]
        if other in self.values and self.values[other] != value:
            self.ignored[other] = f"{name} takes precedence"
        self.values[other], self.origin[other], self.renamed[other] = value, self.origin.get(name, ""), name

    def refuse(self, name: str, refusal: Refusal) -> None:
        """Remove a key, and record its error."""
        del self.values[name]
        self.errors.append(SettingsError(refusal.reason, refusal.remedy, setting=name, set_in=self.origin.get(name)))
