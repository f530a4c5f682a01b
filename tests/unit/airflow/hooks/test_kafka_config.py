"""Connections of the Kafka provider as they are: functions in them, and who makes tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from tests.unit.airflow.bench import CONFIG, Bench, context, operator


@pytest.fixture
def replaced(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Settings that event 15001 has reported."""
    caplog.set_level("INFO", "ignite_kafka.events")
    return lambda: [vars(record)["event_fields"]["setting"] for record in caplog.records if vars(record).get("event_id") == 15001]


def test_functions_that_only_observe_are_omitted_and_named(bench: Bench, connect: Any, replaced: Callable[[], list[str]]) -> None:
    """The Kafka provider takes them as paths; no client of a connector calls them."""
    observers = dict.fromkeys(("error_cb", "throttle_cb", "stats_cb", "log_cb", "on_commit"), "my.function")
    connect("kafka_default", conn_type="kafka", extra={**CONFIG, **observers})
    operator().execute(context())
    assert sorted(replaced()) == sorted(observers)
    assert not observers.keys() & {*bench.seen["request"]["settings"]["kafka_config"], *bench.seen["secrets"]["kafka"]}


OAUTH = {"bootstrap.servers": "broker:9092", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
MSK = "b-1.demo.abcde1.c2.kafka.eu-west-1.amazonaws.com:9098"
GOOGLE = "bootstrap.demo.europe-west1.managedkafka.project.cloud.goog:9092"


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ({**OAUTH, "oauth_cb": "aws_msk_iam:eu-west-1"}, "aws_msk_iam:eu-west-1"),
        ({**OAUTH, "oauth_cb": "gcp"}, "gcp"),
        ({**OAUTH, "bootstrap.servers": MSK}, "aws_msk_iam"),
        ({**OAUTH, "bootstrap.servers": GOOGLE}, "gcp"),
        ({**OAUTH, "bootstrap.servers": MSK, "oauth_cb": "gcp"}, "gcp"),
        ({"bootstrap.servers": MSK, "security.protocol": "SSL"}, None),
    ],
)
def test_who_makes_tokens_travels_to_the_executors_by_name(bench: Bench, connect: Any, extra: dict[str, str], named: str | None) -> None:
    connect("kafka_default", conn_type="kafka", extra=extra)
    operator().execute(context())
    assert bench.seen["secrets"]["kafka"].get("oauth_cb") == named
    assert "oauth_cb" not in bench.seen["request"]["settings"]["kafka_config"]


def test_a_function_of_the_user_makes_tokens_with_the_permission_that_the_kafka_provider_asks_for(
    bench: Bench, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect("kafka_default", conn_type="kafka", extra={**OAUTH, "oauth_cb": "my_pkg.auth.token"})
    with pytest.raises(AirflowFailException, match="oauth_cb runs a Python function, and this value is not allowed"):
        operator().execute(context())
    monkeypatch.setenv("AIRFLOW__APACHE_KAFKA__CALLBACK_ALLOWLIST", "other.function, my_pkg.auth.token")
    operator().execute(context())
    assert bench.seen["secrets"]["kafka"]["oauth_cb"] == "my_pkg.auth.token"
    assert "oauth_cb=my_pkg.auth.token" in bench.seen["request"]["allowed_kafka_options"]


def test_oauthbearer_without_anybody_who_makes_tokens_is_refused(bench: Bench, connect: Any) -> None:
    connect("kafka_default", conn_type="kafka", extra=OAUTH)
    with pytest.raises(AirflowFailException, match=r"needs somebody who makes tokens.*aws_msk_iam, gcp"):
        operator().execute(context())
