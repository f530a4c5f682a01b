"""Value arrays that librdkafka reads in place, kept in memory until their records are delivered.

After an early release of an array, librdkafka would read foreign memory. So each array has an additional reference,
which neither garbage collection nor the end of the interpreter removes: only :meth:`LentValues.release` does.
"""

from __future__ import annotations

import ctypes

import pyarrow as pa

_MOST_BYTES = 64 << 20


class LentValues:
    """Value arrays of one producer that librdkafka may still read. Not thread-safe.

    :param most: maximum number of bytes kept; further values are copied, because a queue that never gets empty would
        keep all arrays.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._held = 0
        self._arrays: list[pa.BinaryArray] = []

    def lend(self, values: pa.BinaryArray) -> bool:
        """Keep an array in memory until :meth:`release`; return False if librdkafka must copy the values instead."""
        size = sum(buffer.size for buffer in values.buffers() if buffer is not None)
        if self._held + size > self._most:
            return False
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(values))
        self._arrays.append(values)
        self._held += size
        return True

    def release(self) -> None:
        """Release all kept arrays, once librdkafka has delivered or purged their records."""
        for values in self._arrays:
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(values))
        self._arrays = []
        self._held = 0
