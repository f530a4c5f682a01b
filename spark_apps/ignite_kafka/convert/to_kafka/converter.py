"""Interfaces of the conversion from Ignite entries to Kafka records.

Of whole entries, and of one side, keys or values.
"""

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
        """The class that converts the side of a stage, for the headers of dead letters."""

    def check(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Check the cache's types before the first record.

        :param topic: the topic of its records.
        :raises UnsupportedType: the metadata has a type that this converter cannot write.
        """

    def register(self, cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Make known to readers, before the first record of a run, what the cache's metadata says of its records.

        :raises UnsupportedType: the metadata has a type that this converter cannot write.
        :raises RegistryError: a schema registry refuses a schema.
        :raises RegistryUnavailable: it did not answer.
        """

    def convert(
        self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, topic: str = "", in_order: bool = False
    ) -> Records:
        """Key and value bytes of all entries of the pages, every entry exactly once.

        :param topic: the records' topic, whose name decides the subjects of a schema registry.
        :param in_order: keep the order of the entries.
        :raises DecodeError: an entry's bytes are broken.
        :raises UnsupportedType: an entry has a type that this converter cannot write.
        """

    def key_forms(
        self, keys: Sequence[bytes], kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, *, topic: str = ""
    ) -> list[list[bytes]]:
        """For the key of each record the keys of Ignite that it may be of: see :meth:`KeyConverter.key_forms`."""


@dataclass(frozen=True)
class SideContext:
    """Where the values of one side come from and go to."""

    cache: CacheInfo
    types: TypeSource
    topic: str = ""
    enums: EnumPolicy = EnumPolicy.SHORT_NAME


@contextmanager
def naming_cache(cache: CacheInfo) -> Iterator[None]:
    """Add the cache to the error of a value that cannot be written, or whose schema a registry refuses."""
    try:
        yield
    except (UnsupportedType, RegistryError) as error:
        raise type(error)(error.what, error.remedy, **{"cache": cache.name} | error.where) from error


@contextmanager
def writing() -> Iterator[None]:
    """Tell the errors of a converter that writes Connect data from those of what is given to it."""
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
        """Make known to readers what the cache's metadata says; the errors of :meth:`Converter.register`."""

    def convert(self, values: pa.Array, kind: TypeRef, context: SideContext) -> pa.BinaryArray:
        """Bytes of N values of one type.

        :param values: a column of :class:`~ignite_kafka.ignite.binary.EntryGroup`.
        :raises UnsupportedType: a value that the format cannot hold.
        """


class KeyConverter(SideConverter, Protocol):
    """A side converter of keys, which knows what their bytes do not show."""

    def key_kinds(self, group: EntryGroup, keys: pa.BinaryArray, context: SideContext) -> set[KeyKind]:
        """Kinds of the keys of a group, by which their bytes are turned back into Ignite keys."""

    def key_forms(self, keys: Sequence[bytes], kinds: Collection[KeyKind], context: SideContext) -> list[list[bytes]]:
        """For the key of each record the keys of Ignite, not wrapped, of these kinds that it may be of.

        Every key that converts to the record's is among them, where its kind can be turned back
        (:func:`.object_keys.all_turn_back`). Others may be, too: the caller converts them, and compares the bytes.
        """

    def key_types(self, group: EntryGroup, keys: pa.BinaryArray) -> set[KeyType]:
        """Types of the keys of a group, where two of them can give the same bytes."""
