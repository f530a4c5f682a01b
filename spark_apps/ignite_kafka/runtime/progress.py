"""Live progress of a run: the driver follows the connector's topics while tasks work.

The offsets topic shows what is committed, the status topic the progress of a stream's tasks, the configs topic whether
a newer run has taken the connector. Errors of tasks arrive through Spark (:mod:`~ignite_kafka.runtime.spark_job`).
"""

from __future__ import annotations

import time

from confluent_kafka import Message, TopicPartition

from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients, translate
from ..kafka.producer import fenced_by_newer
from ..kafka.topics import Topics
from ..plan.source_plan import RunPlan
from ..state.configs import connector_generation
from ..state.internal_names import configs_topic, status_topic
from ..state.internal_records import InternalRecord
from ..state.status import TaskProgress, progress_of, slot_of_progress
from ..state.target_state import target_of


class RunFollower:
    """Follows the status topic and the configs topic from their present ends."""

    def __init__(self, clients: KafkaClients, topics: Topics, plan: RunPlan) -> None:
        self._run_plan = plan
        self.error: IgniteKafkaError | None = None
        self.target: str | None = None
        self.tasks: dict[int, TaskProgress] = {}
        """Last progress report of each task of a stream, by its first slot."""
        self.heard_at: dict[int, float] = {}
        """When it came, on the monotonic clock."""
        prefix = plan.settings.internal_topic_prefix
        self._status = status_topic(prefix)
        self._configs = configs_topic(prefix)
        ends = [TopicPartition(topic, 0, topics.ends(topic, [0])[0]) for topic in (self._status, self._configs)]
        # else 50 requests a second
        self._consumer = clients.reader(**{"enable.partition.eof": False, "fetch.wait.max.ms": 500})
        self._consumer.assign([*self._more_partitions(topics), *ends])

    def _more_partitions(self, topics: Topics) -> list[TopicPartition]:
        """Return other partitions to follow; :meth:`_record` handles their records."""
        return []

    def _record(self, message: Message) -> None:
        """Handle a record of :meth:`_more_partitions`."""

    def poll(self) -> None:
        """Read new records without waiting.

        Sets :attr:`error` once a newer run began, and :attr:`target` to the target state requested last.
        """
        for message in self._consumer.consume(50_000, timeout=0):
            error = message.error()
            if error is not None:
                failure = translate(error, "following progress", topic=message.topic(), partition=message.partition())
                if not failure.final:
                    continue  # a broker restarts; tasks have their own retries
                raise failure
            if message.topic() not in (self._status, self._configs):
                self._record(message)
            elif (record := InternalRecord.of(message)) is not None:
                (self._task_record if message.topic() == self._status else self._control_record)(record)

    def _task_record(self, record: InternalRecord) -> None:
        slot = slot_of_progress(record)
        if slot is None or record.name != self._run_plan.connector:
            return
        progress = progress_of(record)
        if progress is not None and progress.generation == self._run_plan.generation:
            self.tasks[slot], self.heard_at[slot] = progress, time.monotonic()

    def _control_record(self, record: InternalRecord) -> None:
        generation = self._run_plan.generation
        theirs = connector_generation(self._run_plan.connector, record)
        self.target = target_of(self._run_plan.connector, record, generation) or self.target
        if theirs > generation:
            self.error = fenced_by_newer(self._run_plan.connector, None, generation, theirs)

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
