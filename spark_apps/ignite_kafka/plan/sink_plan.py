"""Plan of a sink's run: topics, their caches and end offsets, as plain data for JSON, without secrets."""

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
    """Topic that a sink reads, with the cache for its records.

    :param ends: end offset of each partition at the start of a run that ends by itself.
    :param begins: first offset of each partition without any committed offset; empty: its first record.
    :param routed: transforms give records of the topic several topics, whose caches are created with their first
        records; `cache` names the counts only.
    """

    name: str
    topic_id: str
    cache: str
    partitions: int
    ends: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()
    routed: bool = False


@dataclass(frozen=True)
class SinkPlan:
    """Plan of a sink's run, which tasks receive as JSON.

    :param generation: generation of the run; 0 without one (dry run).
    :param max_batch_bytes: maximum batch size: max.message.bytes of the dead-letter topic.
    :param fence: name of the sink in the Ignite cluster's fences, if its delivery is strict; else empty.
    :param cluster_id: id of the cluster among those that write the same caches; 0: versions are not stored.
    """

    connector: str
    generation: int
    slots: int
    settings: SinkSettings
    topics: tuple[TopicPlan, ...]
    max_batch_bytes: int = 1_000_000
    fence: str = ""
    cluster_id: int = 0

    @property
    def caches(self) -> list[str]:
        """Names of the topics' caches, in order; without those of routed topics, unless all are routed."""
        named = {topic.cache for topic in self.topics if not topic.routed}
        return sorted(named or {topic.cache for topic in self.topics})

    def partitions(self, slots: Iterable[int]) -> Iterator[tuple[int, TopicPlan, int]]:
        """Yield slot, topic and partition number for every topic partition of the given slots."""
        for slot in slots:
            for topic in self.topics:
                for partition in partitions_of_slot(topic.name, topic.partitions, slot, self.slots):
                    yield slot, topic, partition

    def to_json(self) -> str:
        """Return the plan as JSON text, the input of :meth:`from_json`."""
        names = ("connector", "generation", "slots", "max_batch_bytes", "fence", "cluster_id")
        own = {name: getattr(self, name) for name in names}
        value = {**own, "settings": self.settings.to_dict(), "topics": [asdict(topic) for topic in self.topics]}
        return json.dumps(value, separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> SinkPlan:
        """Parse a plan from the JSON text of :meth:`to_json`.

        :raises SettingsError: another version or another program wrote the plan.
        """
        data: dict[str, Any] = json.loads(text)
        try:
            topics = tuple(
                TopicPlan(**{**topic, "ends": tuple(topic["ends"]), "begins": tuple(topic["begins"])})
                for topic in data["topics"]
            )
            return SinkPlan(
                **{**data, "settings": SinkSettings.from_dict(data["settings"], "the plan"), "topics": topics}
            )
        except (KeyError, TypeError) as error:
            raise SettingsError(
                f"a plan cannot be read: {error}", "It was written by another version: start anew"
            ) from error
