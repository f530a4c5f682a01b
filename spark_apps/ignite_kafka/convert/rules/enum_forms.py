"""Names and ordinals of an enum's constants, in the spellings of all enum policies."""

from __future__ import annotations

import json

import pyarrow as pa

from ...ignite.binary.decode_scalars import simple_name
from ...ignite.types.type_table import ENUM_VALUES, type_name_of


def enum_values(field: pa.Field) -> dict[str, int]:
    """Return the ordinals of an enum's constants, by name."""
    values: dict[str, int] = json.loads(field.metadata[ENUM_VALUES])
    return values


def enum_forms(field: pa.Field) -> dict[str, int]:
    """Return the ordinals of an enum's constants, by each spelling: RED, Color.RED, org.example.Color.RED."""
    type_name = type_name_of(field)
    ordinals = enum_values(field)
    names = (f"{type_name}.", f"{simple_name(type_name)}.", "")
    return {f"{name}{label}": ordinal for name in names for label, ordinal in ordinals.items()}
