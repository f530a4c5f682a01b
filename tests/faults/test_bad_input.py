"""Bad input: one clear error that names what and where, a non-zero exit code, no unit half visible; what was committed stays."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourcePatternType,
    ResourceType,
)

from tests.faults.conftest import Copy, create_topic, make_copy, one_error
from tests.support.bad_entries import OF_UNKNOWN_TYPE, long, put_bytes
from tests.support.kafka_proxy import Api
from tests.support.processes import AppResult
from tests.support.randomness import generator
from tests.support.servers import ProxiedBroker, destroy, fill, small_caches
from tests.support.waiting import REQUEST_S
from tools.servers import IgniteCluster, Jars, free_ports

USERS = {"alice": "right-kafka-password"}


def test_unknown_cache(copy: Copy) -> None:
    wanted = "no-such-cache"
    one_error(copy.run(settings={"cache_whitelist": [wanted]}), 1, "CacheNotFound", wanted, copy.cache)


def test_bad_regular_expression(copy: Copy) -> None:
    one_error(copy.run(settings={"cache_whitelist": ["ok", "small-(["]}), 2, "SettingsError", "cache_whitelist", "small-([")


@pytest.mark.parametrize("address", ["127.0.0.1:port", pytest.param("127.0.0.1:99999", marks=pytest.mark.long("127.0.0.1:port"))])
def test_malformed_ignite_address(copy: Copy, address: str) -> None:
    one_error(copy.run(settings={"ignite_addresses": [address]}), 2, "SettingsError", "ignite_addresses", address)


def test_nobody_at_the_ignite_address(copy: Copy) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    one_error(copy.run(settings={"ignite_addresses": [address]}), 1, "IgniteUnreachable", address)


def test_another_server_at_the_ignite_address(copy: Copy) -> None:
    address = copy.broker.bootstrap
    one_error(copy.run(settings={"ignite_addresses": [address]}), 1, "IgniteUnreachable", address)


def test_silent_server_at_the_ignite_address(copy: Copy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        settings = {"ignite_addresses": [address], "ignite_connect_timeout_ms": 500}
        one_error(copy.run(settings=settings), 1, "IgniteUnreachable", address)


def test_dead_address_beside_a_good_one(copy: Copy) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    copy.run(settings={"ignite_addresses": [address, *copy.ignite.addresses]}).assert_exit(0)
    copy.assert_complete()


def test_nobody_at_the_kafka_address(copy: Copy) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    one_error(copy.run(settings={"bootstrap_servers": address, "retry_timeout_ms": 3_000}), 1, "KafkaUnavailable", address)


@pytest.mark.long("test_another_server_at_the_ignite_address")
def test_another_server_at_the_kafka_address(copy: Copy) -> None:
    address = copy.ignite.address
    one_error(copy.run(settings={"bootstrap_servers": address, "retry_timeout_ms": 3_000}), 1, "KafkaUnavailable", address)


def test_cache_destroyed_during_the_scan(copy: Copy) -> None:
    result = run_and(copy, lambda: destroy(copy.ignite, copy.cache))
    one_error(result, 1, "CacheDestroyed", copy.cache)
    assert 0 < copy.assert_nothing_half() < len(copy.entries)


@pytest.mark.long("test_cache_destroyed_during_the_scan")
def test_cache_made_again_during_the_scan(copy: Copy) -> None:
    def again() -> None:
        destroy(copy.ignite, copy.cache)
        fill(copy.ignite, copy.cache, {key: f"second-{key}" for key in copy.entries})

    result = run_and(copy, again)
    one_error(result, 1, "CacheDestroyed", copy.cache)
    assert 0 < copy.assert_nothing_half() < len(copy.entries)
    assert not [record for record in read(copy) if record.startswith(b'"second-')]


def test_partitions_added_to_the_topic_during_the_copy(copy: Copy) -> None:
    admin = copy.broker.admin
    create_topic(copy.broker, copy.topic)
    result = run_and(copy, lambda: admin.create_partitions([NewPartitions(copy.topic, 5)])[copy.topic].result(REQUEST_S))
    one_error(result, 1, "TopicError", copy.topic, "5 partitions")
    assert 0 < copy.assert_nothing_half() < len(copy.entries)


def test_topic_deleted_during_the_copy(copy: Copy) -> None:
    admin = copy.broker.admin
    create_topic(copy.broker, copy.topic)
    result = run_and(copy, lambda: admin.delete_topics([copy.topic])[copy.topic].result(REQUEST_S))
    one_error(result, 1, "TopicError", copy.topic)


def test_lost_offsets_topic(copy: Copy) -> None:
    """A known connector without its offsets cannot know what it has sent, so it sends nothing."""
    run_and(copy, lambda: destroy(copy.ignite, copy.cache))
    before = copy.assert_nothing_half()
    fill(copy.ignite, copy.cache, copy.entries)
    offsets = f"in-{copy.connector}-offsets-{copy.connector}"
    copy.broker.admin.delete_topics([offsets])[offsets].result(REQUEST_S)
    one_error(copy.run(snapshot_id="snapshot-2"), 1, "OffsetsLost", offsets)
    assert len(read(copy)) == before


def run_and(copy: Copy, fault: Any) -> AppResult:
    """Run until slot 1 has committed some units and holds more, do ``fault``, and go on to the end of the run."""
    rule = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(1), 3)
    app = copy.start(settings={"retry_timeout_ms": 5000})
    try:
        app.reaches(rule)
        fault()
        rule.release()
        return app.result()
    finally:
        app.stop()


def read(copy: Copy) -> list[bytes]:
    from tests.support.oracle import read_committed

    return [record.value or b"" for record in read_committed(copy.broker.bootstrap, copy.topic).records]


def test_record_larger_than_the_topic_allows(broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path) -> None:
    """Units without the large entry stay; after the topic's limit is raised the same snapshot sends the rest."""
    large = "".join(generator(1).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=40_000))  # too random for lz4 to make it small
    entries = {key: large if key == 1999 else f"value-{key}" for key in range(2000)}
    copy = make_copy(broker, ignite, tmp_path, entries)
    create_topic(broker, copy.topic, max_message_bytes="10000")
    message = one_error(copy.run(), 1, "RecordTooLarge", copy.topic, "max.message.bytes")
    assert large[:100] not in message
    assert 0 < copy.assert_nothing_half() < len(entries)
    entry = ConfigEntry("max.message.bytes", "1000000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, copy.topic, incremental_configs=[entry])
    broker.admin.incremental_alter_configs([resource])[resource].result(REQUEST_S)
    copy.run().assert_exit(0)
    copy.assert_complete()


@pytest.fixture(scope="module")
def secured_broker(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedBroker]:
    with ProxiedBroker(tmp_path_factory.mktemp("secured"), jars, USERS) as started:
        yield started


@pytest.fixture
def secured(secured_broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path) -> Copy:
    """A copy whose broker asks for a user and holds ACLs."""
    made = make_copy(secured_broker, ignite, tmp_path)
    made.settings["kafka_config"] = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice"}
    return made


RIGHT = {"kafka": {"sasl.password": USERS["alice"]}}


def test_wrong_kafka_password(secured: Copy) -> None:
    result = secured.run(secrets={"kafka": {"sasl.password": "wrong-kafka-password"}})
    one_error(result, 1, "AuthenticationFailed", secured.broker.proxy.bootstrap)
    assert "wrong-kafka-password" not in result.output


def test_topic_that_may_not_be_written(secured: Copy) -> None:
    create_topic(secured.broker, secured.topic)
    for operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS):
        rule(secured.broker, secured.topic, operation, AclPermissionType.ALLOW)
    one_error(secured.run(secrets=RIGHT), 1, "TopicError", secured.topic, "may not write", "permission WRITE")
    assert secured.assert_nothing_half() == 0
    rule(secured.broker, secured.topic, AclOperation.WRITE, AclPermissionType.ALLOW)
    secured.run(secrets=RIGHT).assert_exit(0)
    secured.assert_complete()


@pytest.mark.long("test_topic_that_may_not_be_written")
def test_dead_letter_topic_that_may_not_be_written(secured: Copy) -> None:
    dead_letters = create_topic(secured.broker, f"letters-{secured.connector}", 1)
    for operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS):
        rule(secured.broker, dead_letters, operation, AclPermissionType.ALLOW)
    put_bytes(secured.ignite, secured.cache, {long(100_000): OF_UNKNOWN_TYPE})
    settings = {"error_handling_policy": "DEAD_LETTER", "dead_letter_topic": dead_letters}
    one_error(secured.run(secrets=RIGHT, settings=settings), 1, "TopicError", dead_letters, "may not write")
    assert secured.assert_nothing_half() == 0


@pytest.mark.long("test_topic_that_may_not_be_written")
def test_topic_that_may_not_be_seen(secured: Copy) -> None:
    create_topic(secured.broker, secured.topic)
    rule(secured.broker, secured.topic, AclOperation.WRITE, AclPermissionType.ALLOW, user="somebody-else")
    one_error(secured.run(secrets=RIGHT), 1, "TopicError", secured.topic, "describing a topic")


def test_right_taken_away_and_given_back(secured: Copy) -> None:
    """The right to write goes during the copy: what was committed stays, and the next run sends only the rest."""
    create_topic(secured.broker, secured.topic)
    held = secured.broker.proxy.hold_request(Api.END_TXN, secured.slot_id(1), 3)
    app = secured.start(secrets=RIGHT)
    try:
        app.reaches(held)
        acl = rule(secured.broker, secured.topic, AclOperation.WRITE, AclPermissionType.DENY)
        held.release()
        one_error(app.result(), 1, "TopicError", secured.topic)
    finally:
        app.stop()
    assert 0 < secured.assert_nothing_half() < len(secured.entries)
    secured.broker.admin.delete_acls([acl])[acl].result(REQUEST_S)
    secured.run(secrets=RIGHT).assert_exit(0)
    secured.assert_complete()


def rule(
    broker: ProxiedBroker, topic: str, operation: AclOperation, permission: AclPermissionType, user: str = "alice"
) -> AclBindingFilter:
    """Add an ACL of a topic, which then has no more rights than its ACLs give; returns the filter that takes it back."""
    parts = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, permission)
    binding = AclBinding(*parts)
    broker.admin.create_acls([binding])[binding].result(REQUEST_S)
    return AclBindingFilter(*parts)


def test_wrong_ignite_password(broker: ProxiedBroker, jars: Jars, tmp_path: Path) -> None:
    with small_caches(tmp_path / "ignite", jars, authentication=True) as guarded:
        copy = make_copy(broker, guarded, tmp_path, {1: "a", 2: "b"})
        right = {"username": guarded.user, "password": guarded.password}
        for credentials in ({**right, "password": "wrong-ignite-password"}, {**right, "username": "nobody"}):
            result = copy.run(secrets={"ignite": credentials})
            one_error(result, 1, "AuthenticationFailed", guarded.address)
            assert credentials["password"] not in result.output.replace(guarded.user, "")
        copy.run(secrets={"ignite": right}).assert_exit(0)
        copy.assert_complete()
