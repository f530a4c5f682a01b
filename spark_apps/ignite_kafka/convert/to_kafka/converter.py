"""Interfaces of the conversion from Ignite entries to Kafka records: of whole entries, and of keys or values."""

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
from ..rules.failure_stages import Stage


class Converter(Protocol):
    """Converter of pages of entries to records. It has no state but caches, so threads may share it."""

    @property
    def key_name(self) -> str:
        """Name of the converter of keys in settings."""

    def component(self, stage: Stage) -> type:
        """Return the class of the converter for a stage, of keys or of values, for a dead letter's headers."""

    def check(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Check the cache's types before the first record.

        :param topic: topic of the cache's records.
        :raises UnsupportedType: this converter cannot write a type in the metadata.
        """

    def register(self, cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Register the schemas declared by the cache's metadata, before the first record of a run.

        :raises UnsupportedType: this converter cannot write a type in the metadata.
        :raises RegistryError: a schema registry refuses a schema.
        :raises RegistryUnavailable: the registry did not answer.
        """

    def convert(
        self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, topic: str = "", in_order: bool = False
    ) -> Records:
        """Convert each entry of the pages, exactly once, to the bytes of a record's key and value.

        :param topic: the records' topic, whose name decides the subjects of a schema registry.
        :param in_order: keep the order of the entries.
        :raises DecodeError: an entry's bytes are broken.
        :raises UnsupportedType: this converter cannot write the type of an entry.
        """

    def key_forms(
        self, keys: Sequence[bytes], kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, *, topic: str = ""
    ) -> list[list[bytes]]:
        """Return all possible Ignite keys of each record key; see :meth:`KeyConverter.key_forms`."""


@dataclass(frozen=True)
class SideContext:
    """Cache, types, topic and enum policy for the conversion of keys or values."""

    cache: CacheInfo
    types: TypeSource
    topic: str = ""
    enums: EnumPolicy = EnumPolicy.SHORT_NAME


@contextmanager
def naming_cache(cache: CacheInfo) -> Iterator[None]:
    """Add the cache's name to errors raised in the context, if values cannot be written or registered."""
    try:
        yield
    except (UnsupportedType, RegistryError) as error:
        raise type(error)(error.what, error.remedy, **{"cache": cache.name} | error.where) from error


@contextmanager
def writing() -> Iterator[None]:
    """Raise an UnsupportedType in the context as ValueNotWritten."""
    try:
        yield
    except UnsupportedType as error:
        raise ValueNotWritten(error.what, error.remedy, **error.where) from error


class SideConverter(Protocol):
    """Converter of one side of decoded entries: keys or values."""

    name: str

    def check(self, context: SideContext) -> None:
        """Check the types of the cache's metadata before the first record; raise UnsupportedType."""

    def register(self, context: SideContext) -> None:
        """Register the declared schemas; raise the errors of :meth:`Converter.register`."""

    def convert(self, values: pa.Array, kind: TypeRef, context: SideContext) -> pa.BinaryArray:
        """Convert N values of one type to bytes.

        :param values: a column of :class:`~ignite_kafka.ignite.binary.EntryGroup`.
        :raises UnsupportedType: the format cannot hold a value.
        """


class KeyConverter(SideConverter, Protocol):
    """A converter of keys that also returns kinds and types of keys, because record keys do not show them."""

    def key_kinds(self, group: EntryGroup, keys: pa.BinaryArray, context: SideContext) -> set[KeyKind]:
        """Return the kinds of a group's keys, needed to convert record keys back into Ignite keys."""

    def key_forms(self, keys: Sequence[bytes], kinds: Collection[KeyKind], context: SideContext) -> list[list[bytes]]:
        """Return all possible Ignite keys of each record key, of some kinds, not wrapped.

        The result has every key that converts to the record key, if its kind can be converted back
        (:func:`.object_keys.all_turn_back`). It may have other keys: the caller converts all keys and compares bytes.
        """

    def key_types(self, group: EntryGroup, keys: pa.BinaryArray) -> set[KeyType]:
        """Return the types of a group's keys, needed because keys of two types may have the same bytes."""
