"""A types topic in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from ignite_kafka.ignite.types.model import BinaryType
from ignite_kafka.state.types_topic import TypesTopic, write_types
from tests.support.ignite_bytes import Types

NAME = "in-types"


@dataclass
class TypesLog:
    """The records of a types topic, and how often they were read."""

    records: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    reads: int = 0

    def __post_init__(self) -> None:
        self.writer: Any = SimpleNamespace(types_sent={}, uses_sent={}, send_type_record=self._append)

    def _append(self, topic: str, key: bytes, value: bytes) -> None:
        assert topic == NAME
        self.records.append((key, value))

    def write(self, types: Types, *kinds: BinaryType) -> None:
        """Append types as a task does that has sent none before."""
        self.writer.types_sent.clear()
        write_types(self.writer, NAME, {kind.type_id for kind in kinds}, types)

    @property
    def topic(self) -> TypesTopic:
        """A new reader of the topic."""
        topics = SimpleNamespace(ends=lambda *_: {0: len(self.records)}, exists=lambda _: bool(self.records))
        return TypesTopic(cast(Any, None), NAME, lambda _: cast(Any, topics), self._read_to)

    def _read_to(self, _: Any, topic: str, ends: dict[int, int], starts: dict[int, int], *, committed: bool) -> Iterator[Any]:
        self.reads += 1
        assert (topic, ends, committed) == (NAME, {0: len(self.records)}, False)
        for offset, (key, value) in list(enumerate(self.records))[starts[0] :]:
            yield SimpleNamespace(offset=lambda offset=offset: offset, key=lambda key=key: key, value=lambda value=value: value)
