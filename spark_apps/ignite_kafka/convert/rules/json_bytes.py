"""Bytes as base64 text in JSON, both ways."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask


def bytes_to_json(array: pa.Array) -> pa.Array:
    """Padded base64 text of each value of a binary array; nulls stay."""
    from .polars import pl  # here: who only checks the settings of transforms needs none

    return pl.Series(values=array.cast(pa.binary())).bin.encode("base64").to_arrow()


def bytes_from_json(array: pa.Array) -> tuple[pa.BinaryArray, Mask]:
    """The bytes of each base64 text, and the rows that are not padded base64 without line feeds; nulls stay."""
    from .polars import pl

    decoded = pl.Series(values=array).str.decode("base64", strict=False).to_arrow().cast(pa.binary())
    # polars decodes more than that form: such text differs when it is encoded again
    again = pl.Series(values=decoded).bin.encode("base64").to_arrow()
    return decoded, ~np.asarray(pc.equal(again, array.cast(again.type)).fill_null(False)) & np.asarray(array.is_valid())
