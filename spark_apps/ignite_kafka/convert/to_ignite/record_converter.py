"""Converts records of a topic to entries of a cache: reads both sides, makes the key by its policy, separates bad records."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...ignite.types.model import CacheInfo, TypeSource, TypeUse
from ...kafka.records import Consumed
from ...settings.converters import IGNITE_BINARY
from ..connect.columns import Deserializer
from ..rules.stage import Stage
from .connect_values import ConnectReader
from .conversion_rules import ConversionRules, SideRules
from .entries import BadRecord, Entries, Types
from .ignite_binary import BinaryReader
from .json import JsonReader, Reader, Side, read_rows
from .key_policy import Keys, RecordKeys, keys_by_policy
from .readers import Readers

_NULL_JSON = pa.scalar(b"null", pa.binary())


class RecordConverter:
    """Converts the records of one topic for one cache. It learns types from batch to batch. For one thread.

    :param carried: source of the types of values in Ignite's binary format; None: `types`.
    :param topic: name of the topic, by which a registry knows schemas.
    :param uses: classes and types that the topic's source has seen.
    :param deserializers: makes the deserializer of a side (:func:`~ignite_kafka.convert.connect_converters.deserializer`).
    :raises UnsupportedType: the cache's types cannot be read from such records.
    """

    def __init__(
        self,
        cache: CacheInfo,
        types: Types,
        rules: ConversionRules | None = None,
        carried: TypeSource | None = None,
        *,
        deserializers: Callable[[str, SideRules], Deserializer | None],
        topic: str = "",
        uses: Iterable[TypeUse] = (),
    ) -> None:
        self.cache = cache
        rules = rules or ConversionRules()
        binary = BinaryReader(cache, carried or types)
        self._keys: Keys = RecordKeys(binary)
        self._value: Reader = binary
        self._json_value = False
        self.uses: frozenset[TypeUse] | None = None  # that it was made by; None: values name their types
        reads_keys = rules.key_policy != "key" or rules.key.converter != IGNITE_BINARY
        if not reads_keys and rules.value.converter == IGNITE_BINARY:
            return
        self.uses = frozenset(uses)
        readers = Readers(cache, types, rules, topic, deserializers, self.uses)
        if rules.value.converter != IGNITE_BINARY:
            self._value = readers.value()
            self._json_value = isinstance(self._value, JsonReader)
        if reads_keys:
            self._keys = keys_by_policy(rules.key_policy, rules.key_fields, readers)

    def convert(self, consumed: Consumed) -> Entries:
        """The records as entries, in their order, and the bad records with their reasons.

        A null value removes its key. So does a value that its converter reads as null, such as JSON's: Kafka Connect passes both alike.

        :raises TypeClash: a query entity declares a field otherwise than the cluster's binary metadata.
        """
        there = self._with_value(consumed.values)
        values = read_rows(self._value_reader(consumed.head), consumed.values, there)
        keys = self._keys.read(consumed)
        bad = {row: BadRecord(row, Stage.VALUE, why) for row, why in values.bad}
        bad |= {row: BadRecord(row, Stage.KEY, why) for row, why in keys.bad}
        key_of, value_of = _places(keys, len(consumed)), _places(values, len(consumed))
        rows = np.flatnonzero((key_of >= 0) & ((value_of >= 0) | ~there))
        place = value_of[rows]
        return Entries(
            rows,
            _take_or_null(keys.data, key_of[rows]),
            _take_or_null(values.data, place),
            tuple(bad[row] for row in sorted(bad)),
        )

    def _value_reader(self, head: bytes) -> Reader:
        if not head:
            return self._value
        assert isinstance(self._value, ConnectReader), "a head is cut from values whose reader needs it"
        return self._value.behind(head)

    def _with_value(self, values: pa.BinaryArray) -> Mask:
        """True for records with a value; the others remove their keys."""
        there: Mask = np.array(values.is_valid())
        if self._json_value:  # in other formats these four letters are not null
            there &= ~np.asarray(pc.fill_null(pc.equal(values, _NULL_JSON), True))
        return there


def _places(side: Side, count: int) -> RowIndex:
    """Position of each row of the batch in the side's data, -1 if it has none."""
    places = np.full(count, -1, np.int64)
    places[side.rows] = np.arange(len(side.rows))
    return places


def _take_or_null(data: pa.BinaryArray, places: RowIndex) -> pa.BinaryArray:
    """Values at these positions, null for -1."""
    if places.size == len(data) and np.array_equal(places, np.arange(places.size)):
        return data
    missing = places < 0
    if not len(data):
        return pa.nulls(places.size, pa.binary())
    return data.take(pa.array(np.where(missing, 0, places), mask=missing))
