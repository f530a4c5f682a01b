"""Servers that refuse a sink: one clear error, no commit ahead of the cache, and the next run continues."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyignite.datatypes.cluster_state import ClusterState

from tests.faults.conftest import one_error
from tests.support.servers import ProxiedBroker, small_caches
from tests.support.sink_case import SinkCase
from tools.servers import IgniteCluster, Jars

SEED = 5
MANY = 10_000


def set_state(ignite: IgniteCluster, state: ClusterState) -> None:
    with ignite.client() as client:
        client.get_cluster().set_state(state)


def test_a_cluster_made_read_only_and_writable_again(broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path) -> None:
    case = SinkCase(broker, ignite, tmp_path, SEED)
    try:
        with case.running() as app:
            case.await_moment(app, most=0.3)
            set_state(ignite, ClusterState.ACTIVE_READ_ONLY)
            message = one_error(app.result(), 1, "WriteFailed", case.cache, "read-only", "set-state ACTIVE")
        assert case.topic not in message
        case.assert_not_ahead()
        one_error(case.run(), 1, "WriteFailed", case.cache, "read-only")
    finally:
        set_state(ignite, ClusterState.ACTIVE)
    assert sum(case.committed().values()) < case.records
    case.run().assert_exit(0)
    case.assert_same()


# Ignite's own choice ends the node
@pytest.mark.parametrize(
    "handler", [pytest.param("NoOpFailureHandler", marks=pytest.mark.long("StopNodeOrHaltFailureHandler")), "StopNodeOrHaltFailureHandler"]
)
def test_a_data_region_that_is_too_small(broker: ProxiedBroker, jars: Jars, tmp_path: Path, handler: str) -> None:
    """A node that survives refuses entries, and keeps the cause to its log; one that does not is away."""
    failure = {"failureHandler": f'<bean class="org.apache.ignite.failure.{handler}"/>'}
    with small_caches(tmp_path / "little", jars, data_region_mib=48, properties=failure, backlog_mib=0) as little:
        case = SinkCase(broker, little, tmp_path, SEED, records=100)
        case.send(MANY, size=20_000, keys=MANY)  # some 100 MiB of entries
        result = case.run(settings={"retry_timeout_ms": 3_000})
        if little.node(0).running():
            message = one_error(result, 1, "IgniteUnreachable", case.cache, "Failed to update keys", "data region is out of memory")
            assert len(message) < 1_000  # no list of keys
            case.assert_not_ahead()
        else:
            one_error(result, 1, "IgniteUnreachable", little.address)
        assert sum(case.committed().values()) < case.records + MANY
