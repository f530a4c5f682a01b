"""Types of a cache's keys, to detect keys of different types that have equal bytes in records.

In JSON a byte, a short and a long 1 are all ``1``, so three entries have the same Kafka key.

Types are compared, not keys: that costs some microseconds a batch, and a type seen once is remembered for the run.
"""

from __future__ import annotations

import functools
import struct
import threading
from collections.abc import Iterable

import pyarrow as pa

from ...common.redaction import in_message
from ...ignite.binary import EntryGroup
from ...ignite.types import type_codes as codes
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.type_table import BY_CODE, code_name, declared_field, field_of
from ...kafka.records import KeyType
from ..rules.decimal_scales import is_decimal, scale_of_text

_NOT_REMEMBERED = frozenset({codes.OBJECT, codes.DECIMAL, codes.ENUM, codes.BINARY_ENUM, codes.OPTIMIZED})
_DIGITS_OF_FLOATS = range(1, 18)
_EXPONENT = "exponent"
_EVERY_TEXT = frozenset({"boolean", "date", _EXPONENT} | {f"digits {count}" for count in range(39)})
_SCHEMA_ID = 16  # position of the schema id in an object's header
_LOOKED_AT = 1_000  # decimals of a batch that are checked


def key_types_of(group: EntryGroup, texts: pa.BinaryArray, decimal_format: str) -> set[KeyType]:
    """Return the types of a group's keys, with the forms of their JSON, to find types with equal JSON.

    :param texts: the keys as JSON.
    """
    column = field_of("", group.key.type, group.key_type.mark)
    if pa.types.is_struct(column.type):
        schemas = {struct.unpack_from("<i", key, _SCHEMA_ID)[0]: row for row, key in group.key_samples}
        return {
            KeyType(group.key_type.name, _fields(schema_id), _shown(texts, row)) for schema_id, row in schemas.items()
        }
    if not is_decimal(column):
        return {KeyType(group.key_type.name, _shapes(column), _shown(texts, 0))}
    return {
        KeyType(f"{group.key_type.name} of scale {scale}", _of_scale(scale, decimal_format), _shown(texts, row))
        for scale, row in _scales(group.key).items()
    }


def text_key_types_of(group: EntryGroup, texts: pa.BinaryArray) -> set[KeyType]:
    """Return the types of a group's keys, with the forms of their text by converter `string`, to find equal texts.

    :param texts: the keys as text.
    """
    column = field_of("", group.key.type, group.key_type.mark)
    if is_decimal(column):
        scales = _scales(group.key)
        return {
            KeyType(f"{group.key_type.name} of scale {s}", frozenset({f"digits {s}", _EXPONENT}), _shown(texts, row))
            for s, row in scales.items()
        }
    kind = column.type
    types = pa.types
    if types.is_string(kind):
        shapes = _EVERY_TEXT  # a String may equal the text of any value
    elif types.is_floating(kind):
        shapes = _EVERY_TEXT - {"boolean", "date", "digits 0"}
    else:
        shapes = frozenset({"boolean" if types.is_boolean(kind) else "date" if types.is_temporal(kind) else "digits 0"})
    return {KeyType(group.key_type.name, shapes, _shown(texts, 0))}


def connect_key_types_of(group: EntryGroup) -> set[KeyType]:
    """Return the type of a group's keys, with their Connect schema, to find types with equal record keys.

    The schema of an object has the name of its class.
    """
    kind = group.key_type
    if pa.types.is_struct(group.key.type):
        shape = f"struct {kind.name}"
    elif kind.mark == "enum":
        shape = "STRING" if pa.types.is_string(group.key.type) else "INT32"
    else:
        shape = BY_CODE[kind.code].connect if kind.code in BY_CODE else kind.name
    return {KeyType(kind.name, frozenset({shape}))}


def remembered(kinds: Iterable[KeyKind]) -> set[KeyType]:
    """Return the simple key types that offset records show for earlier tasks and runs.

    Offset records have only simple types, without decimals and enums.
    """
    simple = {kind[0] for kind in kinds} - _NOT_REMEMBERED
    return {KeyType(code_name(code), _shapes(declared_field("", code))) for code in simple}


class KeyTypes:
    """Types of a cache's keys that a process has seen in a run. Threads may share it."""

    def __init__(self) -> None:
        self.coinciding: list[tuple[KeyType, KeyType]] = []
        self._seen: set[KeyType] = set()
        self._lock = threading.Lock()

    def meet(self, types: Iterable[KeyType]) -> list[tuple[KeyType, KeyType]]:
        """Add key types; return the new pairs of types whose keys may have equal bytes.

        :attr:`coinciding` has all pairs.
        """
        with self._lock:
            before = len(self.coinciding)
            for key_type in sorted(set(types) - self._seen, key=_order):
                self.coinciding += [
                    (other, key_type) for other in sorted(self._seen, key=_order) if _coincide(other, key_type)
                ]
                self._seen.add(key_type)
            return self.coinciding[before:]


def _order(key_type: KeyType) -> tuple[str, list[str]]:
    return key_type.name, sorted(key_type.shapes)


def _coincide(first: KeyType, second: KeyType) -> bool:
    return first.name != second.name and not first.shapes.isdisjoint(second.shapes)


@functools.lru_cache(maxsize=10_000)
def key_types_in(connector: str, generation: int, cache: str) -> KeyTypes:
    """Return the key types of a cache seen by this process in a run, shared by tasks and slots."""
    return KeyTypes()


def _shown(texts: pa.BinaryArray, row: int) -> str:
    text: bytes = texts[row].as_py()
    return in_message(text[:80].decode(errors="replace"))


def _fields(schema_id: int) -> frozenset[str]:
    """Return the form of JSON objects as a shape, made of the schema id of the Ignite objects.

    Objects of several types have the same JSON if they have the same fields in the same order, and so the same schema
    id.
    """
    return frozenset({f"fields {schema_id}"})


def _of_scale(scale: int, decimal_format: str) -> frozenset[str]:
    return frozenset({"text" if decimal_format == "BASE64" else f"digits {scale}"})


def _scales(decimals: pa.Array) -> dict[int, int]:
    """Return a sample row for each scale among a batch's first decimals."""
    if pa.types.is_decimal(decimals.type):
        return {decimals.type.scale: 0}
    rows: dict[int, int] = {}
    for row, text in enumerate(decimals.slice(0, _LOOKED_AT).to_pylist()):
        rows.setdefault(scale_of_text(text), row)
    return rows


def _shapes(column: pa.Field) -> frozenset[str]:
    """Return the forms that the JSON of a column's values may have, as shapes; not for structs and decimals."""
    kind = column.type
    types = pa.types
    if types.is_boolean(kind):
        return frozenset({"boolean"})
    if types.is_integer(kind) or types.is_temporal(kind):
        return frozenset({"digits 0"})
    if types.is_floating(kind):
        return frozenset(f"digits {count}" for count in _DIGITS_OF_FLOATS)
    if types.is_string(kind) or types.is_binary(kind):
        return frozenset({"text"})
    return frozenset({"list"} if types.is_list(kind) else ())
