"""Binary types registered on a real cluster: fields and constants that a type gets, forms registered at once."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pyarrow as pa
import pytest

from ignite_kafka.errors import TypeClash
from ignite_kafka.ignite.binary import ObjectLayout
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.schema import register_type
from ignite_kafka.ignite.types.model import BinaryType
from ignite_kafka.java.hash_code import java_hash
from tests.integration.ignite.nodes import endpoint_of
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster

LONG, TEXT = pa.field("long", pa.int64()), pa.field("text", pa.string())


def test_a_type_gets_new_fields(cluster: Cluster) -> None:
    name = f"Grows{uuid.uuid4().hex[:8]}"
    register_type(cluster, ObjectLayout(name, (LONG,)).metadata)
    register_type(cluster, ObjectLayout(name, (LONG, TEXT)).metadata)
    known = cluster.binary_type(ObjectLayout(name, (LONG,)).type_id)
    assert {field.name for field in known.fields} == {"long", "text"}
    assert len(known.schemas) == 2


def test_a_type_with_an_affinity_key_field_gets_new_fields(cluster: Cluster) -> None:
    """Whoever reads JSON does not know the affinity key field; Ignite refuses a type that comes without it."""
    name = f"Affine{uuid.uuid4().hex}"
    register_type(cluster, ObjectLayout(name, (LONG,), affinity_field=LONG.name).metadata)
    register_type(cluster, ObjectLayout(name, (LONG, TEXT)).metadata)
    known = cluster.binary_type(ObjectLayout(name, ()).type_id)
    assert (known.affinity_field, len(known.fields)) == (LONG.name, 2)
    with pytest.raises(TypeClash, match=f"has the affinity key field {LONG.name} in the cluster, and {TEXT.name} is to be written"):
        register_type(cluster, ObjectLayout(name, (LONG, TEXT), affinity_field=TEXT.name).metadata)


def test_an_enum_gets_new_constants_and_keeps_those_it_has(cluster: Cluster) -> None:
    name = f"Enum{uuid.uuid4().hex}"
    one = BinaryType(java_hash(name.lower()), name, is_enum=True, enum_values={0: "A"})
    register_type(cluster, one)
    register_type(cluster, replace(one, enum_values={0: "A", 1: "B"}))
    assert cluster.binary_type(one.type_id).enum_values == {0: "A", 1: "B"}
    with pytest.raises(TypeClash, match="has the constants A = 0, B = 1 in the cluster, and C = 1 is to be written"):
        register_type(cluster, replace(one, enum_values={1: "C"}))
    with pytest.raises(TypeClash, match="is an enum in the cluster, and no enum is to be written"):
        register_type(cluster, ObjectLayout(name, (LONG,)).metadata)


def test_a_type_that_is_known_stays_as_it_is(cluster: Cluster) -> None:
    name = f"Stays{uuid.uuid4().hex[:8]}"
    first, second = ObjectLayout(name, (LONG,)), ObjectLayout(name, (LONG, TEXT))
    for layout in (first, second):
        register_type(cluster, layout.metadata, unless_known=True)
        assert cluster.binary_type(layout.type_id).schemas == first.metadata.schemas


def test_of_two_forms_registered_at_once_only_one_is_ever_seen_alone(pair: IgniteCluster) -> None:
    endpoint = endpoint_of(pair)
    nodes = [replace(endpoint, addresses=(address,)) for address in endpoint.addresses[:2]]
    forms = TEXT, LONG.with_name("other")

    def register(node: IgniteEndpoint, field: pa.Field, name: str, start: Barrier) -> frozenset[int]:
        layout = ObjectLayout(name, (LONG, field))
        with Cluster(node) as cluster:
            cluster.cache_names()
            start.wait(DEADLINE_S)
            register_type(cluster, layout.metadata, unless_known=True)
            return frozenset(cluster.binary_type(layout.type_id).schemas)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(30):
            name, start = f"Raced{uuid.uuid4().hex[:8]}", Barrier(2)
            seen = list(pool.map(register, nodes, forms, [name] * 2, [start] * 2))
            assert len({schemas for schemas in seen if len(schemas) == 1}) <= 1
