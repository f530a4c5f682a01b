"""A comparison in a cluster: what ends following it, and what its task raises then."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ignite_kafka.runs import cluster_app
from airflow_provider_ignite_kafka.runs import comparison as cluster_comparison
from airflow_provider_ignite_kafka.runs.comparison import ClusterComparison
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.state.comparisons import ComparisonStatus
from ignite_kafka.state.status import COMPLETED, RUNNING, now_ms
from tests.support.waiting import DEADLINE_S

RUNS = ComparisonStatus(RUNNING, "c", "r", "comparing", 1, 9)
DONE = ComparisonStatus(COMPLETED, "c", "r", ended_ms=5, result={"caches": []})


class App:
    """An app in a cluster that says whether it has ended."""

    log_command = "yarn logs -applicationId application_17_0001"

    def __init__(self, ended: bool = False) -> None:
        self.ended = ended
        self.kills = 0

    def has_ended(self) -> bool:
        return self.ended

    def kill(self) -> str:
        self.kills += 1
        return "killed"


def comparison(*answers: Any, app: App | None = None, **changed: Any) -> ClusterComparison:
    """A comparison whose records are these, one for each poll; an error is raised, and the last answer stays."""
    left = list(answers)

    def read() -> tuple[ComparisonStatus | None, int]:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer, 7

    run = FollowedRun("c", "r", poll_s=0.0, **{"submitted_ms": now_ms(), **changed})
    return ClusterComparison(run, read, app or App())  # type: ignore[arg-type]


def never() -> bool:
    return False


def test_the_result_of_the_last_record() -> None:
    app = App()
    followed = comparison(None, RUNS, KafkaUnavailable("no broker answers"), RUNS, DONE, app=app)
    assert followed.result(never) == {"caches": []}
    assert (followed.kill(), app.kills) == ("", 0)


def test_no_record_in_time() -> None:
    app = App()
    followed = comparison(None, app=app, start_s=0.0)
    with pytest.raises(AirflowException, match=r"no result: not started.*\n?.*yarn logs -applicationId"):
        followed.result(never)
    assert (followed.kill(), app.kills) == ("killed", 1)


def test_no_new_record_for_too_long() -> None:
    with pytest.raises(AirflowException, match="no result: silent"):
        comparison(RUNS, silence_s=0.05).result(never)
    with pytest.raises(AirflowException, match="no result: silent"):
        comparison(KafkaUnavailable("no broker answers"), silence_s=0.05).result(never)


def test_an_app_that_has_ended_without_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_app, "_ASK_CLUSTER_S", 0.0)
    app = App(ended=True)
    followed = comparison(RUNS, app=app)
    with pytest.raises(AirflowException, match="its app has ended without a result"):
        followed.result(never)
    assert (followed.kill(), app.kills) == ("", 0)
    assert comparison(RUNS, DONE, app=App(ended=True)).result(never) == {"caches": []}, "the record came with the end"


def test_a_cluster_is_not_asked_about_an_app_that_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_app, "_ASK_CLUSTER_S", 0.0)
    records = iter([(RUNS, now_ms()), (RUNS, now_ms()), (DONE, now_ms())])
    run = FollowedRun("c", "r", poll_s=0.0, submitted_ms=now_ms())
    followed = ClusterComparison(run, lambda: next(records), App(ended=True))  # type: ignore[arg-type]
    assert followed.result(never) == {"caches": []}
    assert next(records, None) is None, "no further poll, as after an answer of the cluster"


def test_a_kill_does_not_wait_for_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_comparison, "_KILL_S", 0.05)
    answer = threading.Event()
    app = App()
    monkeypatch.setattr(app, "kill", lambda: f"answered: {answer.wait(DEADLINE_S)}")
    assert "has not answered yet" in comparison(RUNS, app=app).kill()
    answer.set()
