"""The broker dies during the copy: the run continues when it is back, and otherwise reports what is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ignite_kafka.events import OUTCOME_UNKNOWN
from tests.faults.conftest import SLOTS, make_copy
from tests.support.kafka_proxy import Api
from tests.support.servers import ProxiedBroker
from tools.servers import IgniteCluster, Jars


@pytest.fixture
def mortal_broker(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedBroker]:
    with ProxiedBroker(tmp_path_factory.mktemp("mortal"), jars) as started:
        yield started


@pytest.mark.parametrize("api", [pytest.param(Api.ADD_PARTITIONS_TO_TXN, marks=pytest.mark.long("END_TXN")), Api.END_TXN])
def test_a_run_continues_when_the_broker_is_back(mortal_broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path, api: Api) -> None:
    copy = make_copy(mortal_broker, ignite, tmp_path)
    rule = mortal_broker.proxy.hold_reply(api, copy.slot_id(1), 2)
    app = copy.start()
    try:
        app.reaches(rule)
        copy.await_settled()
        mortal_broker.kill()
        rule.drop()
        mortal_broker.start()
        app.result().assert_exit(0)
    finally:
        app.stop()
    copy.assert_complete()


def test_broker_that_stays_away(mortal_broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path) -> None:
    """A commit was asked for and nobody is left to ask: the outcome is unknown until the next run has looked."""
    copy = make_copy(mortal_broker, ignite, tmp_path)
    copy.settings |= {"retry_timeout_ms": 3000, "transaction_timeout_ms": 10_000, "transaction_max_ms": 1000}
    rule = mortal_broker.proxy.hold_reply(Api.END_TXN, copy.slot_id(1), 2)
    app = copy.start()
    try:
        app.reaches(rule)
        copy.await_settled()
        mortal_broker.kill()
        rule.drop()
        result = app.result().assert_exit(4)
    finally:
        app.stop()
    assert result.error is not None
    assert result.error[0] == "OutcomeUnknown"
    assert copy.connector in result.error[1]
    mortal_broker.start()
    assert f"{OUTCOME_UNKNOWN.id} # " in result.output  # no broker takes a record of it
    copy.assert_nothing_half()
    copy.run(settings={"retry_timeout_ms": 60_000}).assert_exit(0)
    copy.assert_complete()


def slots_tried_again(output: str) -> set[int]:
    return {int(slot) for slot in re.findall(r"15120 # slot (\d+) restarts", output)}


@pytest.mark.long("test_broker_that_stays_away")
def test_tasks_that_wait_for_a_core_are_not_started_once_the_retry_time_is_over(
    mortal_broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path
) -> None:
    """Four tasks on one core: each of the others would try for a retry_timeout_ms of its own."""
    copy = make_copy(mortal_broker, ignite, tmp_path)
    copy.settings |= {"retry_timeout_ms": 3000, "transaction_timeout_ms": 10_000, "transaction_max_ms": 1000, "tasks_max": SLOTS}
    rule = mortal_broker.proxy.hold_request(Api.ADD_PARTITIONS_TO_TXN, copy.slot_id(0), 2)
    app = copy.start(master="local[1,4]")
    try:
        app.reaches(rule)
        mortal_broker.kill()
        rule.drop()
        result = app.result()
    finally:
        app.stop()
    assert result.exit_code in (1, 4), result.output
    tried = slots_tried_again(result.output)
    assert 0 in tried, "the task that ran tried again"
    assert not tried & {2, 3}, "so did tasks that had no core when its time was over"
