"""Later attempts of a YARN application: a run or comparison that has ended is not done again; one that was cut off is."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import AuthenticationFailed, KafkaUnavailable, TopicError
from ignite_kafka.runtime import yarn_attempt
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.comparisons import ComparisonStatus
from ignite_kafka.state.status import COMPLETED, FAILED, RUNNING, RunStatus

FIRST, SECOND = "container_e17_1410901177871_0001_01_000001", "container_1410901177871_0001_02_000001"
SETTINGS = SourceSettings.from_dict({"name": "c", "cache_whitelist": "people", "ignite_addresses": "n:1", "bootstrap_servers": "b:1"})


def status(state: str, error: TopicError | None = None) -> RunStatus:
    ended_ms = None if state == RUNNING else 2
    return RunStatus(state, "c", "run", started_ms=1, ended_ms=ended_ms, error=error.to_dict() if error else None)


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Answers to the question for the run's record, which are taken from the end."""
    answers: list[Any] = []

    def read(_clients: object, _prefix: str, connector: str, run_id: str) -> tuple[Any, int]:
        assert (connector, run_id) == ("c", "run")
        answer = answers.pop()
        if isinstance(answer, Exception):
            raise answer
        return answer, 1

    monkeypatch.setattr(yarn_attempt, "read_run_written", read)
    monkeypatch.setattr(yarn_attempt, "read_comparison", read)
    return answers


@pytest.mark.parametrize(
    ("container", "attempt"),
    [(FIRST, 1), (SECOND, 2), ("container_1_2_12_34", 12), ("", 1), ("container", 1), ("container_1_2_3", 1), (f"{SECOND}x", 1)],
)
def test_the_container_names_the_attempt(container: str, attempt: int) -> None:
    assert yarn_attempt.attempt_of({"CONTAINER_ID": container}) == attempt
    assert yarn_attempt.attempt_of({}) == 1


@pytest.mark.parametrize("container", [FIRST, None])
def test_a_first_attempt_asks_kafka_nothing(records: list[Any], monkeypatch: pytest.MonkeyPatch, container: str | None) -> None:
    monkeypatch.delenv("CONTAINER_ID", raising=False)
    if container:
        monkeypatch.setenv("CONTAINER_ID", container)
    assert not yarn_attempt.run_has_ended(SETTINGS, Secrets(), "run")


@pytest.mark.parametrize(("record", "over"), [(None, False), (status(RUNNING), False), (status(COMPLETED), True)])
def test_a_later_attempt_runs_unless_the_run_has_ended(
    records: list[Any], monkeypatch: pytest.MonkeyPatch, record: RunStatus | None, over: bool
) -> None:
    monkeypatch.setenv("CONTAINER_ID", SECOND)
    records.extend([record, KafkaUnavailable("no broker answers")])
    assert yarn_attempt.run_has_ended(SETTINGS, Secrets(), "run") is over
    assert records == [], "it waited for the broker"


def test_a_later_attempt_ends_with_the_error_of_the_run(records: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTAINER_ID", SECOND)
    records.append(status(FAILED, TopicError("may not be written")))
    with pytest.raises(TopicError, match="may not be written"):
        yarn_attempt.run_has_ended(SETTINGS, Secrets(), "run")


@pytest.mark.parametrize("record", [None, ComparisonStatus(RUNNING, "c", "run"), ComparisonStatus(COMPLETED, "c", "run", ended_ms=2)])
def test_a_later_attempt_compares_unless_the_comparison_has_ended(
    records: list[Any], monkeypatch: pytest.MonkeyPatch, record: ComparisonStatus | None
) -> None:
    monkeypatch.delenv("CONTAINER_ID", raising=False)
    assert not yarn_attempt.comparison_has_ended(SETTINGS, Secrets(), "run"), "a first attempt asks Kafka nothing"
    monkeypatch.setenv("CONTAINER_ID", SECOND)
    records.append(record)
    assert yarn_attempt.comparison_has_ended(SETTINGS, Secrets(), "run") is (record is not None and record.ended_ms is not None)
    assert records == []


def test_a_later_attempt_ends_with_the_error_of_the_comparison(records: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTAINER_ID", SECOND)
    records.append(ComparisonStatus(FAILED, "c", "run", ended_ms=2, error=TopicError("no topic exists").to_dict()))
    with pytest.raises(TopicError, match="no topic exists"):
        yarn_attempt.comparison_has_ended(SETTINGS, Secrets(), "run")


def test_a_refused_login_is_not_repeated(records: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTAINER_ID", SECOND)
    records.extend([status(RUNNING), AuthenticationFailed("wrong password")])
    with pytest.raises(AuthenticationFailed):
        yarn_attempt.run_has_ended(SETTINGS, Secrets(), "run")
    assert len(records) == 1
