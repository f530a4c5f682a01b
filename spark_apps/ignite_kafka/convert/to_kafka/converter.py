"""Interfaces of the source's converters: of whole entries, and of keys or values alone."""

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
    """Interface of a converter from pages of entries to records. Threads may share it; it only has caches."""

    @property
    def key_name(self) -> str:
        """Name of the key converter in settings."""

    def component(self, stage: Stage) -> type:
        """Return the converter class that a dead letter names for a stage: key converter or value converter."""

    def check(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Check that the types in the cache's metadata can be written, before the first record.

        :param topic: topic of the cache's records.
        :raises UnsupportedType: this converter cannot write a type in the metadata.
        """

    def register(self, cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Register the schemas that the cache's metadata declares, before a run's first record.

        :raises UnsupportedType: this converter cannot write a type in the metadata.
        :raises RegistryError: a schema registry refuses a schema.
        :raises RegistryUnavailable: the registry did not answer.
        """

    def convert(
        self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, topic: str = "", in_order: bool = False
    ) -> Records:
        """Convert each entry of the pages to the key and value bytes of a record.

        :param topic: the records' topic, whose name decides the subjects of a schema registry.
        :param in_order: keep the order of the entries.
        :raises DecodeError: an entry's bytes are broken.
        :raises UnsupportedType: this converter cannot write the type of an entry.
        """

    def key_forms(
        self, keys: Sequence[bytes], kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, *, topic: str = ""
    ) -> list[list[bytes]]:
        """Return for each record key all Ignite keys that it may stand for; see :meth:`KeyConverter.key_forms`."""


@dataclass(frozen=True)
class SideContext:
    """What the conversion of keys or values needs: cache, types, topic and enum policy."""

    cache: CacheInfo
    types: TypeSource
    topic: str = ""
    enums: EnumPolicy = EnumPolicy.SHORT_NAME


@contextmanager
def naming_cache(cache: CacheInfo) -> Iterator[None]:
    """Return a context that adds the cache's name to errors of conversion and registration."""
    try:
        yield
    except (UnsupportedType, RegistryError) as error:
        raise type(error)(error.what, error.remedy, **{"cache": cache.name} | error.where) from error


@contextmanager
def writing() -> Iterator[None]:
    """Return a context that turns UnsupportedType into ValueNotWritten, the error of a single value."""
    try:
        yield
    except UnsupportedType as error:
        raise ValueNotWritten(error.what, error.remedy, **error.where) from error


class SideConverter(Protocol):
    """Interface of a converter of decoded keys, or of decoded values, to bytes."""

    name: str

    def check(self, context: SideContext) -> None:
        """Check, before the first record, that the cache's types can be written; raise UnsupportedType."""

    def register(self, context: SideContext) -> None:
        """Register the schemas that the cache's metadata declares; raise the errors of :meth:`Converter.register`."""

    def convert(self, values: pa.Array, kind: TypeRef, context: SideContext) -> pa.BinaryArray:
        """Convert N values of one type to bytes.

        :param values: a column of :class:`~ignite_kafka.ignite.binary.EntryGroup`.
        :raises UnsupportedType: the format cannot hold a value.
        """


class KeyConverter(SideConverter, Protocol):
    """Interface of a key converter that can also turn record keys back into Ignite keys."""

    def key_kinds(self, group: EntryGroup, keys: pa.BinaryArray, context: SideContext) -> set[KeyKind]:
        """Return how Ignite marshalled a group's keys, needed to turn record keys back into Ignite keys."""

    def key_forms(self, keys: Sequence[bytes], kinds: Collection[KeyKind], context: SideContext) -> list[list[bytes]]:
        """Return for each record key all Ignite keys, of the given kinds, that it may stand for.

        The result has every key that converts to the record key, if its kind can be converted back
        (:func:`.object_keys.all_turn_back`). It may have other keys: the caller converts all keys and compares bytes.
        """

    def key_types(self, group: EntryGroup, keys: pa.BinaryArray) -> set[KeyType]:
        """Return the types of a group's keys, because keys of two types may have equal bytes in records."""
