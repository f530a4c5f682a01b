"""Converts records of a topic to entries of a cache: reads both sides, makes the key by its policy, separates bad records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...errors import SettingsError
from ...ignite.types.model import CacheInfo, TypeSource
from ...kafka.records import Consumed
from ..rules.stage import Stage
from ..to_kafka.json_columns import JsonFormat
from .entries import BadRecord, Entries, Types
from .envelopes import are_columns
from .ignite_binary import BinaryReader
from .json import JsonReader, Reader, Side, read_rows
from .key_policy import Keys, RecordKeys, keys_by_policy
from .object_types import ObjectTypes
from .resolve_types import entry_types

CONVERTERS = ("json", "ignite-binary")
KEY_POLICIES = ("key", "value", "kafka")

_NULL_JSON = pa.scalar(b"null", pa.binary())


@dataclass(frozen=True)
class ConversionRules:
    """Rules of the conversion.

    :param key_policy: source of an entry's key: the record's `key`, fields of its `value`, or `kafka` (topic, partition, offset).
    :param key_fields: for `key` and `value` the names of the key's fields, empty for the whole key; for `kafka` names for its three fields.
    :param decimal_format: BASE64 or NUMERIC, as ``decimal.format`` of Kafka Connect's JsonConverter.
    :raises SettingsError: an option has another value, or the options contradict each other.
    """

    key_converter: str = "json"
    value_converter: str = "json"
    key_policy: str = "key"
    key_fields: tuple[str, ...] = ()
    decimal_format: str = "BASE64"

    def __post_init__(self) -> None:
        _one_of("key_converter", self.key_converter, CONVERTERS)
        _one_of("value_converter", self.value_converter, CONVERTERS)
        _one_of("key_policy", self.key_policy, KEY_POLICIES)
        _one_of("decimal_format", self.decimal_format, ("BASE64", "NUMERIC"))
        side = {"key": self.key_converter, "value": self.value_converter}.get(self.key_policy)
        if self.key_policy == "value" and not self.key_fields:
            raise SettingsError("key_policy is 'value', and no key_fields are given", "Name the fields of the value.", setting="key_fields")
        if self.key_policy == "kafka" and len(self.key_fields) not in (0, 3):
            what = f"key_policy is 'kafka', and there are {len(self.key_fields)} key_fields"
            raise SettingsError(what, "Name three: of topic, partition and offset; or none.", setting="key_fields")
        if self.key_fields and side == "ignite-binary":
            what = f"key_fields are given, and the {self.key_policy}_converter is ignite-binary, whose fields are not looked into"
            raise SettingsError(what, "Use converter json, or leave key_fields out.", setting="key_fields")


class RecordConverter:
    """Converts the records of one topic for one cache. It learns types from batch to batch. For one thread.

    :param carried: source of the types of values in Ignite's binary format; None: `types`.
    :raises UnsupportedType: the cache's types cannot be read from such records.
    """

    def __init__(self, cache: CacheInfo, types: Types, rules: ConversionRules | None = None, carried: TypeSource | None = None) -> None:
        self._rules = rules = rules or ConversionRules()
        binary = BinaryReader(cache, carried or types)
        self._keys: Keys = RecordKeys(binary)
        self._value: Reader = binary
        if (rules.key_converter, rules.value_converter, rules.key_policy) == ("ignite-binary", "ignite-binary", "key"):
            return
        known = entry_types(cache, types)
        objects, form = ObjectTypes(types, known.objects, known.key_objects), JsonFormat(rules.decimal_format)
        if rules.value_converter == "json":
            self._value = JsonReader(known.value, objects, form, enveloped=_enveloped(cache, "value"))
        if rules.key_policy != "key" or rules.key_fields or rules.key_converter == "json":
            enveloped = _enveloped(cache, "value" if rules.key_policy == "value" else "key")
            self._keys = keys_by_policy(rules.key_policy, rules.key_fields, known, objects, form, enveloped)

    def convert(self, consumed: Consumed) -> Entries:
        """The records as entries, in their order, and the bad records with their reasons.

        A null value removes its key. So does JSON's null with the json converter, as Kafka Connect passes both to a sink alike.

        :raises TypeClash: a query entity declares a field otherwise than the cluster's binary metadata.
        """
        there = self._with_value(consumed.values)
        values = read_rows(self._value, consumed.values, there)
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

    def _with_value(self, values: pa.BinaryArray) -> Mask:
        """True for records with a value; the others remove their keys."""
        there: Mask = np.array(values.is_valid())
        if self._rules.value_converter == "json":  # in other formats these four letters are not null
            there &= ~np.asarray(pc.fill_null(pc.equal(values, _NULL_JSON), True))
        return there


def _enveloped(cache: CacheInfo, side: str) -> str | None:
    return None if are_columns(cache, side) else side


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


def _one_of(setting: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SettingsError(f"{setting} is {value!r}", f"Use one of {', '.join(allowed)}.", setting=setting)
