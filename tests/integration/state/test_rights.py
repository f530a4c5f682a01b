"""The ACLs that docs/operations.md names, on a broker that grants nothing else: each user can do its part, and no other's."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AclBinding, AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from ignite_kafka.admin.findings import FAILED, OK, WARNING, Diagnosis
from ignite_kafka.admin.target_state import newest_run
from ignite_kafka.admin.topic_checks import check_topics
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.records import Records
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.plan.sink_offsets import PartitionOffset
from ignite_kafka.plan.slots import Owner
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import SnapshotRecord
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.offsets import read_slots
from ignite_kafka.state.open_transaction import TransactionLimits
from ignite_kafka.state.slot_claim import SlotClaim
from ignite_kafka.state.slot_writer import SlotWriter
from ignite_kafka.state.status import RUNNING, RunStatus, StatusWriter
from ignite_kafka.state.target_state import PAUSED, read_target, write_target
from ignite_kafka.state.target_state import RUNNING as RESUMED
from tests.support import QUICK_JVM
from tests.support.waiting import wait_until
from tools.servers import Jars, KafkaBroker

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
USERS = {"admin": "a", "connector": "c", "operator": "o", "reader": "r"}
PREFIX, NAME, TOPIC = "ignite-kafka", "trades-x", "trades.a"
KINDS = {"--topic": ResourceType.TOPIC, "--group": ResourceType.GROUP, "--transactional-id": ResourceType.TRANSACTIONAL_ID}


def acls() -> Iterator[AclBinding]:
    """What the commands of the page would make."""
    text = PAGE.read_text().replace("\\\n", " ")
    commands = [shlex.split(line) for line in text.splitlines() if line.startswith("ACLS --")]
    assert len(commands) == 11
    for command in commands:
        options = list(zip(command[1::2], command[2::2], strict=True))
        named = dict(options)
        pattern = ResourcePatternType[named.get("--resource-pattern-type", "literal").upper()]
        for operation in (AclOperation[_constant(value)] for option, value in options if option == "--operation"):
            for kind, name in ((KINDS[option], value) for option, value in options if option in KINDS):
                yield AclBinding(kind, name, pattern, named["--allow-principal"], "*", operation, AclPermissionType.ALLOW)


def _constant(name: str) -> str:
    return {"DescribeConfigs": "DESCRIBE_CONFIGS"}.get(name, name.upper())


@pytest.fixture(scope="module")
def users(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], tuple[KafkaClients, Topics]]]:
    authorizer = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with KafkaBroker(tmp_path_factory.mktemp("rights"), jars=jars, java_options=QUICK_JVM, users=USERS, settings=authorizer) as broker:

        def clients_of(user: str) -> tuple[KafkaClients, Topics]:
            clients = KafkaClients({**broker.client_config, "sasl.username": user, "sasl.password": USERS[user]}, patience_s=10.0)
            return clients, Topics(clients)

        admin, _ = clients_of("admin")[0].admin()
        wanted = list(dict.fromkeys(acls()))
        for made in admin.create_acls(wanted).values():
            made.result()
        any_one: Any = None  # the stubs ask for a text
        names = (ResourceType.ANY, any_one, ResourcePatternType.ANY, any_one, any_one)
        every = AclBindingFilter(*names, AclOperation.ANY, AclPermissionType.ANY)
        # the broker learns of them after the controller
        wait_until(lambda: len(admin.describe_acls(every).result()) >= len(wanted), "the access rules on the broker")
        yield clients_of


SOURCE = SourceSettings(
    name=NAME, run_mode="continuous", internal_topic_prefix=PREFIX, heartbeat_interval_ms=1_000, events_topic="trades.events",
    notifications_topic="trades.notices", signal_topic="trades.signals", error_handling_policy="DEAD_LETTER",
    dead_letter_topic="trades.letters",
)  # fmt: skip


def findings(clients: KafkaClients, settings: ConnectorSettings = SOURCE) -> dict[str, tuple[str, str]]:
    """State and text of what the doctor says about topics, by its subject."""
    diagnosis = Diagnosis()
    check_topics(settings, clients, diagnosis)
    return {finding.subject.removeprefix("Topic "): (finding.state, finding.text) for finding in diagnosis.findings}


def deny_writing(admin: KafkaClients, topic: str) -> None:
    denied = AclBinding(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:connector", "*", AclOperation.WRITE, AclPermissionType.DENY
    )
    client, _ = admin.admin()
    client.create_acls([denied])[denied].result()


def test_the_doctor_names_the_topics_without_rights(users: Callable[[str], tuple[KafkaClients, Topics]]) -> None:
    clients, topics = users("connector")
    assert findings(clients) == {"Topics": (OK, "10 besides those of data may be used")}
    operator, _ = users("operator")
    reader, _ = users("reader")
    unseen = {topic: found for topic, found in findings(reader).items() if "neither see nor create" in found[1]}
    assert {"trades.events", "trades.notices", "trades.signals", "trades.letters"} <= set(unseen)
    assert unseen["trades.signals"] == (FAILED, "signal_topic needs it, and the user may neither see nor create it")
    comparisons, heartbeats = f"{PREFIX}-comparisons", f"{PREFIX}-heartbeats"
    assert findings(operator)[comparisons] == (WARNING, "ignite-kafka verify needs it, and the user may neither see nor create it")
    topics.ensure([TopicSpec(name, 1) for name in (comparisons, heartbeats, "trades.events", "trades.signals")])
    wait_until(lambda: {comparisons, heartbeats} <= set(topics.existing()), "the new topics in the metadata")
    assert findings(clients) == {"Topics": (OK, "10 besides those of data may be used")}
    now = findings(reader)
    assert now[comparisons] == (WARNING, "ignite-kafka verify needs the right Write on it, which the user does not have")
    assert now[heartbeats] == (FAILED, "heartbeat_interval_ms needs the right Write on it, which the user does not have")
    assert now["trades.signals"] == unseen["trades.signals"]  # it exists, and is not seen
    for topic in (comparisons, "trades.events"):
        deny_writing(users("admin")[0], topic)
    wait_until(lambda: len(findings(clients)) == 3, "the broker's knowledge of the denials")
    assert findings(clients) == {
        comparisons: (WARNING, "ignite-kafka verify needs the right Write on it, which the user does not have"),
        "trades.events": (FAILED, "events_topic needs the right Write on it, which the user does not have"),
        "Topics": (OK, "8 besides those of data may be used"),
    }
    sink = findings(clients, SinkSettings(name=NAME, topics=("t",), internal_topic_prefix=PREFIX, types_topic="trades.types"))
    assert sink["trades.types"] == (FAILED, "types_topic names it, and it does not exist")


def test_each_user_can_do_its_part_alone(users: Callable[[str], tuple[KafkaClients, Topics]]) -> None:
    clients, topics = users("connector")
    StatusWriter.ensure_topic(topics, PREFIX, 1)
    topics.ensure([TopicSpec(TOPIC, 2)])
    control = ConfigsWriter(clients, topics, PREFIX, NAME)
    control.take(2, "r1", {}, -1)
    control.begin(SnapshotRecord("s", {}))
    StatusWriter(clients, PREFIX).run(RunStatus(RUNNING, NAME, "r1", generation=1))
    writer = SlotWriter(clients, SlotClaim.of(NAME, 0, Owner(1), PREFIX), TransactionLimits(), 1_000_000, topics)
    rows = pa.array([b"1", b"2"], pa.binary())
    writer.send(TOPIC, 2, Records(rows, rows), topics.identities([TOPIC])[TOPIC][0])
    writer.unit_done("a", 1, "", "s", 2)
    consumer = clients.reader(**{"group.id": f"connect-{NAME}"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    writer.positions({(TOPIC, 0): PartitionOffset(1, "id", 1)}, consumer.consumer_group_metadata())
    writer.commit()
    writer.close()
    consumer.close()
    control.close()
    assert topics.describe([TOPIC])[TOPIC].max_message_bytes is not None
    assert topics.group_offsets(f"connect-{NAME}", [(TOPIC, 0)])[TOPIC, 0][0] == 1
    assert len(list(read_to_end(clients, topics, TOPIC, [0, 1]))) == 2

    clients, topics = users("operator")
    assert newest_run(clients, topics, PREFIX, NAME).run_id == "r1"
    write_target(clients, topics, PREFIX, NAME, PAUSED)
    assert read_target(clients, topics, PREFIX, NAME) == PAUSED
    with pytest.raises(IgniteKafkaError):
        list(read_slots(clients, topics, PREFIX, NAME, 2))

    clients, topics = users("reader")
    assert newest_run(clients, topics, PREFIX, NAME).run_id == "r1"
    assert sum(len(state.units) for state in read_slots(clients, topics, PREFIX, NAME, 2)) == 1
    with pytest.raises(IgniteKafkaError):
        write_target(clients, topics, PREFIX, NAME, RESUMED)
    assert read_target(clients, topics, PREFIX, NAME) == PAUSED
