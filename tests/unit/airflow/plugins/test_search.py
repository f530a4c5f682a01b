"""Search of connectors by words and state."""

from __future__ import annotations

from dataclasses import replace

import pytest
from airflow.sdk.log import mask_secret

from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.search import Search, states
from airflow_provider_ignite_kafka.plugins.views import WITH_PROBLEM, ConnectorRow, Problem

ROW = ConnectorRow(
    MonitoredCluster("k"), "Orders-EU", "Ignite to Kafka", "RUNNING", "RUNNING", True, 1, 1.0, 1, 0, 0, None, None, None, ("Person", "City")
)
FAILED = replace(ROW, name="returns", state="FAILED", problem=Problem("TopicError", "the topic was deleted", "", ""))
LOST = replace(ROW, name="lost", state="LOST", silent_s=90.0)


@pytest.mark.parametrize(
    ("text", "state", "shown"),
    [
        ("", "", [ROW, FAILED, LOST]),
        ("orders", "", [ROW]),
        (" eu  orders ", "", [ROW]),
        ("orders us", "", []),
        ("person", "", [ROW, FAILED, LOST]),
        ("topicerror deleted", "", [FAILED]),
        ("", "running", [ROW]),
        ("", WITH_PROBLEM, [FAILED, LOST]),
        ("lost", WITH_PROBLEM, [LOST]),
        ("", "nothing", []),
    ],
)
def test_each_word_and_the_state_must_match(text: str, state: str, shown: list[ConnectorRow]) -> None:
    search = Search.of(text, state)
    assert [row for row in (ROW, FAILED, LOST) if search.matches(row)] == shown


def test_a_text_longer_than_any_name_is_cut() -> None:
    assert len(Search.of("x" * 100_000, "y" * 100_000).text) == 200


def test_the_states_to_choose_from_are_those_of_the_rows() -> None:
    assert states([ROW, FAILED, LOST, ROW]) == [WITH_PROBLEM, "FAILED", "LOST", "RUNNING"]


def test_a_masked_secret_cannot_be_searched_for() -> None:
    mask_secret("hunter2hunter2")
    leaking = replace(FAILED, problem=Problem("TopicError", "no login with hunter2hunter2", "", ""))
    assert Search.of("no login", "").matches(leaking)
    assert not Search.of("hunter2", "").matches(leaking)
