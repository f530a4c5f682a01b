"""Cache keys from headers, checked so that converter `simple` does not read different texts as one key.

``Values.parseString`` reads `007` as 7 and `1::2` as 1. As keys, such headers make one entry from two records.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.redaction import in_message
from ...events import KEY_SPELLED_OTHERWISE, emit
from ...settings.converters import SIMPLE
from ..connect.columns import ConnectPart, Deserialized, Deserializer
from ..scalars.simple import SimpleSerializer, iso_text

_MOST_SHOWN = 40
_SETTING = "header_converter="
WAY_OUT = f"{_SETTING}string reads texts as they are"


def with_remedy(why: str) -> str:
    """Return the reason why a header cannot be read, with the remedy to use another header converter."""
    return why if _SETTING in why else f"{why}; {_SETTING}bytes reads any bytes"


class KeyHeaderDeserializer:
    """Deserializer of the header for the cache key; it refuses texts that `simple` reads ambiguously.

    With converter `simple` a text must equal the text of its value. Another spelling of a number (`007`, `1E-2`) is
    accepted, and event KEY_SPELLED_OTHERWISE names the first such number. Any other text that differs from the text of
    its value (`1::2`, `2024-02-31`) is bad.

    :param header: name of the header, for the event.
    """

    def __init__(self, deserializer: Deserializer, header: str) -> None:
        self._deserializer = deserializer
        self._header = header
        self._reported = False

    @property
    def name(self) -> str:
        """Name of the header converter in settings."""
        return self._deserializer.name

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Deserialize the key headers of a batch, none null."""
        deserialized = self._deserializer.deserialize(data, topic)
        bad = [(row, with_remedy(why)) for row, why in deserialized.bad]
        if self.name != SIMPLE:
            return replace(deserialized, bad=tuple(bad))
        parts = []
        for part in deserialized.parts:
            wrong = self._find_ambiguous(data, part, topic)
            bad += wrong
            parts.append(_drop(part, {row for row, _ in wrong}) if wrong else part)
        return Deserialized(tuple(parts), tuple(sorted(bad)))

    def _find_ambiguous(self, data: pa.BinaryArray, part: ConnectPart, topic: str) -> list[tuple[int, str]]:
        """Return rows, with reasons, whose text differs from the text of the value it was read as."""
        if part.column.schema is None:
            return []
        written = _write(part)
        texts = data.take(pa.array(part.rows))
        bad = []
        for at in np.flatnonzero(np.asarray(pc.not_equal(texts, written))).tolist():
            text = texts[at].as_py().decode()
            read = written[at].as_py().decode()
            if not _is_same_number(text, read):
                what = f"the text {_show(text)} is read as {_show(read)}, so several texts would be one key"
                bad.append((int(part.rows[at]), f"{what}; {WAY_OUT}"))
            elif not self._reported:
                self._reported = True
                emit(KEY_SPELLED_OTHERWISE, topic=topic, header=self._header, text=_show(text), read=_show(read))
        return bad


def _write(part: ConnectPart) -> pa.BinaryArray:
    """Return the only text that is accepted for each value."""
    if pa.types.is_temporal(part.column.data.type):  # converter simple writes times before 1970 without their day
        return iso_text(part.column.data).cast(pa.binary())
    return SimpleSerializer().serialize(part.column, "")


def _is_same_number(text: str, read: str) -> bool:
    try:
        return Decimal(text.strip()) == Decimal(read)
    except InvalidOperation:
        return False


def _drop(part: ConnectPart, wrong: set[int]) -> ConnectPart:
    keep = np.array([row not in wrong for row in part.rows.tolist()])
    column = part.column
    return ConnectPart(part.rows[keep], replace(column, data=column.data.filter(pa.array(keep))))


def _show(text: str) -> str:
    return in_message(text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}...")
