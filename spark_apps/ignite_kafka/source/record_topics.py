"""Topics of records routed one by one by transforms; each topic is created before its first record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from ..errors import SettingsError
from ..kafka.records import Records, take_rows
from ..kafka.topics import TopicSpec
from ..plan.routing import check_topic
from ..plan.source_plan import CachePlan
from ..settings.name_rules import NamedBy
from ..settings.source import SourceSettings
from ..state.slot_writer import SlotWriter


class RecordTopics:
    """Divider of records by topic; for one thread."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._plans: dict[tuple[str, str], CachePlan] = {}

    def divided(self, writer: SlotWriter, cache: CachePlan, records: Records) -> list[tuple[CachePlan, Records]]:
        """Divide records by topic, in their order; return for each topic the cache's plan and the records.

        :raises SettingsError: a topic's name is not valid, or internal, or that of the dead-letter topic.
        :raises TopicError: a topic cannot be created.
        """
        if records.topics is None:
            return [(cache, records)]
        names = records.topics.unique().to_pylist()
        return [
            (
                self._plan(writer, cache, name),
                take_rows(records, np.flatnonzero(np.asarray(pc.equal(records.topics, name)))),
            )
            for name in names
        ]

    def _plan(self, writer: SlotWriter, cache: CachePlan, topic: str) -> CachePlan:
        topic_plan = self._plans.get((cache.name, topic))
        if topic_plan is None:
            topic_plan = self._plans[cache.name, topic] = self._created(writer, cache, topic)
        return topic_plan

    def _created(self, writer: SlotWriter, cache: CachePlan, topic: str) -> CachePlan:
        settings = self._settings
        check_topic(cache.name, NamedBy(topic, "transforms"), settings.internal_topic_prefix)
        for name, own in settings.own_topics.items():
            if topic == own:
                what = f"transforms give a record the topic of {name}"
                raise SettingsError(what, "Choose another one.", setting=name, cache=cache.name, topic=topic)
        new = settings.of(cache.name).new_topic(topic)
        topic_id, partitions = writer.ensure_topic(
            TopicSpec(topic, new.partitions, new.replication_factor, new.config, settings.create_topics)
        )
        return replace(cache, topic=topic, topic_partitions=partitions, topic_id=topic_id)
