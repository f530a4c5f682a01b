"""Settings are checked when a Dag file is parsed, as far as the file has them, without any connection."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import BaseHook
from airflow.sdk import DAG, TaskGroup, task

from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from ignite_kafka.errors import NotAvailableYet, SettingsError
from tests.support.airflow_versions import DagBag


def source(settings: Any, **arguments: Any) -> IgniteToKafkaOperator:
    with DAG("nightly", schedule=None):
        return IgniteToKafkaOperator(task_id="copy", settings=settings, **arguments)


def sink(settings: Any) -> KafkaToIgniteOperator:
    with DAG("nightly", schedule=None), TaskGroup("stores"):
        return KafkaToIgniteOperator(task_id="store", settings=settings)


def test_an_import_error_names_dag_task_setting_and_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "nightly.py").write_text(
        "from airflow.sdk import DAG\n"
        "from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator\n"
        "with DAG('nightly', schedule=None):\n"
        "    IgniteToKafkaOperator(task_id='copy', settings={'cache_whitlist': ['flights'], 'topic_prefix': '{{ ds }}-'})\n"
    )
    [error] = DagBag(tmp_path).import_errors.values()
    assert "there is no such setting [setting cache_whitlist, set in operator, dag nightly, task copy]" in error
    assert "Did you mean cache_whitelist?" in error


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cache_whitlist": "{{ params.caches }}"}, "no such setting .*cache_whitlist.*Did you mean cache_whitelist"),
        ({"topic_prefix": "{{ ds }}-", "tasks_max": 0}, "tasks_max is wrong: it is out of range .*dag nightly, task copy"),
        ({"topic_prefix": "a/b"}, "topic_prefix is wrong"),
        ({"cache_whitelist": []}, "cache_whitelist was given and is empty"),
        ({"cache_whitelist": ["["]}, "cache_whitelist is wrong: it holds no regular expression"),
        ({"error_handling_policy": "DEAD_LETTER"}, "dead_letter_topic is wrong"),
        ({"kafka_config": {"sasl.password": "open-sesame"}}, "sasl.password is a secret"),
        ({"sasl.password": "open-sesame"}, "a secret is no setting"),
        ({"topics": ["t"]}, "no such setting"),
        ({1: "a"}, "the name of a setting is 1"),
        ({"tasks_max": 0, "slots": 0}, "2 settings are wrong"),
    ],
)
def test_a_wrong_setting_is_refused(settings: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        source(settings)
    assert (refused.value.where["dag"], refused.value.where["task"]) == ("nightly", "copy")
    assert "open-sesame" not in str(refused.value)


def test_tasks_of_groups_have_their_whole_name() -> None:
    with pytest.raises(SettingsError, match=r"topics is wrong: neither topics nor topics_regex is given \[.*task stores.store\]"):
        sink({"cache_prefix": "c-"})


def test_arguments_count_as_settings() -> None:
    with pytest.raises(SettingsError, match="run_mode is wrong"):
        source({}, run_mode="forever")
    with pytest.raises(SettingsError, match="failover_policy is wrong"):
        source({}, failover_policy="BACKLOGS")
    source({}, run_mode="{{ params.mode }}", failover_policy="{{ params.policy }}")


def test_what_this_version_lacks_is_refused() -> None:
    with pytest.raises(NotAvailableYet, match=r"cache_filter .*dag nightly"):
        source({"cache_filter": "a"})


def test_settings_of_a_cleanup_are_checked() -> None:
    with pytest.raises(SettingsError, match=r"Did you mean internal_topic_prefix\?"), DAG("retire", schedule=None):
        BacklogCleanupOperator(task_id="clean_up", connector="c", settings={"internal_topics_prefix": "x"})


@task
def caches() -> list[str]:
    return ["flights"]


def test_values_that_only_a_run_knows_are_left_to_it() -> None:
    with DAG("nightly", schedule=None):
        listed = caches()
        IgniteToKafkaOperator(task_id="from_task", settings={"cache_whitelist": listed, "dead_letter_topic": "{{ params.dead }}"})
        IgniteToKafkaOperator(task_id="whole", settings=listed)
        IgniteToKafkaOperator(task_id="file", settings="/not/on/this/host.properties")
        IgniteToKafkaOperator(task_id="nested", settings={"overrides": {"flights": {"topic": "{% raw %}a{% endraw %}"}}})


def test_addresses_and_tls_are_those_of_connections_which_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*_: object) -> None:
        raise AssertionError("a connection was looked up")

    monkeypatch.setattr(BaseHook, "get_connection", look_up)
    source({"ignite_tls_ca_file": "/ca.pem", "value_converter": "avro"})  # the connections may enable TLS and name the registry
    with pytest.raises(SettingsError, match="ignite_tls_enabled is wrong"):
        source({"ignite_tls_enabled": "perhaps"})


def test_mapped_settings_are_checked_by_their_run() -> None:
    with DAG("nightly", schedule=None):
        IgniteToKafkaOperator.partial(task_id="copy").expand(settings=[{"cache_whitlist": ["a"]}, {"cache_whitelist": ["b"]}])


def test_the_check_takes_less_than_a_few_milliseconds_a_task() -> None:
    settings = {
        "cache_whitelist": ["flights", "air.*"],
        "topic_prefix": "nightly-",
        "kafka_config": {"client.dns.lookup": "use_all_dns_ips"},
    }
    with DAG("many", schedule=None):
        IgniteToKafkaOperator(task_id="first", settings=settings)
        began = time.process_time()
        for number in range(100):
            IgniteToKafkaOperator(task_id=f"copy-{number}", settings=settings)
        assert time.process_time() - began < 2.0  # about 1 ms each where nothing else runs, half of it the check
