"""Control replies from bytes, and the small parts of the protocol."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from ignite_kafka.errors import DecodeError, IgniteKafkaError, IgniteUnreachable, UnknownBinaryType
from ignite_kafka.ignite import metadata_replies as control
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.protocol import Reader, ThinError
from ignite_kafka.ignite.types.model import BinaryField, class_id

NODES = [uuid.UUID(int=(7 << 64) + 9), uuid.UUID(int=2**128 - 1)]


def typed_uuid(value: uuid.UUID) -> bytes:
    return b"\x0a" + raw_uuid(value)


def raw_uuid(value: uuid.UUID) -> bytes:
    return struct.pack("<QQ", value.int >> 64, value.int & (2**64 - 1))


def ints(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def test_partitions_of_the_cache_asked_for() -> None:
    other = b"\0" + ints(2, 11, 12)
    owners = ints(2) + typed_uuid(NODES[0]) + ints(2, 0, 2) + typed_uuid(NODES[1]) + ints(1, 1)
    mapped = b"\1" + ints(2, 5, 1, 100, 200, 6, 0) + owners + b"\1"
    body = memoryview(struct.pack("<qii", 4, 2, 2) + mapped + other)
    found = control.read_partitions(body, 6, all_mappings=True)
    assert found == control.Partitions((4, 2), {0: NODES[0], 2: NODES[0], 1: NODES[1]})
    assert control.read_partitions(body, 12, all_mappings=True).primary == {}


def test_endpoints() -> None:
    node = raw_uuid(NODES[0]) + ints(10800, 2) + protocol.string("10.0.0.1") + protocol.string("fe80::1")
    body = memoryview(struct.pack("<qi", 3, 1) + node + ints(0))
    assert control.read_endpoints(body) == {NODES[0]: ("10.0.0.1:10800", "[fe80::1]:10800")}


def test_nodes_that_have_left() -> None:
    come = raw_uuid(NODES[0]) + ints(10800, 1) + protocol.string("10.0.0.1")
    body = memoryview(struct.pack("<qi", 3, 1) + come + ints(1) + raw_uuid(NODES[1]))
    assert control.read_left(body) == {NODES[1]}
    assert control.read_left(memoryview(struct.pack("<qi", 3, 0) + ints(0))) == set()


def test_binary_type_of_an_enum() -> None:
    enum = b"\1" + ints(2) + protocol.string("RED") + ints(0) + protocol.string("BLUE") + ints(5)
    body = memoryview(b"\1" + ints(9) + protocol.string("Color") + protocol.string(None) + ints(0) + enum + ints(0))
    found = control.read_binary_type(body)
    assert found is not None
    assert (found.type_id, found.name, found.affinity_field, found.is_enum) == (9, "Color", None, True)
    assert found.enum_values == {0: "RED", 5: "BLUE"}


def test_binary_type_with_two_schemas() -> None:
    fields = ints(1) + protocol.string("a") + ints(3, 77)
    body = memoryview(b"\1" + ints(9) + protocol.string("T") + protocol.string("a") + fields + b"\0" + ints(2, 50, 1, 77, 51, 0))
    found = control.read_binary_type(body)
    assert found is not None
    assert found.fields == (BinaryField("a", 3, 77),)
    assert found.schemas == {50: (77,), 51: ()}
    assert found.affinity_field == "a"
    assert control.read_binary_type(memoryview(b"\0")) is None


@pytest.mark.parametrize(
    "value",
    [
        b"\x65",
        b"\x01\x05",
        b"\x04" + bytes(8),
        b"\x0a" + bytes(16),
        b"\x21" + bytes(12),
        protocol.string("text"),
        b"\x1e" + ints(2, 3) + b"abc",
    ],
)
def test_default_values_are_passed_over(value: bytes) -> None:
    reader = Reader(value + b"rest")
    reader.any_object()
    assert bytes(reader.data[reader.position :]) == b"rest"


@pytest.mark.parametrize(
    ("data", "message"), [(b"\x67", "type code 103"), (b"\x04abc", "8 bytes wanted at position 1 of 4"), (b"", "1 bytes wanted")]
)
def test_broken_values(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Reader(data).any_object()


@pytest.mark.parametrize(("name", "expected"), [("", 0), ("trades", -865715313), ("h1p", 101575), ("Größe", 69209585), ("😀", 1772899)])
def test_cache_id_is_javas_hash_code(name: str, expected: int) -> None:
    assert protocol.cache_id(name) == expected


def test_features_mask() -> None:
    assert protocol.feature_mask(frozenset({0, 3, 13})) == b"\x09\x20"
    assert protocol.features_of(b"\x09\x20") == {0, 3, 13}
    assert protocol.features_of(None) == frozenset()
    assert protocol.feature_mask(frozenset()) == b""


@pytest.mark.parametrize(
    ("status", "raised", "final"), [(1, IgniteUnreachable, False), (protocol.SECURITY_VIOLATION, IgniteKafkaError, True)]
)
def test_a_node_that_refuses_metadata_is_no_fault_of_the_program(
    monkeypatch: pytest.MonkeyPatch, status: int, raised: type[IgniteKafkaError], final: bool
) -> None:
    def refuse(op: int, payload: bytes, read: object) -> memoryview:
        raise ThinError(status, "Node is stopping")

    cluster = Cluster(IgniteEndpoint(("127.0.0.1:1",)))
    monkeypatch.setattr(cluster, "_request", refuse)
    with pytest.raises(raised, match="metadata of a binary type: Node is stopping") as told:
        cluster.binary_type(7)
    assert told.value.where == {"type_id": 7}
    assert told.value.final is final


def test_a_class_without_a_binary_type_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def request(_: Cluster, op: int, payload: bytes, read: Callable[[memoryview], Any]) -> Any:
        asked.append((op, payload))
        if payload[1:] != ints(-2):
            raise ThinError(protocol.FAILED, "Failed to resolve class name [platformId=0, platform=Java, typeId=3]")
        return read(memoryview(protocol.string("java.util.CollSer")))

    monkeypatch.setattr(Cluster, "_request", request)
    cluster = Cluster(IgniteEndpoint(("127.0.0.1:1",)))
    found = cluster.binary_type(class_id(-2))
    assert (found.name, found.is_class, found.fields) == ("java.util.CollSer", True, ())
    assert cluster.binary_type(class_id(-2)) is found
    with pytest.raises(UnknownBinaryType):
        cluster.binary_type(class_id(3))
    assert asked == [(protocol.BINARY_TYPE_NAME, b"\0" + ints(one)) for one in (-2, 3)]


class Hostile:
    """A connection to a node that answers every request with the same bytes."""

    address, node_id, closed, affinity, features = "n:10800", NODES[0], False, (1, 0), protocol.features_of(b"\xff\xff")

    def __init__(self, reply: bytes) -> None:
        self.reply = reply

    def request(self, op: int, payload: bytes) -> memoryview:
        return memoryview(self.reply)


@pytest.mark.parametrize("reply", [b"", b"\1", b"\xff" * 9, b"\1" * 40, ints(1) + b"\x09" + ints(2) + b"\xff\xfe", ints(2**31 - 1)])
@pytest.mark.parametrize(
    "ask",
    [
        Cluster.cache_names,
        Cluster.active,
        Cluster.nodes,
        lambda cluster: cluster.cache("c"),
        lambda cluster: cluster.configuration("c"),
        lambda cluster: cluster.size("c"),
        lambda cluster: cluster.binary_type(7),
        lambda cluster: cluster.binary_type(class_id(7)),
        lambda cluster: cluster.partitions(7),
        lambda cluster: cluster.partitions(7, cluster.connection()),
        lambda cluster: cluster.connection(NODES[1]),
    ],
)
def test_a_reply_of_another_form_is_no_raw_error(ask: Callable[[Cluster], object], reply: bytes) -> None:
    cluster = Cluster(IgniteEndpoint(("127.0.0.1:1",)))
    cluster._any = Hostile(reply)  # type: ignore[assignment]
    cluster._deployed = (1, 0), {}
    with suppress(IgniteKafkaError):
        ask(cluster)


def test_its_error_names_node_and_request() -> None:
    cluster = Cluster(IgniteEndpoint(("127.0.0.1:1",)))
    cluster._any = Hostile(b"")  # type: ignore[assignment]
    with pytest.raises(DecodeError, match="the reply of an Ignite node to the request of a cache's size cannot be read: error") as caught:
        cluster.size("c")
    assert (caught.value.where["address"], caught.value.where["node"]) == ("n:10800", NODES[0])


@pytest.mark.parametrize(("name", "what"), [("shop.Order", "class shop.Order"), ("", "a binary type")])
def test_a_type_without_metadata_is_named_by_its_class_if_a_node_knows_it(name: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def request(_: Cluster, op: int, payload: bytes, read: Callable[[memoryview], Any]) -> Any:
        if op == protocol.BINARY_TYPE:
            return None
        assert payload == b"\0" + ints(-7)
        if not name:
            raise ThinError(protocol.FAILED, "Failed to resolve class name [platformId=0, platform=Java, typeId=-7]")
        return read(memoryview(protocol.string(name)))

    monkeypatch.setattr(Cluster, "_request", request)
    with pytest.raises(UnknownBinaryType, match=f"the cluster holds no metadata of {what} ") as caught:
        Cluster(IgniteEndpoint(("127.0.0.1:1",))).binary_type(-7)
    assert caught.value.where["type_id"] == -7
