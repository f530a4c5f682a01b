"""Converter `string`: scalars as text, as Kafka Connect's StringConverter writes and reads them.

There are two differences, so that no data is lost: a character missing in the encoding is refused, where Java writes a
question mark; and bytes that are no text make a bad record, where Java reads U+FFFD.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...errors import UnsupportedType
from ...java.text import java_text
from ...settings.encodings import CODECS
from ..connect.columns import ConnectColumn, ConnectPart, Deserialized
from ..connect.schema import TIME, TIMESTAMP, ConnectSchema, ConnectType, scale_of

UTF_8 = "UTF-8"
_UTF_16 = "UTF-16"
_BIG_MARK = b"\xfe\xff"
_LITTLE_MARK = b"\xff\xfe"
_CONTAINERS = frozenset({ConnectType.STRUCT, ConnectType.MAP, ConnectType.ARRAY})
_TEXT = ConnectSchema(ConnectType.STRING, optional=True)
_REMEDY = "Use the converter json, or copy a field that is a scalar"


class StringSerializer:
    """Serializer of booleans, numbers, decimals, strings, dates and times as text.

    :param encoding: one of :data:`~ignite_kafka.settings.encodings.CODECS`.
    :param of_key: whether keys are written: then times are refused, because their text has no milliseconds and several
        keys would have the same text.
    """

    name = "string"

    def __init__(self, encoding: str = UTF_8, *, of_key: bool = False) -> None:
        self._encoding = encoding
        self._of_key = of_key

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Raise UnsupportedType for a schema whose text cannot be read back: structs, maps, arrays, bytes."""
        if schema.type in _CONTAINERS or (schema.type is ConnectType.BYTES and scale_of(schema) is None):
            kind = "an object" if schema.type is ConnectType.STRUCT else f"of type {schema.type}"
            name = f" ({schema.name})" if schema.name else ""
            raise UnsupportedType(f"the value is {kind}{name}, which the converter string cannot write", f"{_REMEDY}.")
        if self._of_key and schema.name in (TIMESTAMP, TIME):
            what = "the key has milliseconds, which its text in Java lacks: several keys would be one"
            raise UnsupportedType(what, "Use the converter json for keys.")

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the text of each value in the encoding; null for null.

        :raises UnsupportedType: values have another type, or the encoding does not have a character of a text.
        """
        if column.schema is None:
            raise UnsupportedType(
                "values without a schema have no text", "Set schemaless to false, or use the converter json."
            )
        self.check(column.schema, topic)
        texts = java_text(column.data)
        if self._encoding == UTF_8:
            return texts.cast(pa.binary())
        return pa.array([None if text is None else self._encode(text) for text in texts.to_pylist()], pa.binary())

    def _encode(self, text: str) -> bytes:
        if self._encoding == _UTF_16:
            return _BIG_MARK + text.encode("utf-16-be") if text else b""
        try:
            return text.encode(CODECS[self._encoding])
        except UnicodeEncodeError as error:
            what = f"the text has the character U+{ord(text[error.start]):04X}, which {self._encoding} does not have"
            raise UnsupportedType(what, f"Set converter.encoding to {UTF_8}.") from None


class StringDeserializer:
    """Deserializer of texts as optional STRING."""

    name = "string"

    def __init__(self, encoding: str = UTF_8) -> None:
        self._encoding = encoding

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Decode texts; bytes that are no text in the encoding make bad rows."""
        if self._encoding == UTF_8:
            try:
                return _part(np.arange(len(data)), data.cast(pa.string()))
            except pa.ArrowInvalid:
                pass  # some values are no text: values are decoded one by one
        rows = []
        texts = []
        bad = []
        for row, item in enumerate(data.to_pylist()):
            try:
                texts.append(self._decode(item))
                rows.append(row)
            except UnicodeDecodeError as error:
                bad.append((row, f"byte {error.start} is no text in {self._encoding} (converter.encoding)"))
        return _part(np.array(rows, np.int64), pa.array(texts, pa.string()), tuple(bad))

    def _decode(self, data: bytes) -> str:
        if self._encoding != _UTF_16:
            return data.decode(CODECS[self._encoding])
        if data.startswith(_LITTLE_MARK):
            return data[2:].decode("utf-16-le")
        return data.removeprefix(_BIG_MARK).decode("utf-16-be")


def _part(rows: np.ndarray, texts: pa.StringArray, bad: tuple[tuple[int, str], ...] = ()) -> Deserialized:
    return Deserialized((ConnectPart(rows, ConnectColumn(texts, _TEXT)),) if len(rows) else (), bad)
