"""Readers of a topic's record keys, values and headers, made by the conversion rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import pyarrow as pa

from ...ignite.types.model import CacheInfo, TypeUse
from ...settings.converters import AVRO, IGNITE_BINARY, SIMPLE
from ..connect.columns import Deserializer
from ..ignite_types.entries import Types
from ..ignite_types.key_types import types_of_keys
from ..ignite_types.object_types import ObjectTypes
from ..ignite_types.resolve_types import entry_types
from ..ignite_types.sql_columns import sql_columns
from ..ignite_types.used_types import with_uses
from ..json.envelopes import are_columns
from ..json.reader import JsonReader
from .connect_values import ConnectReader
from .conversion_rules import ConversionRules, SideRules
from .header_keys import KeyHeaderDeserializer
from .record_sides import AnyReader, SideReaders
from .scrubbed_names import ScrubbedNames


class Readers:
    """Factory of the readers for one topic and one cache, which share the cache's types.

    :param uses: classes and types that the source has seen (:func:`~.used_types.with_uses`).
    :param deserializers: see :class:`~.record_converter.RecordConverter`; `read_sides` likewise.
    """

    def __init__(
        self,
        cache: CacheInfo,
        types: Types,
        rules: ConversionRules,
        topic: str,
        deserializers: Callable[[str, SideRules], Deserializer | None],
        uses: Iterable[TypeUse] = (),
        read_sides: frozenset[str] = frozenset(),
    ) -> None:
        self._cache = cache
        self._rules = rules
        self._read_sides = read_sides
        self._scrubbed = ScrubbedNames.of(use.name for use in uses if use.type_id)
        sides = {"key": rules.key, "value": rules.value}
        by_side = {
            side: deserializers(side, side_rules)
            for side, side_rules in sides.items()
            if side_rules.converter != IGNITE_BINARY and side not in read_sides
        }
        values = "value" in read_sides or by_side.get("value") is not None
        header = ""
        if rules.key_policy == "header":
            header = rules.key_fields[0]
            if "header" not in read_sides:
                headers = deserializers("header", rules.header)
                by_side["header"] = headers and KeyHeaderDeserializer(headers, header)
        self.sides = SideReaders(by_side, topic, header, joined=rules.key_policy != "value")
        # a value in Ignite's binary format names its type, too
        several = values or rules.value.converter == IGNITE_BINARY
        declared = entry_types(cache, types, several=several)
        always = {name: tuple(field.name.lower() for field in fields) for name, fields in declared.objects.items()}
        self.entry_types = with_uses(declared, cache, types, uses)
        keys = types_of_keys(self.entry_types)
        classes = keys - self.entry_types.key_objects - {f"{cache.name}.Key"}
        columns = sql_columns(cache, types, rules.schema_contract)
        self.objects = ObjectTypes(
            types, self.entry_types.objects, keys, columns=columns, always=always, key_classes=classes
        )

    @property
    def reads_types_of_headers(self) -> bool:
        """Whether the header converter guesses types from texts, as `simple` does."""
        return self._rules.header.converter == SIMPLE

    def value(self) -> AnyReader:
        """Return the reader that converts record values to cache values."""
        return self._make_reader("value", "value", self.entry_types.value, self.objects)

    def key(
        self,
        side: str,
        root: pa.Field,
        objects: ObjectTypes | None = None,
        chosen: tuple[str, ...] = (),
        *,
        alone: bool = False,
    ) -> AnyReader:
        """Return the reader that makes cache keys from record keys, values or headers.

        :param side: `key`, `value` or `header`.
        :param root: for JSON without schemas: field with the type of the objects with the chosen members; `objects` has
            this type, if given.
        :param chosen: see :class:`~.json.JsonReader`; `alone` likewise.
        """
        return self._make_reader(side, "key", root, objects or self.objects, chosen, alone=alone)

    def _make_reader(
        self,
        side: str,
        part: str,
        root: pa.Field,
        objects: ObjectTypes,
        chosen: tuple[str, ...] = (),
        *,
        alone: bool = False,
    ) -> AnyReader:
        rules: SideRules = getattr(self._rules, side)
        texts = partial(
            JsonReader, root, objects, rules.json_format, chosen=chosen, alone=alone, date_zone=self._rules.zone
        )
        if side not in self._read_sides and self.sides.deserializers[side] is None:
            return texts(enveloped=None if are_columns(self._cache, side) else side)
        whole = self.entry_types.key if part == "key" else self.entry_types.value
        return ConnectReader(
            whole,
            self.objects,
            texts(),
            of_key=part == "key",
            chosen=chosen,
            alone=alone,
            only=self.entry_types.value_types if part == "value" else (),
            zone=self._rules.zone,
            scrubbed=self._scrubbed if rules.converter == AVRO else None,
        )
