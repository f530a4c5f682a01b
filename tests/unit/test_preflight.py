"""What is found before Spark is started: names that no cluster has, with the nearest ones."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from ignite_kafka import app, events
from ignite_kafka import preflight as module
from ignite_kafka.cli import local_run
from ignite_kafka.common.event_log import EventLog, event_totals
from ignite_kafka.errors import AuthenticationFailed, CacheNotFound, IgniteUnreachable, KafkaUnavailable, SettingsError, TopicError
from ignite_kafka.events import CONFIG_CHANGED, emit
from ignite_kafka.preflight import preflight
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorState, SnapshotRecord
from ignite_kafka.state.status import RunStatus

CACHES = ["flights", "planes"]


class Cluster:
    def cache_names(self) -> list[str]:
        return CACHES

    def cache(self, name: str) -> None:
        raise CacheNotFound("no such cache", cache=name)


class Clusters:
    """What both clusters hold, and whether Kafka answers."""

    topics: Mapping[str, int] = {"to-flights": 2, "to-planes": 2}
    late: Mapping[str, int] = {}  # exist, and the broker that is asked does not know them yet
    state = ConnectorState()
    away = False
    refused: AuthenticationFailed | None = None

    def __init__(self) -> None:
        self.ended: list[RunStatus] = []
        self.events: list[dict[str, int]] = []

    def check(self) -> None:
        if self.away:
            raise KafkaUnavailable("no broker answers")
        if self.refused is not None:
            raise self.refused

    def existing(self) -> Mapping[str, int]:
        return self.topics

    def counts(self, names: Iterable[str]) -> Mapping[str, int]:
        return {name: self.late[name] for name in names if name in self.late}


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Clusters:
    made = Clusters()

    @contextmanager
    def ignite(*_: Any) -> Iterator[Cluster]:
        yield Cluster()

    monkeypatch.setattr(module, "ignite_cluster", ignite)
    monkeypatch.setattr(module, "kafka_clients", lambda *_: made)
    monkeypatch.setattr(module, "Topics", lambda clients: clients)
    monkeypatch.setattr(module, "read_connector", lambda *_: made.state)

    def record(settings: SourceSettings, clients: Clusters, ended: RunStatus, log_of_run: EventLog | None) -> None:
        made.ended.append(ended)
        made.events.append({} if log_of_run is None else event_totals(log_of_run.counts()))

    monkeypatch.setattr(module, "_record", record)
    return made


def source(**values: Any) -> SourceSettings:
    return SourceSettings.from_dict({"name": "c", **values})


def test_a_whitelist_that_matches_nothing_is_refused_with_the_nearest_names(clusters: Clusters) -> None:
    with pytest.raises(CacheNotFound) as caught:
        preflight(source(cache_whitelist=["fligths", "plains", "x.*"]), Secrets(), "r")
    assert [(run.run_id, run.state, (run.error or {}).get("type")) for run in clusters.ended] == [("r", "FAILED", "CacheNotFound")]
    assert "Did you mean flights? Did you mean planes? The cluster has 2 caches: flights, planes." in str(caught.value)


def test_an_expression_that_matches_nothing_beside_one_that_does_is_told(clusters: Clusters, caplog: pytest.LogCaptureFixture) -> None:
    preflight(source(cache_whitelist=["flights", "plains", "x"]), Secrets(), "r")
    found = [record.__dict__["event_fields"] for record in caplog.records if record.__dict__.get("event_id") == 15190]
    assert [(fields["name"], fields["hint"]) for fields in found] == [
        ("plains", "Did you mean planes?"),
        ("x", "The cluster has no cache of a similar name."),
    ]


def test_overrides_that_apply_to_nothing_are_reported(clusters: Clusters, caplog: pytest.LogCaptureFixture) -> None:
    preflight(source(overrides={"flights": {}, "f.*": {}, "plains": {}}), Secrets(), "r")
    sink = {"name": "c", "topics_regex": "to-.*", "overrides": {"to-f.*": {}, "to-plans": {}}}
    preflight(SinkSettings.from_dict(sink), Secrets(), "r")
    found = [record.__dict__["event_fields"] for record in caplog.records if record.__dict__.get("event_id") == 15190]
    nothing = "No chosen cache or topic has such a name that no earlier expression matches."
    assert [(one["setting"], one["name"], one["hint"]) for one in found] == [
        ("overrides", "f.*", nothing),
        ("overrides", "plains", "Did you mean planes?"),
        ("overrides", "to-plans", "Did you mean to-planes?"),
    ]


def test_a_stream_may_wait_for_its_caches(clusters: Clusters, caplog: pytest.LogCaptureFixture) -> None:
    preflight(source(cache_whitelist=["later"], run_mode="continuous"), Secrets(), "r")
    assert [record.__dict__.get("event_id") for record in caplog.records] == [15190]


@pytest.mark.parametrize("snapshot_id", ["done", "begun", None])
def test_a_snapshot_that_needs_no_choice_of_caches_is_not_refused(clusters: Clusters, snapshot_id: str | None) -> None:
    clusters.state = ConnectorState(snapshot=SnapshotRecord("begun", {}), ended={"done": {"complete": True}})
    preflight(source(cache_whitelist=["gone"]), Secrets(), "r", snapshot_id)
    with pytest.raises(CacheNotFound):
        preflight(source(cache_whitelist=["gone"]), Secrets(), "r", "another")


def test_missing_topics_are_all_named_with_the_nearest_ones(clusters: Clusters) -> None:
    with pytest.raises(TopicError) as caught:
        preflight(SinkSettings.from_dict({"name": "c", "topics": ["to-fligths", "to-planes", "zzz"]}), Secrets(), "r")
    assert caught.value.where["topic"] == "to-fligths, zzz"
    assert "Did you mean to-flights?" in str(caught.value)


def test_a_topic_that_a_broker_does_not_know_yet_is_not_missing(clusters: Clusters) -> None:
    clusters.late = {"to-new": 2}
    preflight(SinkSettings.from_dict({"name": "c", "topics": ["to-new", "to-planes"]}), Secrets(), "r")


def test_a_template_that_is_no_cache_is_refused(clusters: Clusters) -> None:
    settings = {"name": "c", "topics": ["to-flights"], "cache_template": "like-{name}"}
    with pytest.raises(CacheNotFound, match=r"cache_template is no cache of the cluster .*cache like-to-flights"):
        preflight(SinkSettings.from_dict(settings), Secrets(), "r")
    preflight(SinkSettings.from_dict({**settings, "topic_prefix": "to-"}), Secrets(), "r")  # its cache is there: no template is needed


def test_a_missing_library_of_the_metrics_ends_the_run_before_spark(clusters: Clusters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    preflight(source(), Secrets(), "r")
    with pytest.raises(SettingsError, match="prometheus-client is not installed"):
        preflight(source(metrics_port=0), Secrets(), "r")
    assert [run.state for run in clusters.ended] == ["FAILED"]


def test_brokers_that_do_not_answer_are_left_to_the_run(clusters: Clusters, caplog: pytest.LogCaptureFixture) -> None:
    clusters.away = True
    with caplog.at_level(logging.WARNING):
        preflight(source(cache_whitelist=["x"]), Secrets(), "r")
    assert "no broker answers" in caplog.text


@pytest.mark.parametrize(("place", "records"), [({"bootstrap_servers": "k:1"}, 0), ({"address": "i:1"}, 1)])
def test_no_record_is_tried_at_a_broker_that_refused_the_login(place: dict[str, str], records: int, clusters: Clusters) -> None:
    clusters.refused = AuthenticationFailed("refused", **place)
    with pytest.raises(AuthenticationFailed):
        preflight(source(), Secrets(), "r")
    assert len(clusters.ended) == records


def test_events_until_the_error_are_recorded_with_it(clusters: Clusters) -> None:
    settings = source(cache_whitelist=["flights"], overrides={"plains": {}}, transforms=["t"], transform_config={"t": {"type": "Nothing"}})
    with events.collect() as log_of_run:
        emit(CONFIG_CHANGED, reason="before")
        with pytest.raises(SettingsError):
            preflight(settings, Secrets(), "r", log_of_run=log_of_run)
    assert clusters.events == [{"15000": 1, "15001": 1, "15102": 1}]


@pytest.mark.parametrize("way", ["command line", "app"])
def test_spark_is_not_started_before(way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked = []

    def no_spark(*arguments: Any) -> Any:
        asked.append(arguments)
        raise AssertionError("Spark was started")

    monkeypatch.setattr(module, "_record", lambda *_: None)
    settings = {"ignite_addresses": "127.0.0.1:1", "bootstrap_servers": "127.0.0.1:1"}
    if way == "app":
        monkeypatch.setattr(app, "session_builder", no_spark)
        monkeypatch.setattr(app, "stop_on_sigterm", lambda settings: None)
        (tmp_path / "request.json").write_text('{"run_id": "r", "settings": {"name": "c", "ignite_addresses": "127.0.0.1:1"}}')
        assert app.main(["--request", str(tmp_path / "request.json")], SourceSettings, no_spark) == 1
        assert "IgniteUnreachable" in capsys.readouterr().err
    else:
        monkeypatch.setattr(local_run, "_create_session", no_spark)
        with pytest.raises(IgniteUnreachable):
            local_run.run_locally(source(**settings))
    assert not asked
