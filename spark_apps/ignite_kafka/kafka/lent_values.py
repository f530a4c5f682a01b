"""Values that librdkafka reads in place until their records are delivered, instead of copying each of them.

An array that is freed too early would be read from foreign memory. So each one has a reference that no end of a Python
object takes back, neither garbage collection nor the end of the interpreter: only :meth:`LentValues.release` does.
"""

from __future__ import annotations

import ctypes

import pyarrow as pa

_MOST_BYTES = 64 << 20


class LentValues:
    """The arrays of one producer whose values are in its queue or in flight. Not thread-safe.

    :param most: bytes held at once, beyond which values are copied: a queue that never gets empty would hold all of
        them.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._held = 0
        self._arrays: list[pa.BinaryArray] = []

    def lend(self, values: pa.BinaryArray) -> bool:
        """Keep an array until it is released. False: it is not kept, and librdkafka has to copy its values."""
        size = sum(buffer.size for buffer in values.buffers() if buffer is not None)
        if self._held + size > self._most:
            return False
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(values))
        self._arrays.append(values)
        self._held += size
        return True

    def release(self) -> None:
        """Give all arrays back: librdkafka has delivered or purged every record of them, or is gone."""
        for values in self._arrays:
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(values))
        self._arrays = []
        self._held = 0
