"""Conversion of bytes to base64 texts in JSON, and back, as Kafka's JsonConverter does it.

Single texts are read as Kafka's JsonConverter reads them: white space between groups of four characters is ignored, and
so are bits of the last character that belong to no byte. A column is read in the form that converters write; texts in
another form are marked.

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
    """Encode each byte string of an array as padded base64 text; null for null."""
    from .polars import pl  # here, because a check of the settings of transforms does not need polars

    return pl.Series(values=array.cast(pa.binary())).bin.encode("base64").to_arrow()


def bytes_from_json(array: pa.Array) -> tuple[pa.BinaryArray, Mask]:
    """Decode padded base64 texts; return the bytes and a mask of the texts in another form."""
    from .polars import pl

    decoded = pl.Series(values=array).str.decode("base64", strict=False).to_arrow().cast(pa.binary())
    # polars also decodes other forms: such a text differs from its bytes encoded again
    again = pl.Series(values=decoded).bin.encode("base64").to_arrow()
    return decoded, ~np.asarray(pc.equal(again, array.cast(again.type)).fill_null(False)) & np.asarray(array.is_valid())


def base64_bytes(text: str) -> bytes | None:
    """Decode a base64 text as JsonConverter does; None if the text is not base64."""
    return base64.b64decode(_SPACE.sub("", text)) if _BASE64.fullmatch(text) else None
