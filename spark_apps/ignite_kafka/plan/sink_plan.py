"""What a sink moves: topics, their caches, and where the run ends, as plain data that travels as JSON and holds no secret."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import SettingsError
from ..settings.sink import SinkSettings
from .slots import partitions_of_slot


@dataclass(frozen=True)
class TopicPlan:
    """One topic and the cache that its records go to.

    :param ends: of a run that ends: where each partition ended when the run began.
    :param begins: where each partition without any offset begins; empty: at its first record.
    """

    name: str
    topic_id: str
    cache: str
    partitions: int
    ends: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()


@dataclass(frozen=True)
class SinkPlan:
    """The topics of a run.

    :param generation: of the run that follows the plan; 0 while none does (dry run).
    :param max_batch_bytes: max.message.bytes of the dead letter topic: no batch of records may be larger.
    """

    connector: str
    generation: int
    slots: int
    settings: SinkSettings
    topics: tuple[TopicPlan, ...]
    max_batch_bytes: int = 1_000_000

    def partitions(self, slots: Iterable[int]) -> Iterator[tuple[int, TopicPlan, int]]:
        """Slot, topic and partition number of every topic partition that the slots own."""
        for slot in slots:
            for topic in self.topics:
                for partition in partitions_of_slot(topic.name, topic.partitions, slot, self.slots):
                    yield slot, topic, partition

    def to_json(self) -> str:
        own = {name: getattr(self, name) for name in ("connector", "generation", "slots", "max_batch_bytes")}
        value = {**own, "settings": self.settings.to_dict(), "topics": [asdict(topic) for topic in self.topics]}
        return json.dumps(value, separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> SinkPlan:
        """The plan that :meth:`to_json` described.

        :raises SettingsError: it was written by another version, or not by this program.
        """
        data: dict[str, Any] = json.loads(text)
        try:
            topics = tuple(
                TopicPlan(**{**topic, "ends": tuple(topic["ends"]), "begins": tuple(topic["begins"])}) for topic in data["topics"]
            )
            return SinkPlan(**{**data, "settings": SinkSettings.from_dict(data["settings"], "the plan"), "topics": topics})
        except (KeyError, TypeError) as error:
            raise SettingsError(f"a plan cannot be read: {error}", "It was written by another version: start anew") from error
