"""Live progress of a run, from what is committed: the driver follows the connector's topics while tasks work.

Offsets tell what is done, the status topic how far the tasks of a stream are, the configs topic whether a newer run has taken the
connector. A task that fails tells so by Spark (:mod:`~ignite_kafka.runtime.spark_job`).
"""

from __future__ import annotations

from confluent_kafka import Message, TopicPartition

from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients, translate
from ..kafka.producer import fenced_by_newer
from ..kafka.topics import Topics
from ..plan.source_plan import RunPlan
from ..state.configs import configs_topic, connector_generation
from ..state.internal_records import InternalRecord
from ..state.status import TaskProgress, progress_of, status_topic
from ..state.target_state import target_of


class RunFollower:
    """Follows the status topic and the configs topic, from where they end now."""

    def __init__(self, clients: KafkaClients, topics: Topics, plan: RunPlan) -> None:
        self._run_plan = plan
        self.error: IgniteKafkaError | None = None
        self.target: str | None = None
        self.tasks: dict[int, TaskProgress] = {}
        """Of a stream: what each task, by its first slot, told last."""
        prefix = plan.settings.internal_topic_prefix
        self._status, self._configs = status_topic(prefix), configs_topic(prefix)
        ends = [TopicPartition(topic, 0, topics.ends(topic, [0])[0]) for topic in (self._status, self._configs)]
        self._consumer = clients.reader(**{"enable.partition.eof": False, "fetch.wait.max.ms": 500})  # else 50 requests a second
        self._consumer.assign([*self._places(topics), *ends])

    def _places(self, topics: Topics) -> list[TopicPartition]:
        """What is followed beside them; :meth:`_record` gets its records."""
        return []

    def _record(self, message: Message) -> None:
        """Take in a record of what is followed beside the status topic and the configs topic."""

    def poll(self) -> None:
        """Take in what has come since the last call, without waiting.

        Sets :attr:`error` once a newer run began, :attr:`target` to what the user last asked for since this was made.
        """
        for message in self._consumer.consume(50_000, timeout=0):
            error = message.error()
            if error is not None:
                failure = translate(error, "following progress", topic=message.topic(), partition=message.partition())
                if not failure.final:
                    continue  # a broker that restarts: the tasks have their own retries
                raise failure
            if message.topic() not in (self._status, self._configs):
                self._record(message)
            elif (record := InternalRecord.of(message)) is not None:
                (self._task_record if message.topic() == self._status else self._control_record)(record)

    def _task_record(self, record: InternalRecord) -> None:
        if (record.kind, record.name, len(record.rest)) != ("progress", self._run_plan.connector, 1):
            return
        told = progress_of(record)
        if told is not None and told.generation == self._run_plan.generation:
            self.tasks[record.rest[0]] = told

    def _control_record(self, record: InternalRecord) -> None:
        mine, theirs = self._run_plan.generation, connector_generation(self._run_plan.connector, record)
        self.target = target_of(self._run_plan.connector, record, mine) or self.target
        if theirs > mine:
            self.error = fenced_by_newer(self._run_plan.connector, None, mine, theirs)

    def close(self) -> None:
        self._consumer.close()
