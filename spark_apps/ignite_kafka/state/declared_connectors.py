"""Declared connectors: configurations written by Kafka Connect's REST interface, as records of the configs topic.

====================================== ================================================================================
key (JSON)                             value (JSON)
====================================== ================================================================================
``["declared","<name>"]``              ``{"config","at_ms"}``: the configuration as it was sent, texts by name; or
                                       ``{"deleted_after","at_ms"}``: the connector was deleted when its newest run had
                                       this generation
``["restart","<name>"]``               ``{"at_ms"}``: last request to restart the connector
``["cleaned","<name>"]``               ``{"deleted_ms","reported_ms"}``: the deletion is finished, see :class:`Cleanup`
====================================== ================================================================================

The records are written without a transaction, as those of :mod:`.target_state`, and fence no run. A configuration is
readable for everybody with read access to the topic, so it never holds secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from ..common.typed_json import Milliseconds, dumps, read_as
from ..kafka.clients import KafkaClients
from ..kafka.single_record import write_record
from ..kafka.topics import COMPACTED, Topics, TopicSpec
from .internal_names import configs_topic
from .internal_records import FORMAT_HEADERS, InternalRecord, read_internal_topic, report_skipped
from .status import now_ms

DECLARED = "declared"
RESTART = "restart"
CLEANED = "cleaned"
KINDS = (DECLARED, RESTART, CLEANED)


@dataclass(frozen=True)
class Declaration:
    """Declared configuration of a connector, or the mark that it was deleted.

    :param config: the configuration as it was sent; None: the connector was deleted.
    :param deleted_after: generation of the newest run at the deletion; a later run makes the connector visible again.
    """

    config: Mapping[str, str] | None = None
    deleted_after: int | None = None
    at_ms: Milliseconds = 0

    @property
    def declares(self) -> bool:
        """Whether the record declares a connector that exists."""
        return self.config is not None and self.deleted_after is None

    def hides(self, generation: int) -> bool:
        """Return whether the connector was deleted, and no run has begun since.

        :param generation: generation of the connector's newest run; 0 without a run.
        """
        return self.deleted_after is not None and generation <= self.deleted_after


@dataclass(frozen=True)
class Cleanup:
    """Mark of a finished deletion: the connector captures nothing on the Ignite nodes.

    It has a key of its own, because it is written seconds after it was decided: under the key of declarations it could
    replace a new one.

    :param deleted_ms: ``at_ms`` of the deletion.
    :param reported_ms: time of the newest run's last report, in milliseconds since 1970; 0 without one. A run that
        reports later was not dead, and may have begun its capture again.
    """

    deleted_ms: Milliseconds = 0
    reported_ms: Milliseconds = 0


@dataclass(frozen=True)
class _Restart:
    at_ms: Milliseconds = 0


@dataclass
class Declarations:
    """Latest declarations, restart requests and finished deletions, collected by connector."""

    by_name: dict[str, Declaration] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)
    cleanups: dict[str, Cleanup] = field(default_factory=dict)

    def add(self, record: InternalRecord) -> bool:
        """Update by a record of the configs topic; return whether it is of one of these kinds.

        An unreadable record is skipped with an event.
        """
        if record.kind not in KINDS or record.rest:
            return record.kind in KINDS
        value = record.optional_value()
        if value is None:
            return True
        try:
            if record.kind == RESTART:
                self.restarts[record.name] = read_as(_Restart, value).at_ms
            elif record.kind == CLEANED:
                self.cleanups[record.name] = read_as(Cleanup, value)
            else:
                self.by_name[record.name] = read_as(Declaration, value)
        except ValueError as error:
            report_skipped(f"it declares no connector: {error}", record.where)
        return True


def read_declaration(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> Declaration | None:
    """Read the newest declaration of a connector; None without one."""
    declarations = Declarations()
    for record, _ in read_internal_topic(clients, topics, configs_topic(prefix)):
        if record.name == connector:
            declarations.add(record)
    return declarations.by_name.get(connector)


def write_declaration(
    clients: KafkaClients, topics: Topics, prefix: str, connector: str, config: Mapping[str, str], replicas: int
) -> None:
    """Declare a connector, or replace its configuration; create the configs topic if it is missing.

    :param replicas: replication factor of a created topic; -1: the brokers' default.
    :raises KafkaUnavailable: the broker did not confirm the record; it may still be written.
    """
    topics.ensure([TopicSpec(configs_topic(prefix), 1, replicas, COMPACTED)])
    _write(clients, prefix, DECLARED, connector, {"config": dict(config), "at_ms": now_ms()})


def write_deletion(clients: KafkaClients, prefix: str, connector: str, generation: int) -> Declaration:
    """Mark a connector as deleted after the run of a generation, and return the mark.

    The errors are those of :func:`write_declaration`.
    """
    deletion = Declaration(None, generation, now_ms())
    _write(clients, prefix, DECLARED, connector, {"deleted_after": generation, "at_ms": deletion.at_ms})
    return deletion


def write_cleanup(clients: KafkaClients, prefix: str, connector: str, cleanup: Cleanup) -> None:
    """Mark a deletion as finished; the errors are those of :func:`write_declaration`."""
    _write(clients, prefix, CLEANED, connector, asdict(cleanup))


def write_restart(clients: KafkaClients, prefix: str, connector: str) -> None:
    """Request a restart of a connector; the errors are those of :func:`write_declaration`."""
    _write(clients, prefix, RESTART, connector, {"at_ms": now_ms()})


def _write(clients: KafkaClients, prefix: str, kind: str, connector: str, value: Mapping[str, object]) -> None:
    write_record(
        clients,
        configs_topic(prefix),
        dumps([kind, connector]),
        dumps(value),
        f"the {kind} record of the connector",
        partition=0,
        headers=FORMAT_HEADERS,
        connector=connector,
    )
