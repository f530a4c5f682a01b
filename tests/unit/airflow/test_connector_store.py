"""Dags of connectors declared by REST: made at parse time within bounds, also while Kafka does not answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowSkipException

from airflow_provider_ignite_kafka import connector_store
from airflow_provider_ignite_kafka.connector_dags import connector_dags
from airflow_provider_ignite_kafka.connector_store import ConnectorStore
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from ignite_kafka.admin.declared_connectors import StoredConnector
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from tests.support.airflow_versions import DagSerialization
from tests.unit.connect_rest.test_configuration import SINK, SOURCE

STORE = ConnectorStore("kafka_eu", "team")


class Cluster:
    """A Kafka cluster with declared connectors, or one that does not answer."""

    def __init__(self) -> None:
        self.connectors: Sequence[StoredConnector] | Exception = ()
        self.reads = 0

    def read(self, *_: object) -> Sequence[StoredConnector]:
        self.reads += 1
        if isinstance(self.connectors, Exception):
            raise self.connectors
        return list(self.connectors)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(connector_store, "AIRFLOW_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(connector_store, "connection_clients", lambda *_: KafkaClients({}))
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    monkeypatch.setattr(connector_store, "read_declared", made.read)
    return made


def declared(name: str, target: str = "RUNNING", **config: str) -> StoredConnector:
    return StoredConnector(name, {**SOURCE, "name": name, **config}, target)


def stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector_store, "_FRESH_S", -1.0)


def test_each_declared_connector_is_a_dag(cluster: Cluster) -> None:
    own = {"bootstrap.servers": "evil:1", "ignite_addresses": "evil:2", "autoRestart.maxRestarts": "4"}
    cluster.connectors = [declared("a", **own), StoredConnector("s", {**SINK, "name": "s", "run_mode": "once"}), declared("b", "STOPPED")]
    dags: Any = connector_dags(STORE, prefix="rest-", task_arguments={"conn_id": "spark"})
    assert sorted(dags) == ["rest-a", "rest-b", "rest-s"]
    source, sink = dags["rest-a"].get_task("copy"), dags["rest-s"].get_task("copy")
    settings: Any = source.settings
    assert isinstance(source, IgniteToKafkaOperator)
    assert isinstance(sink, KafkaToIgniteOperator)
    assert (dags["rest-a"].schedule, dags["rest-s"].schedule, dags["rest-b"].schedule) == ("@continuous", None, None)
    assert (source.retries, settings["internal_topic_prefix"]) == (4, "team")
    assert not {"bootstrap_servers", "ignite_addresses"} & settings.keys(), "connections decide"
    assert dags["rest-a"].doc_md == "Made of `topic team-configs`."
    with pytest.raises(AirflowSkipException, match="state of b in topic team-configs is stopped"):
        dags["rest-b"].get_task("copy").execute({})
    for dag in dags.values():
        DagSerialization.from_dict(DagSerialization.to_dict(dag))


def test_a_wrong_connector_breaks_its_own_dag_alone(cluster: Cluster) -> None:
    cluster.connectors = [declared("a", slots="0"), declared("b"), StoredConnector("c", {"name": "c", "connector.class": "Other"})]
    dags: Any = connector_dags(STORE)
    for name, told in (("a", "slots is wrong"), ("c", "belongs to another connector")):
        with pytest.raises(AirflowFailException, match=told):
            dags[name].get_task("copy").execute({})
    assert isinstance(dags["b"].get_task("copy"), IgniteToKafkaOperator)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"sasl.mechanism": "PLAIN"}, "kafka_config.sasl.mechanisms cannot be set by REST"),
        ({"allow_insecure_connections": "true"}, "allow_insecure_connections cannot be set by REST"),
        ({"internal_topic_prefix": "other"}, "one prefix"),
        ({"where": "a = 1 / 0"}, "where"),
        ({"transforms": "t", "transforms.t.type": "NoSuch"}, "NoSuch"),
        ({"name": "b"}, "another connector than its key"),
    ],
)
def test_a_record_that_rest_would_refuse_is_a_broken_connector(cluster: Cluster, config: dict[str, str], told: str) -> None:
    cluster.connectors = [StoredConnector("a", {**SOURCE, "name": "a", **config}), declared("b")]
    dags: Any = connector_dags(STORE)
    with pytest.raises(AirflowFailException, match=told):
        dags["a"].get_task("copy").execute({})
    assert isinstance(dags["b"].get_task("copy"), IgniteToKafkaOperator)


@pytest.mark.parametrize("error", [ValueError("x"), RecursionError("deep"), TypeError("kind"), KeyError("k")])
@pytest.mark.parametrize("step", ["check_declared", "load_configuration"])
def test_an_error_that_nothing_foresees_breaks_one_connector(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, step: str, error: Exception
) -> None:
    real: Any = getattr(connector_store, step)

    def fail(*arguments: Any) -> Any:
        if "wrong" in str(arguments):
            raise error
        return real(*arguments)

    monkeypatch.setattr(connector_store, step, fail)
    cluster.connectors = [declared("a", cacheWhitelist="wrong"), declared("b")]
    dags: Any = connector_dags(STORE)
    with pytest.raises(AirflowFailException, match=f"cannot be used: {type(error).__name__}"):
        dags["a"].get_task("copy").execute({})
    assert isinstance(dags["b"].get_task("copy"), IgniteToKafkaOperator)


def test_a_name_that_no_dag_may_have_hides_no_other_connector(cluster: Cluster) -> None:
    names = ("a_b", "a/b", "a b", "", "../a")
    cluster.connectors = [declared(name) for name in names]
    dags: Any = connector_dags(STORE)
    assert len(dags) == len(names)
    assert isinstance(dags["a_b"].get_task("copy"), IgniteToKafkaOperator)


def test_kafka_is_read_once_in_half_a_minute(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cluster.connectors = [declared("a")]
    assert [sorted(connector_dags(STORE)) for _ in range(3)] == [["a"]] * 3
    assert cluster.reads == 1
    [file] = (tmp_path / "home" / "ignite_kafka_connectors").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    connector_dags(ConnectorStore("kafka_us", "team"))
    assert cluster.reads == 2, "another cluster"
    stale(monkeypatch)
    connector_dags(STORE)
    assert cluster.reads == 3


@pytest.mark.parametrize("error", [KafkaUnavailable("silent"), AirflowException("no such connection")])
def test_without_kafka_the_last_ones_are_used(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    cluster.connectors = error
    assert connector_dags(STORE) == {}
    cluster.connectors = [declared("a")]
    assert sorted(connector_dags(STORE)) == ["a"]
    stale(monkeypatch)
    cluster.connectors = error
    assert sorted(connector_dags(STORE)) == ["a"]
    assert "there are none" in caplog.text
    assert "s ago are used" in caplog.text


def test_a_call_that_hangs_ends_in_time(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(connector_store, "_LIMIT_S", 0.05)
    monkeypatch.setattr(connector_store, "read_declared", lambda *_: released.wait(60) or [])
    assert connector_dags(STORE) == {}
    released.set()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"read_s": "x"}', b'{"read_s": 1e12, "connectors": []}'])
def test_a_file_of_another_form_is_read_again(cluster: Cluster, content: bytes) -> None:
    cluster.connectors = [declared("a")]
    STORE._file.parent.mkdir(parents=True)
    STORE._file.write_bytes(content)
    assert sorted(connector_dags(STORE)) == ["a"]


def test_a_folder_that_cannot_be_written_costs_only_time(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(connector_store, "AIRFLOW_HOME", str(tmp_path / "file"))
    cluster.connectors = [declared("a")]
    assert [sorted(connector_dags(STORE)) for _ in range(2)] == [["a"]] * 2
    assert cluster.reads == 2


@pytest.mark.parametrize("skips", [True, False])
def test_a_task_skips_if_a_stop_came_after_the_parse(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, skips: bool) -> None:
    """A stop of one generation is a restart: the task begins the next run."""
    monkeypatch.setattr(connector_store, "read_lasting_stop", lambda *_: skips)
    monkeypatch.setattr(connector_store, "Topics", lambda clients: None)
    check: Any = STORE.check_not_stopped("a")
    if not skips:
        assert check({}) is None
        return
    with pytest.raises(AirflowSkipException, match="connector a is stopped"):
        check({})
