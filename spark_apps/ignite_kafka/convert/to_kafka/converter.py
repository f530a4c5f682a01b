"""The interface of converters from Ignite entries to Kafka records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...ignite.types.model import CacheInfo, Page, TypeSource
from ...kafka.records import Records


class Converter(Protocol):
    """Converts pages of entries to records. It keeps no state: one converter may serve several threads."""

    @property
    def name(self) -> str:
        """Name of the converter in the settings."""

    def check(self, cache: CacheInfo, types: TypeSource) -> None:
        """Check the cache's types before the first record.

        :raises UnsupportedType: the metadata has a type that this converter cannot write.
        """

    def convert(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, in_order: bool = False) -> Records:
        """Key and value bytes of all entries of the pages, every entry exactly once.

        :param in_order: keep the order of the entries.
        :raises DecodeError: an entry's bytes are broken.
        :raises UnsupportedType: an entry has a type that this converter cannot write.
        """
