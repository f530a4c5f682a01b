"""The interface of converters from Ignite entries to Kafka records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...ignite.types.model import CacheInfo, Page, TypeSource
from ...kafka.records import Records


class Converter(Protocol):
    """Makes records of pages of entries. It keeps no state: one converter may serve several threads."""

    @property
    def name(self) -> str: ...

    def check(self, cache: CacheInfo, types: TypeSource) -> None:
        """Raise UnsupportedType, before the first record, when the metadata shows a type that this converter cannot hold."""

    def convert(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, in_order: bool = False) -> Records:
        """Key and value bytes of all entries of the pages, every entry exactly once; on demand in their order."""
