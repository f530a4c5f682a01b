"""Interfaces of the conversion from Ignite entries to Kafka records: whole entries, and one side, keys or values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from ...errors import RegistryError, UnsupportedType, ValueNotWritten
from ...ignite.binary import EntryGroup, EnumPolicy, TypeRef
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import CacheInfo, Page, TypeSource
from ...kafka.records import KeyType, Records
from ..rules.stage import Stage


class Converter(Protocol):
    """Converts pages of entries to records. It keeps caches only: one converter may serve several threads."""

    @property
    def key_name(self) -> str:
        """Name of the converter of keys in the settings."""

    def component(self, stage: Stage) -> type:
        """Return the class that converts the side of a stage, for the headers of dead letters."""

    def check(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Check the cache's types before the first record.

        :param topic: the topic of its records.
        :raises UnsupportedType: the metadata has a type that this converter cannot write.
        """

    def register(self, cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Register the schemas that the cache's metadata declares, before the first record of a run.

        :raises UnsupportedType: the metadata has a type that this converter cannot write.
        :raises RegistryError: a schema registry refuses a schema.
        :raises RegistryUnavailable: it did not answer.
        """

    def convert(
        self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, topic: str = "", in_order: bool = False
    ) -> Records:
        """Convert all entries of the pages to key and value bytes, every entry exactly once.

        :param topic: the records' topic, whose name decides the subjects of a schema registry.
        :param in_order: keep the order of the entries.
        :raises DecodeError: an entry's bytes are broken.
        :raises UnsupportedType: an entry has a type that this converter cannot write.
        """

    def key_forms(
        self, keys: Sequence[bytes], kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, *, topic: str = ""
    ) -> list[list[bytes]]:
        """Return, for each record key, its possible Ignite keys: see :meth:`KeyConverter.key_forms`."""


@dataclass(frozen=True)
class SideContext:
    """Cache, types, topic and enum policy of one side's values."""

    cache: CacheInfo
    types: TypeSource
    topic: str = ""
    enums: EnumPolicy = EnumPolicy.SHORT_NAME


@contextmanager
def naming_cache(cache: CacheInfo) -> Iterator[None]:
    """Add the cache to errors of values that cannot be written or registered."""
    try:
        yield
    except (UnsupportedType, RegistryError) as error:
        raise type(error)(error.what, error.remedy, **{"cache": cache.name} | error.where) from error


@contextmanager
def writing() -> Iterator[None]:
    """Raise a serializer's UnsupportedType as ValueNotWritten."""
    try:
        yield
    except UnsupportedType as error:
        raise ValueNotWritten(error.what, error.remedy, **error.where) from error


class SideConverter(Protocol):
    """Converts one side of decoded entries, keys or values."""

    name: str

    def check(self, context: SideContext) -> None:
        """Check the types of the cache's metadata before the first record; raises UnsupportedType."""

    def register(self, context: SideContext) -> None:
        """Register the declared schemas; the errors of :meth:`Converter.register`."""

    def convert(self, values: pa.Array, kind: TypeRef, context: SideContext) -> pa.BinaryArray:
        """Convert N values of one type to bytes.

        :param values: a column of :class:`~ignite_kafka.ignite.binary.EntryGroup`.
        :raises UnsupportedType: a value that the format cannot hold.
        """


class KeyConverter(SideConverter, Protocol):
    """A side converter of keys, with the kinds and types that their bytes do not show."""

    def key_kinds(self, group: EntryGroup, keys: pa.BinaryArray, context: SideContext) -> set[KeyKind]:
        """Return the kinds of a group's keys, needed to turn their bytes back into Ignite keys."""

    def key_forms(self, keys: Sequence[bytes], kinds: Collection[KeyKind], context: SideContext) -> list[list[bytes]]:
        """Return, for each record key, its possible Ignite keys of these kinds, not wrapped.

        Every key that converts to the record's is among them, where its kind can be turned back
        (:func:`.object_keys.all_turn_back`). Others may be, too: the caller converts them, and compares the bytes.
        """

    def key_types(self, group: EntryGroup, keys: pa.BinaryArray) -> set[KeyType]:
        """Return the types of a group's keys, if two types can give the same bytes."""
