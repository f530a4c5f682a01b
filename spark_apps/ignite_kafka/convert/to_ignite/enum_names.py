"""Conversion of enum constants by full name, such as org.example.Color.RED, where the field declares no enum."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UnknownBinaryType
from ...ignite.types import type_codes as codes
from ...ignite.types.model import TypeSource
from ...java.hash_code import java_hash
from ..ignite_types.row_encoder import ENCODED
from .connect_casts import Cast, Converted


def full_names(name: str, types: TypeSource) -> Cast:
    """Return the function that casts full names to encoded constants of the cluster's enums.

    :param name: name of the field.
    """

    def cast(array: pa.Array) -> Converted:
        texts = pc.dictionary_encode(array)
        constants = pa.array([_encode(text, types) for text in texts.dictionary.to_pylist()], pa.binary())
        data = constants.take(texts.indices)
        return Converted(data, ENCODED.with_name(name), np.asarray(data.is_null()) & np.asarray(array.is_valid()))

    return cast


def _encode(text: str, types: TypeSource) -> bytes | None:
    """Encode the enum constant with a full name; None if the cluster does not know the enum or the constant."""
    type_name, _, label = text.rpartition(".")
    type_id = java_hash(type_name.lower())
    try:
        binary = types.binary_type(type_id)
    except UnknownBinaryType:
        return None
    ordinals = [ordinal for ordinal, name in binary.enum_values.items() if name == label]
    if binary.name != type_name or not binary.is_enum or not ordinals:
        return None
    return struct.pack("<Bii", codes.ENUM, type_id, ordinals[0])
