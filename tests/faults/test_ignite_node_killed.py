"""An Ignite node dies during the scan of a cluster of two with a backup: its units are read again from the other, and only once sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import make_copy
from tests.support.kafka_proxy import Api
from tests.support.servers import ProxiedBroker, small_caches
from tools.servers import IgniteCluster, Jars


@pytest.fixture
def two_nodes(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    with small_caches(tmp_path_factory.mktemp("two"), jars, nodes=2) as started:
        yield started


@pytest.mark.parametrize(
    "number",
    [0, pytest.param(1, marks=pytest.mark.long("the node first connected to"))],
    ids=["the node first connected to", "the other node"],
)
def test_another_node_serves_units_of_the_dead_one(broker: ProxiedBroker, two_nodes: IgniteCluster, tmp_path: Path, number: int) -> None:
    copy = make_copy(broker, two_nodes, tmp_path)
    rules = [broker.proxy.hold_request(Api.END_TXN, copy.slot_id(slot), 2) for slot in range(2)]
    app = copy.start()
    try:
        # both tasks are in the middle of a slot
        for rule in rules:
            app.reaches(rule)
        two_nodes.kill(number)
        for rule in rules:
            rule.release()
        app.result().assert_exit(0)
    finally:
        app.stop()
    copy.assert_complete()


def test_no_owner_is_left(broker: ProxiedBroker, two_nodes: IgniteCluster, tmp_path: Path) -> None:
    """Both nodes die: one error that names the addresses, nothing half visible."""
    copy = make_copy(broker, two_nodes, tmp_path)
    rule = broker.proxy.hold_request(Api.END_TXN, copy.slot_id(1), 3)
    app = copy.start(settings={"retry_timeout_ms": 3000})
    try:
        app.reaches(rule)
        two_nodes.kill(0)
        two_nodes.kill(1)
        rule.release()
        result = app.result().assert_exit(1)
    finally:
        app.stop()
    assert result.error is not None
    code, message = result.error
    assert code in {"IgniteUnreachable", "ScanFailed"}
    assert any(address in message for address in two_nodes.addresses)
    assert 0 < copy.assert_nothing_half() < len(copy.entries)
