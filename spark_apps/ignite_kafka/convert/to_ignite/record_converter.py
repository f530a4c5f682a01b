"""Converts records of a topic to entries of a cache: reads both sides, makes the key by its policy, separates bad records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...ignite.types.model import CacheInfo, TypeSource, TypeUse
from ...kafka.headers import last_values
from ...kafka.records import Consumed
from ...settings.converters import IGNITE_BINARY
from ..connect.columns import Deserializer
from ..ignite_binary.deserializer import BinaryReader
from ..ignite_types.converted_side import ConvertedSide, Reader, read_rows
from ..ignite_types.entries import BadRecord, Entries, Types
from ..json.reader import JsonReader
from ..rules.stage import Stage
from .connect_values import ConnectReader
from .conversion_rules import ConversionRules, SideRules
from .key_policy import Keys, RecordKeys, keys_by_policy
from .readers import Readers

_NULL_JSON = pa.scalar(b"null", pa.binary())
_CONVERTS = {"key": Stage.KEY, "value": Stage.VALUE, "header": Stage.HEADER}
_LAST_FIRST = (
    Stage.PUT,
    Stage.HEADER,
    Stage.VALUE,
    Stage.KEY,
)  # Kafka Connect converts keys first, and names the first failure


class RecordConverter:
    """Converts the records of one topic for one cache. It learns types from batch to batch. For one thread.

    :param carried: source of the types of values in Ignite's binary format; None: `types`.
    :param topic: name of the topic, by which a registry knows schemas.
    :param uses: classes and types that the topic's source has seen.
    :param deserializers: makes the deserializer of a side
        (:func:`~ignite_kafka.convert.connect_converters.deserializer`).
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
        self._readers: Readers | None = None
        self._key_side = rules.key_policy if rules.key_policy in _CONVERTS else "key"
        self._header = rules.key_fields[0] if self._key_side == "header" else ""
        reads_keys = rules.key_policy != "key" or rules.key.converter != IGNITE_BINARY
        if not reads_keys and rules.value.converter == IGNITE_BINARY:
            return
        self.uses = frozenset(uses)
        self._readers = readers = Readers(cache, types, rules, topic, deserializers, self.uses)
        if rules.value.converter != IGNITE_BINARY:
            self._value = readers.value()
            self._json_value = isinstance(self._value, JsonReader)
        if reads_keys:
            self._keys = keys_by_policy(rules.key_policy, rules.key_fields, readers)

    def convert(self, consumed: Consumed) -> Entries:
        """The records as entries, in their order, and the bad records with their reasons.

        A null value removes its key. So does a value that its converter reads as null, such as JSON's: Kafka Connect
        passes both alike.

        :raises TypeClash: a query entity declares a field otherwise than the cluster's binary metadata.
        """
        there = self._with_value(consumed.values)
        values = read_rows(self._value_reader(consumed.head), consumed.values, there)
        keys = self._keys.read(consumed)
        found = [
            *self._bad(consumed, "value", "value", values.bad),
            *self._bad(consumed, "key", self._key_side, keys.bad),
        ]
        bad = {one.row: one for one in sorted(found, key=lambda one: _LAST_FIRST.index(one.stage))}
        key_of = _places(keys, len(consumed))
        value_of = _places(values, len(consumed))
        rows = np.flatnonzero((key_of >= 0) & ((value_of >= 0) | ~there))
        place = value_of[rows]
        return Entries(
            rows,
            _take_or_null(keys.data, key_of[rows]),
            _take_or_null(values.data, place),
            tuple(bad[row] for row in sorted(bad)),
        )

    def _bad(self, consumed: Consumed, part: str, side: str, bad: Sequence[tuple[int, str]]) -> list[BadRecord]:
        """Records without a usable part, key or value, of the entry. Their stage is PUT if the side's converter alone can read the bytes.

        :param side: of the record that the part is made of: key, value or header.
        """
        if not bad:
            return []
        data = self._bytes_of(consumed, side)
        rows = [row for row, _ in bad if data[row].is_valid]
        unread = (
            self._readers.unread(side, data.take(pa.array(rows, pa.int64())))
            if self._readers is not None
            else range(len(rows))
        )
        failed = {rows[at] for at in unread}
        return [
            BadRecord(row, _CONVERTS[side], why) if row in failed else BadRecord(row, Stage.PUT, why, {"part": part})
            for row, why in bad
        ]

    def _bytes_of(self, consumed: Consumed, side: str) -> pa.BinaryArray:
        if side == "key":
            return consumed.keys
        if side == "header":
            assert consumed.headers is not None, "records whose headers were not read"
            return last_values(consumed.headers, self._header)[0]
        return pc.binary_join_element_wise(consumed.head, consumed.values, b"") if consumed.head else consumed.values

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


def _places(side: ConvertedSide, count: int) -> RowIndex:
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
