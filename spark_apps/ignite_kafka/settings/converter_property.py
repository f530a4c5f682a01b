"""Definition of a converter's property: type, default, and the values that are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .fields import SettingType


@dataclass(frozen=True)
class Property:
    """Definition of one property of a converter, such as ``schemas.enable``.

    :param default: canonical value of an absent property.
    :param ignored: reason why the property has no effect; empty if it has an effect.
    :param refused: values that are refused because they need a missing feature; None: every value but the default.
    :param remedy: what to do instead of a refused value; empty: the allowed values are named.
    :param of_sinks: values that a source refuses, because they describe how records are read.
    """

    type: SettingType
    default: Any
    help: str
    ignored: str = ""
    refused: tuple[Any, ...] | None = ()
    remedy: str = ""
    of_sinks: tuple[Any, ...] = ()

    def refuses(self, value: Any) -> bool:
        """Return whether this version refuses a value, because it needs a missing feature."""
        return value != self.default if self.refused is None else value in self.refused
