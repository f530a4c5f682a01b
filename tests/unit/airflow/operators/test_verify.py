"""The operator that compares a connector: submitted arguments, and the task's end for each result."""

from __future__ import annotations

import errno
import json
import os
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import DAG, Asset, AssetAlias

from airflow_provider_ignite_kafka.operators.verify import RESULT_KEY, VerifyOperator
from airflow_provider_ignite_kafka.runs.comparison import ClusterComparison
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.spark.app_paths import app_path
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, SettingsError
from ignite_kafka.state.comparisons import ComparisonStatus
from ignite_kafka.state.status import COMPLETED, FAILED, RUNNING, now_ms
from ignite_kafka.verification.result import VerifyOptions
from ignite_kafka.verify_app import RESULT_LINE
from tests.unit.airflow.bench import PASSWORDS, Bench, context

DAY = 86_400_000


def task(settings: Any = None, **arguments: Any) -> VerifyOperator:
    with DAG("nightly", schedule=None):
        return VerifyOperator(
            task_id="verify", settings={"name": "c"} if settings is None else settings, **{"direction": "source", **arguments}
        )


def result(**differing: int) -> dict[str, Any]:
    names = "entries records repeated missing different unexpected skipped other_bytes repaired"
    counts = dict.fromkeys(names.split(), 0)
    found = [{"kind": kind, "text": f"key '1': {kind}"} for kind in differing]
    cache = {"cache": "flights", "topic": "t-flights", **counts, **differing, "equal": not differing, "differences": found}
    return {"equal": not differing, "sample_percent": 100, "caches": [cache]}


def order_result(bench: Bench, found: dict[str, Any]) -> None:
    bench.order(print=["at work", f"{RESULT_LINE}{json.dumps(found)}", "a line of Spark's end"])


def test_it_submits_the_app_with_options_and_secrets_and_returns_the_result(bench: Bench) -> None:
    order_result(bench, result())
    ran = context()
    found = task(sample="12.5", repair="true", thorough=True, differences=3, conf={"spark.x": "1"}).execute(ran)
    assert found == result() == ran["ti"].pushed[RESULT_KEY]
    seen = bench.seen
    argv = seen["argv"]
    assert str(app_path("verify_connector.py")) in argv
    assert argv[argv.index("--direction") + 1] == "source"
    options = json.loads(argv[argv.index("--options") + 1])
    assert options == {
        "percent": 12.5, "thorough": True, "limit": 3, "repair": True, "repair_at_most": 0, "within_ms": 0, "recheck_wait_ms": 60_000,
    }  # fmt: skip
    assert VerifyOptions.from_json(options).percent == 12.5
    assert "spark.x=1" in argv
    assert (seen["request"]["connector"], seen["request"]["settings"]["bootstrap_servers"]) == ("c", "broker:9092")
    assert seen["secrets_mode"] == 0o600
    assert not any(secret in " ".join(argv) for secret in PASSWORDS)
    assert list((bench.folder / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, (None, 0, 60_000, 0)),
        ({"sample": "", "within": "7d", "recheck_wait": timedelta(seconds=5), "repair_at_most": "9"}, (None, 7 * DAY, 5_000, 9)),
        ({"sample": 5, "within": timedelta(days=1), "recheck_wait": "0s"}, (5.0, DAY, 0, 0)),
        ({"within": "None", "sample": "None"}, (None, 0, 60_000, 0)),  # templates that rendered None
    ],
)
def test_options_of_samples_and_bounds(arguments: dict[str, Any], expected: tuple[Any, ...], bench: Bench) -> None:
    order_result(bench, result())
    task(**arguments).execute(context())
    argv = bench.seen["argv"]
    options = VerifyOptions.from_json(json.loads(argv[argv.index("--options") + 1]))
    assert (options.percent, options.within_ms, options.recheck_wait_ms, options.repair_at_most) == expected


TOPIC, CONNECTOR, ALIAS = Asset(uri="kafka://broker:9092/t-flights"), Asset("verified c"), AssetAlias("verified")


def test_assets_get_an_event_with_the_counts_if_nothing_differs(bench: Bench) -> None:
    """A Dag that is scheduled on such an asset runs on verified data only."""
    order_result(bench, {**result(), "oldest_ms": 1_764_244_800_000})
    ran = context()
    task(outlets=[TOPIC, CONNECTOR, ALIAS]).execute(ran)
    events = ran["outlet_events"]
    common = {"connector": "c", "sample_percent": 100, "all_compared_since": "2025-11-27T12:00:00.000Z", "equal": True}
    counts = dict.fromkeys(("entries", "records", "missing", "different", "unexpected", "skipped", "repaired"), 0)
    names = {"cache": "flights", "topic": "t-flights"}
    assert events[CONNECTOR].extra == {**common, **counts}
    assert events[TOPIC].extra == {**common, **names, **counts}
    (event,) = events[ALIAS].asset_alias_events
    assert (event.dest_asset_key.uri, event.extra) == (TOPIC.uri, {**common, **names, **counts})


def test_differences_give_no_event(bench: Bench) -> None:
    order_result(bench, {**result(missing=2), "repair_refusal": "nothing was repaired: 2 keys differ"})
    ran = context()
    with pytest.raises(AirflowFailException, match=r"1 of 1 caches differ: .* nothing was repaired: 2 keys differ: repair_at_most"):
        task(outlets=[TOPIC, CONNECTOR, ALIAS]).execute(ran)
    assert len(ran["outlet_events"]) == 0
    task(outlets=[CONNECTOR, ALIAS], fail_on_differences=False).execute(ran)
    assert ran["outlet_events"][CONNECTOR].extra["equal"] is False
    assert ran["outlet_events"][ALIAS].asset_alias_events == []


@pytest.mark.parametrize("where", ["tempfile.mkdtemp", "airflow_provider_ignite_kafka.runs.request.Request.write"])
def test_a_full_local_folder_fails_the_task_with_a_named_error(where: str, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/ignite-kafka-x")

    monkeypatch.setattr(where, full)
    with pytest.raises(AirflowException, match=r"LocalDiskFull.* the file system of /tmp/ignite-kafka-x has no space left") as caught:
        task().execute(context())
    assert not isinstance(caught.value, AirflowFailException)


def test_differences_fail_the_task_without_retries_and_stay_in_xcom(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    order_result(bench, result(missing=2))
    ran = context()
    with pytest.raises(AirflowFailException, match=r"1 of 1 caches differ: flights and t-flights: .*missing 2"):
        task().execute(ran)
    assert ran["ti"].pushed[RESULT_KEY]["equal"] is False
    lines = capsys.readouterr().out.splitlines()
    assert any("key '1': missing" in line and RESULT_LINE not in line for line in lines), "each on its own line"
    assert task(fail_on_differences=False).execute(context())["equal"] is False


def test_an_error_of_the_app_is_that_of_the_task(bench: Bench) -> None:
    bench.order(print=["ignite-kafka: NotStopped a repair needs a connector without an active run"], exit_code=1)
    with pytest.raises(AirflowException, match="NotStopped a repair needs"):
        task().execute(context())
    bench.order(print=["ignite-kafka: CacheNotFound no such cache"], exit_code=1)
    with pytest.raises(AirflowFailException, match="CacheNotFound"):
        task().execute(context())
    bench.order(print=["nothing"])
    with pytest.raises(AirflowException, match="without a result"):
        task().execute(context())
    assert list((bench.folder / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    "line", ["[" * 2_000, "no JSON", "[]", "{}", '{"caches":5}', '{"caches":[5]}', '{"caches":[{"equal":false}]}', "9" * 5_000]
)
def test_a_result_of_another_form_is_an_error_with_a_retry(line: str, bench: Bench) -> None:
    bench.order(print=[f"{RESULT_LINE}{line}"])
    with pytest.raises(AirflowException, match="The result of the app cannot be read"):
        task().execute(context())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"direction": "both"}, "direction is 'both'"),
        ({"sample": "0"}, "sample is 0"),
        ({"sample": "a lot"}, "sample is 'a lot'"),
        ({"repair": "perhaps"}, "repair is 'perhaps'"),
        ({"repair_at_most": "few"}, "repair_at_most is 'few'"),
        ({"repair_at_most": -1}, "repair_at_most is -1"),
        ({"within": "a week"}, "within: 'a week' is no time span"),
        ({"settings": {"cache_whitelist": "flights"}}, "the settings have no name"),
        ({"spark_submit": "{'executor_coers': 1}"}, "spark_submit must be a mapping of names to values"),
    ],
)
def test_wrong_arguments_fail_before_anything_starts(arguments: dict[str, Any], text: str, bench: Bench) -> None:
    with pytest.raises(AirflowFailException, match=text):
        task(**arguments).execute(context())
    assert not (bench.folder / "seen.json").exists()


def test_a_wrong_setting_is_an_import_error_of_the_dag() -> None:
    with pytest.raises(SettingsError, match="cache_whitelits"):
        task({"name": "c", "cache_whitelits": "flights"})
    assert task({"name": "c", "topics": ["t"]}, direction="sink").direction == "sink"
    with pytest.raises(ValueError, match=r"spark_submit has 'conf', which .* cannot be set here"):
        task(spark_submit={"conf": {}})


@pytest.fixture
def on_yarn(bench: Bench, connect: Any) -> Bench:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    bench.order(print=["Submitted application application_17_0001"])
    return bench


def in_cluster(monkeypatch: pytest.MonkeyPatch, *records: ComparisonStatus | None) -> None:
    """Let the status topic answer with these records, one after the other; the last one stays."""
    left = list(records)

    def comparison_of(run: FollowedRun, _: Any) -> ClusterComparison:
        return ClusterComparison(replace(run, poll_s=0.01), lambda: (left.pop(0) if len(left) > 1 else left[0], now_ms()))

    monkeypatch.setattr(VerifyOperator, "comparison_of", staticmethod(comparison_of))


RUNS = ComparisonStatus(RUNNING, "c", "r", "comparing", 1, 9)


def test_in_cluster_mode_the_result_is_that_of_the_status_topic(on_yarn: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    in_cluster(monkeypatch, None, RUNS, replace(RUNS, state=COMPLETED, ended_ms=5, result=result()))
    ran = context()
    assert task().execute(ran) == result() == ran["ti"].pushed[RESULT_KEY]
    argv = on_yarn.seen["argv"]
    assert "--record" in argv
    assert "spark.yarn.submit.waitAppCompletion=false" in argv
    assert not (on_yarn.folder / "yarn").exists(), "an app that has ended is not killed"


def test_in_cluster_mode_differences_fail_the_task(on_yarn: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    in_cluster(monkeypatch, replace(RUNS, state=COMPLETED, ended_ms=5, result=result(missing=2)))
    with pytest.raises(AirflowFailException, match="1 of 1 caches differ"):
        task().execute(context())


@pytest.mark.parametrize(
    ("error", "kind"), [(KafkaUnavailable("no broker answers"), AirflowException), (SettingsError("wrong", "cure"), AirflowFailException)]
)
def test_in_cluster_mode_an_error_of_the_app_is_that_of_the_task(
    on_yarn: Bench, monkeypatch: pytest.MonkeyPatch, error: IgniteKafkaError, kind: type[AirflowException]
) -> None:
    in_cluster(monkeypatch, replace(RUNS, state=FAILED, ended_ms=5, error=error.to_dict()))
    with pytest.raises(kind, match="yarn logs -applicationId application_17_0001") as raised:
        task().execute(context())
    assert type(raised.value) is kind
    assert error.what in str(raised.value)


def test_in_cluster_mode_a_killed_task_kills_the_app(on_yarn: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    in_cluster(monkeypatch, RUNS)
    verify = task()
    monkeypatch.setattr(time, "sleep", lambda _: verify.on_kill())
    with pytest.raises(AirflowException, match="killed"):
        verify.execute(context())
    assert (on_yarn.folder / "yarn").read_text().split() == ["application", "-kill", "application_17_0001"]


def without(name: str) -> dict[str, Any]:
    """A result with a difference whose cache lacks a member."""
    odd = result(missing=2)
    del odd["caches"][0][name]
    return odd


@pytest.mark.parametrize(
    "odd", [None, {}, {"caches": [1]}, {"caches": [{"cache": "c"}]}, without("differences"), without("equal"), without("repaired")]
)
def test_in_cluster_mode_a_result_of_another_form_is_an_error(on_yarn: Bench, monkeypatch: pytest.MonkeyPatch, odd: Any) -> None:
    in_cluster(monkeypatch, replace(RUNS, state=COMPLETED, ended_ms=5, result=odd))
    with pytest.raises(AirflowException, match="A retry compares again"):
        task().execute(context())


def test_in_cluster_mode_a_submission_that_fails_has_its_reason(on_yarn: Bench) -> None:
    on_yarn.order(print=["Exception: queue nightly is unknown"], exit_code=1)
    with pytest.raises(AirflowException, match="queue nightly is unknown"):
        task().execute(context())


def test_a_killed_task_ends_the_app(bench: Bench) -> None:
    bench.order(print=["at work"], until_stopped=True)
    killed = task()

    def kill(line: str, _lines: list[str]) -> None:
        if line == "at work":
            killed.on_kill()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("airflow_provider_ignite_kafka.operators.verify._keep", kill)
        with pytest.raises(AirflowException):
            killed.execute(context())
    assert list((bench.folder / "tmp").iterdir()) == []


def test_template_fields_are_arguments() -> None:
    assert all(hasattr(task(), name) for name in VerifyOperator.template_fields)
