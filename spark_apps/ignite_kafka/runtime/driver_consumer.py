"""Consumer of the driver: it reads the connector's internal topics while tasks work.

The configs topic shows whether a newer run has taken the connector (:mod:`.fencing`), and the requested target state;
the status topic has the progress of a stream's tasks (:mod:`.task_reports`). Errors of tasks arrive through Spark
(:mod:`~ignite_kafka.runtime.spark_job`).
"""

from __future__ import annotations

from confluent_kafka import Message, TopicPartition

from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients, translate
from ..kafka.topics import Topics
from ..plan.source_plan import RunPlan
from ..state.internal_names import configs_topic, status_topic
from ..state.internal_records import InternalRecord
from ..state.signals import SignalFold
from ..state.target_state import target_of
from .fencing import fencing_error
from .task_reports import TaskReports


class DriverConsumer:
    """Follows the status topic and the configs topic from their present ends."""

    def __init__(self, clients: KafkaClients, topics: Topics, plan: RunPlan) -> None:
        self._run_plan = plan
        self.error: IgniteKafkaError | None = None
        """Error of a run that a newer run has fenced."""
        self.target: str | None = None
        """Target state requested last."""
        self.signals = SignalFold(plan.connector)
        """Signals of the connector; those from before the run are added by who follows them."""
        self.reports = TaskReports(plan)
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
                (self.reports.add if message.topic() == self._status else self._control_record)(record)

    def _control_record(self, record: InternalRecord) -> None:
        fenced = fencing_error(self._run_plan, record)
        self.target = target_of(self._run_plan.connector, record, self._run_plan.generation) or self.target
        self.error = fenced or self.error
        self.signals.add(record)

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
