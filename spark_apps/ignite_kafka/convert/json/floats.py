"""JSON texts of floats and doubles as Jackson writes them: Java's text, quoted if the number is not finite.

Source: com.fasterxml.jackson.databind.node.DoubleNode and FloatNode 2.21.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...java.text import java_text

_PLAIN_FROM = 1e-3  # outside of this range Java writes an exponent, and polars a different one or none
_PLAIN_TO = 1e7
_BINARY = pa.binary()
_NOTHING = pa.scalar("")
_QUOTE = pa.scalar('"')


def have_one_form(array: pa.FloatingPointArray) -> bool:
    """Return whether polars would write every number of the array as Jackson does."""
    size = np.abs(np.asarray(array.fill_null(0)))
    return bool(((size == 0) | ((size >= _PLAIN_FROM) & (size < _PLAIN_TO))).all())


def floats(array: pa.FloatingPointArray) -> pa.BinaryArray:
    """Return the JSON text of each number: ``null`` for null, quoted text for NaN and infinities."""
    texts = java_text(array)
    finite = pc.is_finite(array).fill_null(True)
    if not pc.all(finite, min_count=0).as_py():
        texts = pc.if_else(finite, texts, pc.binary_join_element_wise(_QUOTE, texts, _QUOTE, _NOTHING))
    return texts.fill_null("null").cast(_BINARY)
