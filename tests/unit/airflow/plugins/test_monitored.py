"""The option that names the clusters of the page: its default, its keys, and what is wrong with a wrong one."""

from __future__ import annotations

import pytest

from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster, monitored_clusters
from ignite_kafka.errors import SettingsError

OPTION = "AIRFLOW__IGNITE_KAFKA__MONITORED_CLUSTERS"


def test_clusters_are_read_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTION, '[{"kafka_conn_id": "b", "internal_topic_prefix": "p"}, {"kafka_conn_id": "a", "ignite_conn_id": "i"}]')
    assert monitored_clusters() == (MonitoredCluster("b", "p"), MonitoredCluster("a", "ignite-kafka", "i"))
    monkeypatch.setenv(OPTION, "[]")
    assert monitored_clusters() == ()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("kafka_default", "is no JSON"),
        ("{}", "is no JSON list of objects"),
        ('["kafka_default"]', "is no JSON list of objects"),
        ("[{}]", "has an object without kafka_conn_id"),
        ('[{"kafka_con_id": "a"}]', "unknown key 'kafka_con_id'. Did you mean kafka_conn_id?"),
        ('[{"kafka_conn_id": 7}]', "has kafka_conn_id = 7, which is no text"),
        ('[{"kafka_conn_id": "a", "internal_topic_prefix": "a b"}]', "wrong internal_topic_prefix"),
        ('[{"kafka_conn_id": "a"}, {"kafka_conn_id": "a"}]', "names connection 'a' with prefix 'ignite-kafka' twice"),
    ],
)
def test_a_wrong_option_is_refused_with_an_example(monkeypatch: pytest.MonkeyPatch, value: str, told: str) -> None:
    monkeypatch.setenv(OPTION, value)
    with pytest.raises(SettingsError) as refused:
        monitored_clusters()
    assert told in str(refused.value)
    assert 'Write it as [{"kafka_conn_id"' in refused.value.remedy
