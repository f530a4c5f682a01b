"""Fake internal topics for the reader of all connectors, without a broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ignite_kafka.kafka.topics import Topics


class FakeTopics:
    """Topics of one partition with messages that tests add; a topic without messages does not exist.

    :param ids: topic id by name, where it is not the name.
    """

    def __init__(self, messages: Mapping[str, Sequence[Any]]) -> None:
        self.messages = {name: list(of_topic) for name, of_topic in messages.items()}
        self.ids: dict[str, str] = {}
        self.read: list[tuple[str, int]] = []

    def identities(self, names: Sequence[str]) -> dict[str, tuple[str, int]]:
        return {name: (self.ids.get(name, name), 1) for name in names if self.messages.get(name)}

    def ends(self, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, len(self.messages[topic]))

    def read_to(self, _clients: Any, topic: str, ends: Mapping[int, int], starts: Mapping[int, int]) -> Iterator[Any]:
        """Stands in for :func:`ignite_kafka.kafka.topics.read_to`; keeps in ``read`` where each call began."""
        self.read.append((topic, starts[0]))
        return iter(self.messages[topic][starts[0] : ends[0]])

    @property
    def topics(self) -> Topics:
        return cast(Topics, self)
