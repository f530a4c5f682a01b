"""Result or exception of a task, by the end of its app and the run's record."""

from __future__ import annotations

from dataclasses import replace

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ignite_kafka.runs import result as run_result
from ignite_kafka.errors import Fenced, IgniteKafkaError, KafkaUnavailable, OutcomeUnknown, ScanFailed, TopicError
from ignite_kafka.state.status import COMPLETED, FAILED, FENCED, RUNNING, STOPPED, UNKNOWN, RunStatus
from tests.unit.airflow.bench import Bench, context, operator, run_status, sink


def test_result_holds_counts_per_cache(bench: Bench) -> None:
    assert operator().execute(context()) == {
        "state": "COMPLETED",
        "connector": "c",
        "snapshot_id": "s",
        "run_id": "r",
        "generation": 3,
        "already_complete": False,
        "seconds": 2.5,
        "records": 10,
        "caches": {
            "flights": {
                "topic": "t-flights",
                "entries": 10,
                "records": 10,
                "bytes": 1000,
                "units": 4,
                "units_done": 4,
                "seconds": 0.5,
                "bad": 0,
                "filtered": 0,
                "dead_letters": 0,
            }
        },
    }


def test_a_stopped_continuous_sink_is_a_success(bench: Bench) -> None:
    bench.status = lambda: run_status(STOPPED)
    assert sink(run_mode="continuous").execute(context())["state"] == "STOPPED"


def test_a_stopped_stream_is_a_success(bench: Bench) -> None:
    bench.status = lambda: run_status(STOPPED)
    result = operator(run_mode="continuous", failover_policy="BACKLOG").execute(context())
    assert (result["state"], result["records"]) == ("STOPPED", 10)
    with pytest.raises(AirflowException, match="stopped before its end"):
        operator(failover_policy="BACKLOG").execute(context())


@pytest.mark.parametrize(
    ("status", "exit_code", "kind", "message"),
    [
        (run_status(FAILED, TopicError("may not be written", topic="t-flights")), 1, AirflowFailException, r"TopicError: .*t-flights"),
        (run_status(FAILED, ScanFailed("node left", cache="flights")), 1, AirflowException, r"ScanFailed: node left \[cache flights\]"),
        (run_status(FENCED, Fenced("generation 4 has taken over")), 3, AirflowFailException, "generation 4"),
        (run_status(FAILED, IgniteKafkaError("Py4JJavaError: out of memory")), 1, AirflowException, "out of memory"),
        (run_status(UNKNOWN, OutcomeUnknown("no answer to a commit")), 4, AirflowException, "no answer to a commit"),
        (run_status(STOPPED), 143, AirflowException, "stopped"),
        (replace(run_status(FENCED, Fenced("by a run that is starting")), generation=0), 3, AirflowException, "before this one began"),
        (run_status(RUNNING), 137, AirflowException, "exit code 137"),
        (None, 0, AirflowException, "no end of this run"),
    ],
)
def test_failure_by_the_status_record(bench: Bench, status: RunStatus | None, exit_code: int, kind: type[Exception], message: str) -> None:
    bench.order(exit_code=exit_code)
    bench.status = lambda: status
    with pytest.raises(AirflowException, match=message) as failed:
        operator().execute(context())
    assert failed.type is kind


@pytest.mark.parametrize(
    ("state", "error", "continuous", "succeeded"),
    [
        (COMPLETED, None, False, True),
        (STOPPED, None, True, True),
        (STOPPED, None, False, False),
        (STOPPED, IgniteKafkaError("SystemExit: 143"), True, False),
        (RUNNING, None, True, False),
        (FAILED, ScanFailed("node left"), True, False),
    ],
)
def test_a_continuous_run_succeeds_where_it_was_stopped_in_good_order(
    state: str, error: IgniteKafkaError | None, continuous: bool, succeeded: bool
) -> None:
    assert run_result.succeeded(run_status(state, error), continuous=continuous) is succeeded
    assert not run_result.succeeded(None, continuous=continuous)


@pytest.mark.parametrize(
    ("line", "exit_code", "kind"),
    [
        ("ignite-kafka: SettingsError batch_size is 0", 2, AirflowFailException),
        ("ignite-kafka: AuthenticationFailed refused", 1, AirflowFailException),
        ("ignite-kafka: IgniteUnreachable nobody answers", 1, AirflowException),
        ("ignite-kafka: OutcomeUnknown no answer", 4, AirflowException),
        ("ignite-kafka: CallsStuck in the driver's process", 1, AirflowException),
        ("ignite-kafka: SomethingNew of a later version", 1, AirflowException),
    ],
)
def test_failure_without_a_status_record_is_the_app_s_last_line(bench: Bench, line: str, exit_code: int, kind: type[Exception]) -> None:
    bench.order(print=["starting", line, "INFO ShutdownHookManager: Shutdown hook called"], exit_code=exit_code)
    bench.status = lambda: None
    with pytest.raises(AirflowException, match=line.removeprefix("ignite-kafka: ")) as failed:
        operator().execute(context())
    assert failed.type is kind


def test_failure_without_an_error_message_shows_the_last_lines(bench: Bench) -> None:
    bench.order(print=["java.lang.OutOfMemoryError: Java heap space"], exit_code=1)
    bench.status = lambda: None
    with pytest.raises(AirflowException, match=r"exit code 1(.|\n)*OutOfMemoryError"):
        operator().execute(context())


def test_success_while_kafka_does_not_answer_is_retried(bench: Bench) -> None:
    bench.status = unavailable
    with pytest.raises(AirflowException, match="KafkaUnavailable") as failed:
        operator().execute(context())
    assert failed.type is AirflowException


def test_failure_while_kafka_does_not_answer_has_the_app_s_reason(bench: Bench) -> None:
    bench.order(print=["ignite-kafka: CacheNotFound no such cache"], exit_code=1)
    bench.status = unavailable
    with pytest.raises(AirflowFailException, match="no such cache"):
        operator().execute(context())


def unavailable() -> RunStatus | None:
    raise KafkaUnavailable("no broker answers")
