"""Bytes as base64 text in JSON, both ways.

Single texts are read as Kafka's JsonConverter reads them: white space between groups of four characters is passed over,
the bits of the last character that belong to no byte too. A column is read in the form that converters write, and marks
what has another one.

Source: com.fasterxml.jackson.core.Base64Variant.decode, variant MIME_NO_LINEFEEDS.
"""

from __future__ import annotations

import base64
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask

_SPACE = re.compile(r"[\0- ]+")
_BASE64 = re.compile(r"(?:[\0- ]*[A-Za-z0-9+/]{4})*(?:[\0- ]*[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]|=)=)?[\0- ]*")


def bytes_to_json(array: pa.Array) -> pa.Array:
    """Encode each value of a binary array as padded base64 text; nulls stay."""
    from .polars import pl  # here: who only checks the settings of transforms needs none

    return pl.Series(values=array.cast(pa.binary())).bin.encode("base64").to_arrow()


def bytes_from_json(array: pa.Array) -> tuple[pa.BinaryArray, Mask]:
    """Decode each base64 text, and mark rows that are not padded base64 without line feeds; nulls stay."""
    from .polars import pl

    decoded = pl.Series(values=array).str.decode("base64", strict=False).to_arrow().cast(pa.binary())
    # polars decodes more than that form: such text differs when it is encoded again
    again = pl.Series(values=decoded).bin.encode("base64").to_arrow()
    return decoded, ~np.asarray(pc.equal(again, array.cast(again.type)).fill_null(False)) & np.asarray(array.is_valid())


def base64_bytes(text: str) -> bytes | None:
    """Return the bytes of a base64 text; None for another text."""
    return base64.b64decode(_SPACE.sub("", text)) if _BASE64.fullmatch(text) else None
