"""Settings of a KRaft node, turned into those of a broker with ZooKeeper."""

from __future__ import annotations

from tools.servers.kafka import zookeeper_settings


def test_a_broker_with_zookeeper_has_no_controller_of_its_own() -> None:
    kraft = {
        "process.roles": "broker,controller",
        "node.id": 2,
        "controller.quorum.voters": "2@127.0.0.1:9",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:7,PROXIED://127.0.0.1:8,CONTROLLER://127.0.0.1:9",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "broker.session.timeout.ms": 4_000,
        "num.partitions": 4,
    }
    assert zookeeper_settings(kraft, "127.0.0.1:2181") == {
        "broker.id": 2,
        "zookeeper.connect": "127.0.0.1:2181",
        "listeners": "PLAINTEXT://127.0.0.1:7,PROXIED://127.0.0.1:8",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "zookeeper.session.timeout.ms": 4_000,
        "num.partitions": 4,
    }
