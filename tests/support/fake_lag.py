"""A topic and the offsets of its group, for tests of lag."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka.admin import OffsetSpec

LATEST = type(OffsetSpec.latest())


class FakeTopics:
    """Topic t of three partitions with the records 10 to 99."""

    def __init__(self, committed: dict[int, int], opened: int = 0) -> None:
        self._committed, self._open = committed, opened

    def counts(self, names: Iterable[str]) -> dict[str, int]:
        return {name: 3 for name in names if name == "t"}

    def offsets(self, places: list[tuple[str, int]], spec: Any, *, committed: bool = False) -> dict[tuple[str, int], int]:
        return dict.fromkeys(places, (100 if committed else 100 + self._open) if isinstance(spec, LATEST) else 10)

    def group_offsets(self, group: str, places: list[tuple[str, int]], *, stable: bool) -> dict[tuple[str, int], tuple[int, None]]:
        assert group == "connect-c"
        return {place: (self._committed[place[1]], None) for place in places if place[1] in self._committed}
