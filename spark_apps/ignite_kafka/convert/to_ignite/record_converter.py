"""Conversion of a topic's records to entries of a cache, with the bad records separated.

Keys and values are read, keys are made by the key policy, and bad records are separated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import RowIndex
from ...ignite.types.model import CacheInfo, TypeSource, TypeUse
from ...kafka.records import Consumed
from ...settings.converters import IGNITE_BINARY
from ..connect.columns import Deserializer
from ..ignite_binary.deserializer import BinaryReader
from ..ignite_types.converted_side import ConvertedSide
from ..ignite_types.entries import BadRecord, Entries, Types
from ..ignite_types.table_contract import ContractBreach
from ..json.reader import JsonReader
from ..rules.failure_stages import CONTRACT, Stage
from .conversion_rules import ConversionRules, SideRules
from .key_policy import Keys, RecordKeys, keys_by_policy
from .readers import Readers
from .record_sides import AnyReader, ReadSide, RecordSides, SideReaders

_NULL_JSON = pa.scalar(b"null", pa.binary())
_CONVERTS = {"key": Stage.KEY, "value": Stage.VALUE, "header": Stage.HEADER}
# Kafka Connect converts keys first, and reports only the first failure
_LAST_FIRST = (
    Stage.PUT,
    Stage.HEADER,
    Stage.VALUE,
    Stage.KEY,
)


class RecordConverter:
    """Converter of one topic's records to entries of one cache; it learns types from batch to batch.

    Threads must not share it.

    :param binary_types: source of the types of values in Ignite's binary format; None: `types`.
    :param topic: name of the topic, for the subjects of a registry.
    :param uses: classes and types that the topic's source has seen.
    :param deserializers: function that returns the deserializer of a side
        (:func:`~ignite_kafka.convert.connect_converters.deserializer`).
    :param read_sides: sides that :meth:`convert` gets already read.
    :raises UnsupportedType: the cache's types cannot be read from such records.
    """

    def __init__(
        self,
        cache: CacheInfo,
        types: Types,
        rules: ConversionRules | None = None,
        binary_types: TypeSource | None = None,
        *,
        deserializers: Callable[[str, SideRules], Deserializer | None],
        topic: str = "",
        uses: Iterable[TypeUse] = (),
        read_sides: frozenset[str] = frozenset(),
    ) -> None:
        self.cache = cache
        rules = rules or ConversionRules()
        binary = BinaryReader(cache, binary_types or types)
        self._keys: Keys = RecordKeys(binary)
        self._value: AnyReader = binary
        self._json_value = False
        self._days: Set[tuple[str, str]] = frozenset()
        self.uses: frozenset[TypeUse] | None = None  # uses of this converter; None: values name their types
        self._sides = SideReaders({}, topic)
        self._key_side = rules.key_policy if rules.key_policy in _CONVERTS else "key"
        reads_keys = rules.key_policy != "key" or rules.key.converter != IGNITE_BINARY
        if not reads_keys and rules.value.converter == IGNITE_BINARY:
            return
        self.uses = frozenset(uses)
        readers = Readers(cache, types, rules, topic, deserializers, self.uses, read_sides)
        self._sides = readers.sides
        self._days = readers.objects.days
        if rules.value.converter != IGNITE_BINARY:
            self._value = readers.value()
            self._json_value = isinstance(self._value, JsonReader)
        if reads_keys:
            self._keys = keys_by_policy(rules.key_policy, rules.key_fields, readers)

    @property
    def days(self) -> Set[tuple[str, str]]:
        """Binary types and fields, in lower case, that records have as days, and objects as java.sql.Date."""
        return self._days

    def convert(self, consumed: Consumed, read: Mapping[str, ReadSide] = MappingProxyType({})) -> Entries:
        """Convert records to entries, in their order; return also the bad records, with reasons.

        A null value removes its key, and so does a value that its converter reads as null, such as JSON's null: Kafka
        Connect passes both alike.

        :param read: sides that are already read, used instead of their bytes.
        :raises TypeClash: a field is declared differently in a query entity and in the cluster's binary metadata.
        """
        sides = RecordSides(consumed, self._sides, read)
        has_value = sides.valid("value")
        if self._json_value:  # in other formats these four letters are not null
            has_value &= ~np.asarray(pc.fill_null(pc.equal(consumed.values, _NULL_JSON), True))
        values = sides.convert("value", self._value, has_value)
        keys = self._keys.read(sides)
        bad_records = [
            *_collect_bad(sides, "value", "value", values.bad),
            *_collect_bad(sides, "key", self._key_side, keys.bad),
        ]
        bad = {record.row: record for record in sorted(bad_records, key=lambda record: _LAST_FIRST.index(record.stage))}
        key_of = _locate(keys, len(consumed))
        value_of = _locate(values, len(consumed))
        rows = np.flatnonzero((key_of >= 0) & ((value_of >= 0) | ~has_value))
        place = value_of[rows]
        return Entries(
            rows,
            _take_or_null(keys.data, key_of[rows]),
            _take_or_null(values.data, place),
            tuple(bad[row] for row in sorted(bad)),
        )


def _collect_bad(sides: RecordSides, part: str, side: str, bad: Sequence[tuple[int, str]]) -> list[BadRecord]:
    """Return the bad records for rows from which an entry's key or value (`part`) could not be made.

    Their stage is PUT if the side's converter can read the record.

    :param side: side of the record used for the part: key, value or header.
    """
    if not bad:
        return []
    unread = sides.unread(side, [row for row, _ in bad])
    return [
        BadRecord(row, _CONVERTS[side], why)
        if row in unread
        else BadRecord(row, Stage.PUT, str(why), _details(part, why))
        for row, why in bad
    ]


def _details(part: str, why: str) -> dict[str, str]:
    return {"part": part, CONTRACT: why.contract} if isinstance(why, ContractBreach) else {"part": part}


def _locate(side: ConvertedSide, count: int) -> RowIndex:
    """Return each row's position in the converted keys or values; -1 for a row without one."""
    places = np.full(count, -1, np.int64)
    places[side.rows] = np.arange(len(side.rows))
    return places


def _take_or_null(data: pa.BinaryArray, places: RowIndex) -> pa.BinaryArray:
    """Return the bytes at some positions; null for position -1."""
    if places.size == len(data) and np.array_equal(places, np.arange(places.size)):
        return data
    missing = places < 0
    if not len(data):
        return pa.nulls(places.size, pa.binary())
    return data.take(pa.array(np.where(missing, 0, places), mask=missing))
