"""Progress of a role transition of a replicating pair: switchover, failover or failback.

One record of the configs topic of the sink's prefix holds the next step, so that any machine can continue an
interrupted transition. Key ``["transition","<sink>","<source>"]``, value :class:`RoleTransition`. Retirements are
records ``["retired","<connector>"]`` of the connector's own configs topic. All are written without a transaction, as
the target state, and fence no run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..common.typed_json import Milliseconds, dumps, read_as
from ..kafka.clients import KafkaClients
from ..kafka.single_record import write_record
from ..kafka.topics import COMPACTED, Topics, TopicSpec
from .configs import RETIRED, Retirement
from .internal_names import configs_topic
from .internal_records import FORMAT_HEADERS, known_fields, read_internal_topic, unreadable

TRANSITION = "transition"
SWITCHOVER = "switchover"
FAILOVER = "failover"
FAILBACK = "failback"
DONE = "done"
ABORTED = "aborted"


@dataclass(frozen=True)
class RoleTransition:
    """A role transition of a pair, and its next step.

    :param step: name of the next step; :data:`DONE` or :data:`ABORTED` after the end.
    :param started_ms: milliseconds since 1970.
    :param figures: results of the steps, such as numbers of compared entries.
    """

    id: str
    kind: str
    step: str
    started_ms: Milliseconds = 0
    ended_ms: Milliseconds = 0
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether no step is left."""
        return self.step in (DONE, ABORTED)


def read_transition(
    clients: KafkaClients, topics: Topics, prefix: str, sink: str, source: str
) -> RoleTransition | None:
    """Read the newest role transition of a pair; None without one.

    :param prefix: ``internal_topic_prefix`` of the sink.
    :raises OffsetsLost, NewerFormat: the record cannot be read.
    """
    transition = None
    for record, _ in read_internal_topic(clients, topics, configs_topic(prefix)):
        if (record.kind, record.name, record.rest) == (TRANSITION, sink, (source,)):
            value = record.required_value()
            try:
                transition = None if value is None else read_as(RoleTransition, known_fields(RoleTransition, value))
            except ValueError:
                raise unreadable(f"the role transition of sink {sink!r}", record.where) from None
    return transition


def write_transition(
    clients: KafkaClients, topics: Topics, prefix: str, sink: str, source: str, transition: RoleTransition
) -> None:
    """Record the next step of a transition.

    :raises KafkaUnavailable: the broker did not confirm the record; it may still be written.
    """
    topics.ensure([TopicSpec(configs_topic(prefix), 1, -1, COMPACTED)])
    _write(clients, prefix, sink, [TRANSITION, sink, source], dumps(asdict(transition)))


def write_retirement(
    clients: KafkaClients, topics: Topics, prefix: str, connector: str, retirement: Retirement | None
) -> None:
    """Retire a connector, or with None allow runs of it again.

    :raises KafkaUnavailable: as :func:`write_transition`.
    """
    topics.ensure([TopicSpec(configs_topic(prefix), 1, -1, COMPACTED)])
    value = None if retirement is None else dumps(asdict(retirement))
    _write(clients, prefix, connector, [RETIRED, connector], value)


def _write(clients: KafkaClients, prefix: str, connector: str, key: list[str], value: bytes | None) -> None:
    write_record(
        clients,
        configs_topic(prefix),
        dumps(key),
        value,
        f"the {key[0]} record",
        partition=0,
        headers=FORMAT_HEADERS,
        connector=connector,
    )
