"""Topics that transforms choose for each record; a topic is created before its first record is sent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from ..errors import SettingsError
from ..kafka.records import Records, take_rows
from ..plan.routing import check_topic
from ..plan.source_plan import CachePlan
from ..settings.name_rules import NamedBy
from ..settings.source import SourceSettings
from ..state.slot_writer import SlotWriter
from .topic_creation import topic_spec


class RecordTopics:
    """Groups records by the topic that transforms chose, and creates missing topics; not thread-safe."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._plans: dict[tuple[str, str], CachePlan] = {}

    def divided(self, writer: SlotWriter, cache: CachePlan, records: Records) -> list[tuple[CachePlan, Records]]:
        """Group records by topic and keep their order; each topic comes with a cache plan that names the topic.

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
        topic_id, partitions = writer.ensure_topic(topic_spec(settings, cache.name, topic))
        return replace(cache, topic=topic, topic_partitions=partitions, topic_id=topic_id)
